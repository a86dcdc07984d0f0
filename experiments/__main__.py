"""The command line of the experiments: python -m experiments COMMAND, from the project's root."""

from importlib import import_module
from typing import Any

import typer
from typer.core import TyperGroup
from typer.main import get_command

# The module of each command, and its summary. Only the module of the called command is imported,
# since each of them needs other packages.
COMMANDS = {
    "make-sample": ("corpora.sample", "Make the sample corpus for entity recognition."),
    "make-topics": ("corpora.topics", "Make the sample corpus for text classification."),
    "convert": ("corpora.convert", "Convert a published corpus for entity recognition."),
    "convert-textcat": (
        "corpora.convert_textcat",
        "Convert AG News, a published corpus for text classification.",
    ),
    "make-configs": ("arms.configs", "Make every config in configs/."),
    "run-grid": ("runs.run", "Run the experiments that have no results yet."),
    "run-one": ("runs.one", "Train and evaluate one run."),
    "halve": ("runs.halve", "Choose a recipe among candidates, by successive halving."),
    "crf": ("runs.crf", "Train and evaluate the baseline, a CRF with handmade features."),
    "calibration": ("runs.calibration", "Measure how true the probabilities of entities are."),
    "show-run": ("runs.show", "Show the scores of a run, and how to use its pipeline."),
    "collate": ("collate", "Make the tables and figures of docs/."),
}


class Commands(TyperGroup):
    """The commands above, imported when they are called."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ANN401 (click's Context)
        """Return the names of the commands, in the order in which they are used."""
        return list(COMMANDS)

    def get_command(self, ctx: Any, name: str) -> Any:  # noqa: ANN401 (click's Command)
        """Import a command and return it, or None for an unknown name."""
        if name not in COMMANDS:
            return None
        module = import_module(f"experiments.{COMMANDS[name][0]}")
        app = typer.Typer(add_completion=False, rich_markup_mode=None)
        app.command(name)(getattr(module, f"{name.replace('-', '_')}_cli"))
        return get_command(app)

    def format_commands(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401
        """List the commands with their summaries, without importing them."""
        with formatter.section("Commands"):
            formatter.write_dl([(name, text) for name, (_, text) in COMMANDS.items()])


app = typer.Typer(cls=Commands, add_completion=False, no_args_is_help=True, rich_markup_mode=None)


@app.callback()
def experiments_cli() -> None:
    """Make corpora, run experiments, and make the tables and figures of docs/.

    DOCS: docs/results.md
    """


if __name__ == "__main__":
    app(prog_name="python -m experiments")
