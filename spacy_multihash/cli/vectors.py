"""`python -m spacy multihash vectors`: a group of commands for tables of static vectors."""

import typer

from ._vectors_evaluate import evaluate_vectors_cli
from ._vectors_joins import align_cli, merge_cli
from ._vectors_maps import (
    apply_cli,
    centre_cli,
    drop_top_cli,
    morty_cli,
    pca_cli,
    unit_cli,
    z_norm_cli,
)
from ._vectors_sizes import prune_cli, quantize_cli

HELP = """Change, join and compare tables of static vectors.

Tables are packages, folders of pipelines or vocabs, vectors as text, and codes of quantize.

DOCS: python -m pydoc spacy_multihash.vectors
"""

vectors_cli = typer.Typer(
    name="vectors",
    help=HELP,
    add_completion=False,
    no_args_is_help=True,
    rich_markup_mode=None,
)
vectors_cli.command("align")(align_cli)
vectors_cli.command("apply")(apply_cli)
vectors_cli.command("centre")(centre_cli)
vectors_cli.command("drop-top")(drop_top_cli)
vectors_cli.command("evaluate")(evaluate_vectors_cli)
vectors_cli.command("merge")(merge_cli)
vectors_cli.command("morty")(morty_cli)
vectors_cli.command("pca")(pca_cli)
vectors_cli.command("prune")(prune_cli)
vectors_cli.command("quantize")(quantize_cli)
vectors_cli.command("unit")(unit_cli)
vectors_cli.command("z-norm")(z_norm_cli)
