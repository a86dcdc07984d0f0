"""The group `multihash` of spaCy's command line, and its commands.

spaCy imports this module whenever its command line starts. So it imports none of the commands.
"""

import sys
from importlib import import_module, metadata
from io import TextIOWrapper
from typing import Any, Optional

import typer
from spacy.cli._util import app
from typer.core import TyperGroup
from typer.main import get_command

HELP = """Make spaCy pipelines faster and smaller, and train recognizers and classifiers.
"""
PAGE = "docs/commands.md"
# The first line of each command's help. The command NAME is NAME_cli in the module of that name,
# with underscores.
COMMANDS = {
    "accelerate": "Make a trained pipeline faster.",
    "apply": "Apply a pipeline to a large corpus, in a folder of shards.",
    "calibrate": "Correct a recognizer's probabilities.",
    "compress": "Make the files of a trained pipeline small.",
    "convert": "Convert a corpus of your own for spacy train: CoNLL, JSON lines or CSV.",
    "corpus-stats": "Count documents, entities and attributes of a corpus.",
    "errors": "Show the mistakes of a pipeline on a corpus, the most confident ones first.",
    "estimate": "Estimate precision, recall and F1 on texts that nobody has annotated.",
    "evaluate": "Score an entity recognizer on seen and unseen entities.",
    "explain": "Show what made a pipeline predict an entity, or a text's label.",
    "fit": "Train a pipeline on your own corpus, and report how good it is.",
    "init-config": "Write a complete config, for entities or texts.",
    "init-tables": "Write the tables of a config's MultiEmbed to a file.",
    "inspect-tables": "Show the size of a pipeline's embedding tables, and how full they are.",
    "restore": "Turn a pipeline into one that needs spaCy alone, with the same weights.",
    "show": "Show the entities that a pipeline predicts in a text, with their probabilities.",
    "vectors": "Align, merge, shorten and prune static vectors.",
}
# An example of each command, for its help and its page.
EXAMPLES = {
    "accelerate": "en_core_web_md fast_md",
    "apply": "first/model corpus annotated --format jsonl --workers 8",
    "calibrate": "training/model-best corpus/dev.spacy calibrated",
    "compress": "en_core_web_md small_md --data dev.spacy",
    "convert": "my.conll corpus --lang en --split 0.8,0.1,0.1",
    "corpus-stats": "corpus/train.spacy corpus/dev.spacy --lang en",
    "errors": "first/model dev.spacy --train train.spacy --output errors.html",
    "estimate": "first/model new.txt",
    "evaluate": "first/model test.spacy --train train.spacy",
    "explain": 'first/model "Shares of Paris rose." --window 1',
    "fit": "my.conll --lang en --output mine",
    "init-config": "ner my.cfg --lang en --train corpus/train.spacy",
    "init-tables": "my.cfg corpus.tables --paths.train corpus/train.spacy",
    "inspect-tables": "first/model --data train.spacy",
    "restore": "fast_md plain_md",
    "show": 'first/model "Anna met Bob in Rome."',
    "vectors align": "vectors/es vectors/nl aligned",
    "vectors merge": "vectors/es vectors/nl merged --width 300",
    "vectors pca": "en_core_web_md small --width 100",
    "vectors prune": "en_core_web_md pruned --words corpus/train.spacy --first 20000",
}
PROGRAM = "python -m spacy multihash"
# These commands take overrides of the config, such as --training.seed 1, as further arguments.
WITH_OVERRIDES = ("fit", "init-tables")
OVERRIDES = {"allow_extra_args": True, "ignore_unknown_options": True}


def load_command(name: str) -> Any:  # noqa: ANN401 (click's Command)
    """Import a command."""
    module = name.replace("-", "_")
    cli = getattr(import_module(f"spacy_multihash.cli.{module}"), f"{module}_cli")
    if not isinstance(cli, typer.Typer):
        function, cli = cli, typer.Typer(add_completion=False, rich_markup_mode=None)
        settings = OVERRIDES if name in WITH_OVERRIDES else None
        cli.command(name, context_settings=settings)(function)
    command = get_command(cli)
    command.name = name
    subcommands = getattr(command, "commands", {}).values()
    for shown, path in ((command, name), *((sub, f"{name} {sub.name}") for sub in subcommands)):
        shown.epilog = f"DOCS: {PAGE}#multihash-{path.replace(' ', '-')}"
        if example := EXAMPLES.get(path):
            shown.epilog = f"\b\nFor example: {PROGRAM} {path} {example}\n\n{shown.epilog}"
    return command


class LazyGroup(TyperGroup):
    """A group whose commands are imported when they are called."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401 (click's Context)
        """List the names of the commands."""
        return [*COMMANDS]

    def get_command(self, ctx: Any, cmd_name: str) -> Optional[Any]:  # noqa: ANN401
        """Import a command. Return None if there's no such command."""
        return load_command(cmd_name) if cmd_name in COMMANDS else None

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401
        """List the commands with their summaries."""
        with formatter.section("Commands"):
            formatter.write_dl([*COMMANDS.items()])


multihash_cli = typer.Typer(
    name="multihash",
    cls=LazyGroup,
    help=HELP,
    epilog=f"DOCS: {PAGE}, in the repository and on the site",
    no_args_is_help=True,
    rich_markup_mode=None,
)


def _show_version(value: bool) -> None:
    if value:
        from ..compute.dispatch import NONE, chosen_kernels

        typer.echo(f"spacy-multihash {metadata.version('spacy-multihash')}")
        kernels = chosen_kernels()
        typer.echo(f"kernels: {'none (array code)' if kernels == NONE else kernels}")
        raise typer.Exit


@multihash_cli.callback()
def _group(
    version: bool = typer.Option(
        False, "--version", help="Show the version and exit.", is_eager=True, callback=_show_version
    ),
) -> None:
    # Escape characters that the terminal's encoding lacks.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


app.add_typer(multihash_cli)
