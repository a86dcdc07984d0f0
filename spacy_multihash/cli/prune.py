"""`python -m spacy multihash prune`: drop rows that matter little from a trained pipeline."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Optional

import typer
from spacy.language import Language
from spacy.training import Example

from ..corpus.read import model_examples
from ..tables.prune import Effect, PrunedTable, Pruning
from ._messages import msg
from ._pipelines import check_apart, check_pipeline_output, write_pipeline
from ._show import show_table
from ._util import import_code, load_pipeline


class Pruned(NamedTuple):
    """What was done.

    threshold (float): The lowest score of a row that was kept.
    tables (list[PrunedTable]): The sizes of the tables.
    effect (Optional[Effect]): What it did to the entities. None without a corpus.
    """

    threshold: float
    tables: list[PrunedTable]
    effect: Optional[Effect]


def prune_cli(
    model: str = typer.Argument(..., help="Trained pipeline: a package's name, or a path"),
    output: Path = typer.Argument(..., help="Directory to write", file_okay=False),
    threshold: Optional[float] = typer.Option(
        None, "--threshold", help="Drop rows with a score below this"
    ),
    keep: Optional[float] = typer.Option(
        None, "--keep", help="Keep this share of all rows, 0 < share <= 1"
    ),
    max_loss: Optional[float] = typer.Option(
        None,
        "--max-loss",
        help="Drop as many rows as lower F1 on --data by no more: 0.002 is 0.2 points of the F1 "
        "that is shown",
    ),
    data: Optional[Path] = typer.Option(
        None, "--data", help="Dev corpus: a .spacy file, or a folder"
    ),
    force: bool = typer.Option(False, "--force", "-f", help="Replace OUTPUT if it exists"),
    code: Optional[Path] = typer.Option(
        None, "--code", "-c", help="Python file with registered functions to import"
    ),
) -> None:
    """Drop rows of MultiEmbed that matter little from a trained pipeline.

    Their symbols become unknown ones, with row 0. Give one of --threshold, --keep and --max-loss.
    The score of a row is the logarithm of its mean square: rows without use shrink in training with
    ard. --data shows F1 before and after.

    DOCS: python -m pydoc spacy_multihash.tables.prune
    """
    import_code(code)
    try:
        check_choice_of_rows(threshold, keep, max_loss, data)
        check_pipeline_output(output, force=force, inputs=[data, code])
        nlp = load_pipeline(model)
        check_apart(nlp, output)
        examples = None
        if data is not None:
            examples = list(model_examples(nlp, data))
        done = prune(nlp, examples, threshold=threshold, keep=keep, max_loss=max_loss)
        write_pipeline(nlp, output)
    except (ImportError, OSError, ValueError) as error:
        msg.fail("Cannot prune the pipeline", str(error))
    _show(done)
    msg.good(f"Wrote the pipeline with rows from {done.threshold:.3f} on to {output}")


def check_choice_of_rows(
    threshold: Optional[float],
    keep: Optional[float],
    max_loss: Optional[float],
    data: Optional[Path],
) -> None:
    """Raise ValueError unless exactly one option says which rows go, with the corpus it needs."""
    options = {"--threshold": threshold, "--keep": keep, "--max-loss": max_loss}
    given = [name for name, value in options.items() if value is not None]
    if len(given) != 1:
        raise ValueError(
            f"Expected one of {', '.join(options)}, were given: {', '.join(given) or 'none'}. To "
            "let a dev corpus decide, give --data DEV --max-loss 0.002."
        )
    if max_loss is not None and data is None:
        raise ValueError("--max-loss needs a dev corpus to measure F1 on. Give it as --data.")


def prune(
    nlp: Language,
    examples: Optional[Sequence[Example]] = None,
    *,
    threshold: Optional[float] = None,
    keep: Optional[float] = None,
    max_loss: Optional[float] = None,
) -> Pruned:
    """Drop rows of a pipeline in place, and say what that did.

    nlp (Language): The trained pipeline.
    examples (Optional[Sequence[Example]]): A dev corpus, not annotated yet.
    threshold, keep, max_loss (Optional[float]): What rows go, as in the command: one of them.

    Raises ValueError for a setting that is out of range, and if there is no table to prune.
    """
    pruning = Pruning(nlp)
    if threshold is None and keep is not None:
        threshold = pruning.threshold_of(keep)
    elif threshold is None:
        threshold = pruning.search(examples or [], max_loss or 0.0)
    tables = pruning.prune(threshold)
    effect = None if examples is None else pruning.effect(examples, threshold)
    return Pruned(threshold, tables, effect)


def _show(done: Pruned) -> None:
    """Print the sizes of all tables, and what became of the entities."""
    rows = [
        (f"{t.component}.{t.attr}", t.rows, t.rows_after, t.parameters, t.parameters_after)
        for t in done.tables
    ]
    sums = ["all", *(sum(column) for column in list(zip(*rows, strict=True))[1:])]
    cells = [
        [str(name), *(f"{number:,}" for number in numbers)] for name, *numbers in rows + [sums]
    ]
    header = ("table", "rows", "rows after", "parameters", "parameters after")
    show_table("Tables", header, cells)
    if done.effect is not None:
        numbers = [
            "-" if value is None else f"{100 * value:.2f}"
            for value in (done.effect.f, done.effect.f_after, done.effect.same)
        ]
        show_table("Entities", ("F1", "F1 after", "found as before %"), [numbers], aligns="rrr")
