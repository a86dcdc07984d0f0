"""`python -m spacy multihash vectors`: commands for tables of static vectors."""

from collections.abc import Callable

import typer

from ..tables.vectors import align_vectors, merge_vectors, prune_vectors, reduce_vectors
from ._util import Settings, command_of, describe

HELP = """Align, merge, shorten and prune static vectors.

Tables are packages, folders of pipelines or vocabs, and vectors as text.
"""
_FILE = {"exists": True, "dir_okay": False}
COMMANDS: dict[str, tuple[Callable, str, Settings]] = {
    "align": (align_vectors, "source target output", {"dictionary": _FILE}),
    "merge": (merge_vectors, "sources output", {}),
    "pca": (
        reduce_vectors,
        "source output",
        {"words": {"exists": True}},
    ),
    "prune": (prune_vectors, "source output", {"words": {"exists": True}}),
}

vectors_cli = typer.Typer(
    name="vectors", help=HELP, add_completion=False, no_args_is_help=True, rich_markup_mode=None
)
# The tables, what is written, and its language are the same in all.
_SHARED = {name: {"help": text} for name, text in describe(align_vectors)[1].items()}
for name, (function, arguments, settings) in COMMANDS.items():
    verb = function.__name__.removesuffix("_vectors")
    title, written = f"Cannot {verb} the vectors", {"output": "the vectors"}
    made = command_of(function, title, arguments, written=written, settings={**_SHARED, **settings})
    vectors_cli.command(name)(made)
