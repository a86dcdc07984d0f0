"""The group `multihash` of spaCy's command line, and its commands.

spaCy imports this module whenever its command line starts. So it imports none of the commands.
"""

import sys
from importlib import import_module, metadata
from io import TextIOWrapper
from typing import Any, NamedTuple, Optional

import typer
from spacy.cli._util import app
from typer.core import TyperGroup
from typer.main import get_command

HELP = """Multi hash and multi lookup embeddings.

DOCS: python -m pydoc spacy_multihash
"""
# Overrides of the config, such as --training.seed 1, are further arguments.
OVERRIDES = {"context_settings": {"allow_extra_args": True, "ignore_unknown_options": True}}


class Command(NamedTuple):
    """A command, before it's imported: its module, which has the function or group NAME_cli.

    summary: The first line of its help.
    settings: Further arguments of `typer.Typer.command`.
    """

    module: str
    summary: str
    settings: dict[str, Any]

    def load(self, name: str) -> Any:  # noqa: ANN401 (click's Command)
        """Import the command."""
        cli = getattr(import_module(self.module), f"{name.replace('-', '_')}_cli")
        if not isinstance(cli, typer.Typer):
            function, cli = cli, typer.Typer(add_completion=False, rich_markup_mode=None)
            cli.command(name, **self.settings)(function)
        command = get_command(cli)
        command.name = name
        return command


def _command(module: str, summary: str, **settings: dict) -> Command:
    return Command(f"spacy_multihash.cli.{module}", summary, settings)


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
    "errors": _command(
        "errors", "Show the mistakes of a pipeline on a corpus, the most confident ones first."
    ),
    "evaluate": _command("evaluate", "Score an entity recognizer on seen and unseen entities."),
    "explain": _command("explain", "Show what made a pipeline find an entity."),
    "fit": _command(
        "fit", "Train a pipeline on your own corpus, and report how good it is.", **OVERRIDES
    ),
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
    "show": _command(
        "show", "Show the entities that a pipeline finds in a text, with their probabilities."
    ),
    "vectors": _command("vectors", "Align, merge, shorten, prune and quantize static vectors."),
}


class LazyGroup(TyperGroup):
    """A group whose commands are imported when they are called."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401 (click's Context)
        """List the names of the commands."""
        return [*COMMANDS]

    def get_command(self, ctx: Any, cmd_name: str) -> Optional[Any]:  # noqa: ANN401
        """Import a command. Return None if there's no such command."""
        return COMMANDS[cmd_name].load(cmd_name) if cmd_name in COMMANDS else None

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401
        """List the commands with their summaries."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, command.summary) for name, command in COMMANDS.items()])


multihash_cli = typer.Typer(
    name="multihash",
    cls=LazyGroup,
    help=HELP,
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
    # Characters that the encoding of a terminal lacks are escaped.
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


app.add_typer(multihash_cli)
__all__ = ["multihash_cli"]
