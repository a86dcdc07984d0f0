"""Show the scores of a run, where its model is, and how to use it."""

from pathlib import Path
from typing import Any

import srsly
import typer
from wasabi import msg


def score_rows(scores: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    """Make the rows of a table of what `spacy evaluate` wrote: label, precision, recall, F1.

    scores (dict[str, Any]): The contents of the JSON file.
    """
    overall = {key: scores[f"ents_{key}"] for key in "prf"}
    by_label = {"all": overall, **dict(sorted(scores["ents_per_type"].items()))}
    return [(label, *(f"{100 * prf[key]:.2f}" for key in "prf")) for label, prf in by_label.items()]


def show_run_cli(
    model: Path = typer.Argument(..., help="Folder of the trained pipeline", exists=True),
    scores: Path = typer.Argument(..., help="JSON file that spacy evaluate wrote", exists=True),
) -> None:
    """Show the scores of a run, where its model is, and how to use it."""
    header = ("entities", "P", "R", "F1")
    msg.table(
        score_rows(srsly.read_json(scores)),
        header=header,
        divider=True,
        aligns=("l", "r", "r", "r"),
    )
    msg.good(f"The trained pipeline is in {model}, its scores are in {scores}")
    msg.text(f'Use it: python -c \'import spacy; print(spacy.load("{model}")("...").ents)\'')


if __name__ == "__main__":
    typer.run(show_run_cli)
