"""The experiments' command line: python -m experiments COMMAND, from the project's root."""

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

# Where each command is: only the one that is called is imported, with what it needs.
COMMANDS = {
    "make-sample": ("corpora.sample", "Make the sample corpus of entities."),
    "make-topics": ("corpora.topics", "Make the sample corpus of text classification."),
    "convert": ("corpora.convert", "Convert a published corpus of entities."),
    "convert-textcat": ("corpora.convert_textcat", "Convert a published corpus of texts."),
    "make-configs": ("arms.configs", "Make every config in configs/."),
    "run-grid": ("runs.run", "Run what is missing of the grid of experiments."),
    "run-one": ("runs.one", "Train and evaluate one run."),
    "crf": ("runs.crf", "Train and evaluate the baseline, a CRF with handmade features."),
    "show-run": ("runs.show", "Show the scores of a run, and how to use its pipeline."),
    "collate": ("collate", "Make the tables and figures of docs/."),
}


class Commands(TyperGroup):
    """The commands above, imported when they are called."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401 (click's Context)
        """Name them, in the order in which they are used."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, name: str) -> Any:  # noqa: ANN401 (click's Command)
        """Import one, or return None for an unknown name."""
        if name not in COMMANDS:
            return None
        module = import_module(f"experiments.{COMMANDS[name][0]}")
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        app.command(name)(getattr(module, f"{name.replace('-', '_')}_cli"))
        return get_command(app)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401
        """Show what each command does, without importing it."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


app = typer.Typer(cls=Commands, add_completion=False, no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def experiments_cli() -> None:
    """Corpora, runs, tables and figures of the experiments.

    DOCS: docs/results.md
    """


if __name__ == "__main__":
    app(prog_name="python -m experiments")
