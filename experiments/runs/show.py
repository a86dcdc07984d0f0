"""Show the scores of a run, where its model is, and how to use it."""

from pathlib import Path
from typing import Any, NamedTuple, Optional

import srsly
import typer
from wasabi import msg


class Kind(NamedTuple):
    """The names of scores, and the attribute of a Doc with the predictions."""

    overall: str
    per_label: str
    attribute: str


ENTITIES = Kind("ents", "ents_per_type", "ents")
CATEGORIES = Kind("cats_micro", "cats_f_per_type", "cats")


def kind_of(scores: dict[str, Any]) -> Kind:
    """Return whether scores are of an entity recognizer or of a text classifier."""
    return ENTITIES if f"{ENTITIES.overall}_f" in scores else CATEGORIES


def score_rows(scores: dict[str, Any]) -> list[tuple[str, str, str, str]]:
    """Return the rows of a table of scores: label, precision, recall and F1.

    scores (dict[str, Any]): The contents of the JSON file that `spacy evaluate` wrote.
    """
    of = kind_of(scores)
    overall = {key: scores[f"{of.overall}_{key}"] for key in "prf"}
    by_label = {"all": overall, **dict(sorted((scores[of.per_label] or {}).items()))}
    return [(label, *(_percent(prf[key]) for key in "prf")) for label, prf in by_label.items()]


def _percent(score: Optional[float]) -> str:
    """Show a score, which is None where the corpus has no annotation."""
    return "-" if score is None else f"{100 * score:.2f}"


def show_run_cli(
    model: Path = typer.Argument(..., help="Folder of the trained pipeline", exists=True),
    scores: Path = typer.Argument(..., help="JSON file that spacy evaluate wrote", exists=True),
) -> None:
    """Show the scores of a run, where its model is, and how to use it."""
    results = srsly.read_json(scores)
    header = ("label", "P", "R", "F1")
    msg.table(
        score_rows(results),
        header=header,
        divider=True,
        aligns=("l", "r", "r", "r"),
    )
    msg.good(f"The trained pipeline is in {model}, its scores are in {scores}")
    predicted = f'spacy.load("{model}")("...").{kind_of(results).attribute}'
    # A line of its own, since msg.text would break it.
    typer.echo(f"Use it: python -c 'import spacy; print({predicted})'")
