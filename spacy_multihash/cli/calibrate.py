"""`python -m spacy multihash calibrate`: correct a recognizer's probabilities."""

from pathlib import Path
from typing import Optional

import typer

from ..ner.calibration import calibrate
from ._util import AS_JSON, CODE, MODEL, command, show, wrote


@command("Cannot calibrate the pipeline")
def calibrate_cli(
    model: str = MODEL,
    data: Path = typer.Argument(..., help="Dev corpus: a .spacy file, or a folder"),
    output: Path = typer.Argument(..., help="Folder to write", file_okay=False),
    component: Optional[str] = typer.Option(None, help="Recognizer, if the pipeline has several"),
    plot: Optional[Path] = typer.Option(
        None, help="PNG file to draw a reliability diagram to. Needs matplotlib"
    ),
    bins: int = typer.Option(10, min=2, help="Number of ranges of probability"),
    as_json: bool = AS_JSON,
    force: bool = typer.Option(
        False, "--force", "-f", help="Replace OUTPUT and PLOT if they exist"
    ),
    code: Optional[Path] = CODE,
) -> None:
    """Correct a recognizer's probabilities.

    Of all entities with a probability of 0.8, about 80 % should be right. The command finds the
    temperature with the lowest log loss on DATA, for a component batch_ner or tagger_ner, and
    writes the pipeline with it. The entities stay the same, except with a
    threshold, and doc.spans["entities"] has them with their probabilities. Don't use the training
    or test corpus as DATA.
    """
    done = calibrate(model, data, output, component=component, bins=bins, plot=plot, force=force)
    show(done, as_json=as_json)
    wrote("the pipeline", output, as_json=as_json)
    if plot is not None:
        wrote("the reliability diagram", plot, as_json=as_json)
