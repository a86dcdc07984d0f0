"""The group `multihash` of spaCy's command line, and its commands.

spaCy imports this module whenever its command line starts. So it imports none of the commands.
"""

from importlib import metadata

import typer
from spacy.cli._util import app

from ..common.lazy_commands import LazyCommand, lazy_group
from ._messages import echo, write_any_text

HELP = """Multi hash and multi lookup embeddings.

DOCS: python -m pydoc spacy_multihash
"""
# Overrides of the config, such as --training.seed 1, are further arguments.
OVERRIDES = {"context_settings": {"allow_extra_args": True, "ignore_unknown_options": True}}


def _command(module: str, summary: str, **settings: dict) -> LazyCommand:
    return LazyCommand(f"spacy_multihash.cli.{module}", summary, settings)


COMMANDS = {
    "accelerate": _command(
        "accelerate", "Put our faster layers and recognizer into a trained pipeline."
    ),
    "apply": _command("apply", "Apply a pipeline to a large corpus, in a folder of shards."),
    "calibrate": _command("calibrate", "Make the probabilities of a recognizer truer."),
    "compress": _command("compress", "Make the files of a trained pipeline small."),
    "convert": _command(
        "convert", "Convert a corpus of your own for spacy train: CoNLL, JSON lines or CSV."
    ),
    "corpus-stats": _command(
        "corpus_stats", "Count documents, entities and attributes of a corpus."
    ),
    "evaluate": _command("evaluate", "Score an entity recognizer on seen and unseen entities."),
    "explain": _command("explain", "Show what made a pipeline find an entity."),
    "importance": _command(
        "importance", "Show the most and the least important tokens or n-grams."
    ),
    "init-config": _command(
        "init_config", "Write a complete config with our layers, for entities or texts."
    ),
    "init-tables": _command(
        "init_tables", "Write the tables of a config's MultiEmbed to a file.", **OVERRIDES
    ),
    "inspect-rows": _command(
        "inspect_rows", "Show the rows of words, and how full the tables are."
    ),
    "recommend": _command(
        "recommend", "Write a config for a corpus with entities, and a reason for each choice."
    ),
    "show": _command(
        "show", "Show the entities that a pipeline finds in a text, with their probabilities."
    ),
    "vectors": _command("vectors", "Align, merge, shorten, prune and quantize static vectors."),
}

multihash_cli = typer.Typer(
    name="multihash",
    cls=lazy_group(COMMANDS),
    help=HELP,
    no_args_is_help=True,
    rich_markup_mode=None,
)


def _show_version(value: bool) -> None:
    if value:
        echo(f"spacy-multihash {metadata.version('spacy-multihash')}")
        raise typer.Exit


@multihash_cli.callback()
def _group(
    version: bool = typer.Option(
        False, "--version", help="Show the version and exit.", is_eager=True, callback=_show_version
    ),
) -> None:
    write_any_text()


app.add_typer(multihash_cli)
__all__ = ["multihash_cli"]
