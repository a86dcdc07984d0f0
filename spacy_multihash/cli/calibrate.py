"""`python -m spacy multihash calibrate`: correct a recognizer's probabilities."""

from collections.abc import Sequence
from dataclasses import asdict
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional

import typer
from spacy.language import Language
from spacy.training import Example

from ..common.files import write_bytes
from ..common.load import load_pipeline
from ..common.outputs import check_file_output, check_folder_output, write_pipeline
from ..corpus.read import model_examples
from ..ner.calibration import (
    HIGHEST,
    LOWEST,
    Calibration,
    Change,
    best_temperature,
    compare,
    is_at_edge,
    judge_entities,
)
from ._util import AS_JSON, CODE, MODEL, failing, import_code, msg, print_json, show_table

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_BLUE, _GREY = "#0072b2", "0.6"
_FACTORIES = ("batch_ner", "tagger_ner")


def calibrate_cli(
    model: str = MODEL,
    data: Path = typer.Argument(..., help="Dev corpus: a .spacy file, or a folder"),
    output: Path = typer.Argument(..., help="Directory to write", file_okay=False),
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
    writes the pipeline with it. The entities stay the same, except with decoder = "best" or
    threshold. Don't use the training or test corpus as DATA.

    DOCS: python -m pydoc spacy_multihash.ner.calibration
    """
    import_code(code)
    with failing("Cannot calibrate the pipeline"):
        check_folder_output(output, model, data, code, force=force)
        check_file_output(plot, "--plot", model, data, code, output, force=force)
        figure = None if plot is None else new_figure()
        nlp = load_pipeline(model)
        name = find_recognizer(nlp, component)
        examples = list(model_examples(nlp, data))
        calibration = calibrate(nlp, name, examples, bins=bins)
        set_temperature(nlp, name, calibration.temperature)
        write_pipeline(nlp, output)
        if plot is not None and figure is not None:
            draw_reliability(figure, calibration)
            png = BytesIO()
            figure.savefig(png, format="png")
            write_bytes(plot, png.getvalue())
    if is_at_edge(calibration.temperature):
        msg.warn(
            f"temperature = {calibration.temperature:.3f} is at the edge of the range, {LOWEST} to "
            f"{HIGHEST}: the corpus does not tell which is the best",
            f"It comes from {calibration.before.entities:,} entities. Take a larger dev corpus of "
            "the texts that the pipeline is for, or go on with the pipeline as it was.",
            err=as_json,
        )
    if as_json:
        print_json(asdict(calibration))
        return
    show_calibration(calibration)
    msg.good(
        f"Wrote the pipeline to {output}, with temperature = {calibration.temperature:.3f}, of "
        f"{calibration.before.entities:,} entities"
    )
    if plot is not None:
        msg.good(f"Drew the reliability diagram to {plot}")


def new_figure() -> "Figure":
    """Make an empty figure. matplotlib is only imported here."""
    from matplotlib.figure import Figure

    return Figure(figsize=(8, 4.2), dpi=150, layout="constrained")


def draw_reliability(figure: "Figure", calibration: Calibration) -> None:
    """Draw the share of entities that are right by probability, before and after.

    A dot is a range of probability, and its area grows with the entities in the range.
    """
    panels = figure.subplots(1, 2, sharex=True, sharey=True)
    sides = (
        (calibration.former, calibration.bins_before),
        (calibration.temperature, calibration.bins_after),
    )
    most = max(bin_.entities for _, bins in sides for bin_ in bins)
    for axes, (temperature, bins) in zip(panels, sides, strict=True):
        title = f"temperature {temperature:.2f}"
        probabilities = [bin_.probability for bin_ in bins]
        shares = [bin_.share for bin_ in bins]
        areas = [15 + 200 * bin_.entities / most for bin_ in bins]
        axes.plot([0, 1], [0, 1], color=_GREY, linewidth=1, linestyle="--")
        axes.plot(probabilities, shares, color=_BLUE, linewidth=1)
        axes.scatter(probabilities, shares, s=areas, color=_BLUE, zorder=3, clip_on=False)
        axes.set(title=title, xlabel="probability of the entity", xlim=(0, 1.02), ylim=(0, 1.02))
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("share of entities that are right")
    figure.suptitle("Reliability of probabilities. Larger dots are more entities.", fontsize=10)


def find_recognizer(nlp: Language, component: Optional[str]) -> str:
    """Find the component that gives probabilities, by its name if there are several."""
    names = [name for name in nlp.pipe_names if nlp.get_pipe_meta(name).factory in _FACTORIES]
    if component is not None and component not in names:
        raise ValueError(
            f"--component must be one of {', '.join(names) or 'none'}, was: {component}. Only "
            f"components of {' and '.join(_FACTORIES)} that are not disabled give probabilities."
        )
    if component is None and len(names) > 1:
        raise ValueError(f"Several components give probabilities. Give --component {names[0]}.")
    if not names:
        disabled = f" (disabled: {', '.join(nlp.disabled)})" if nlp.disabled else ""
        raise ValueError(
            f"The pipeline has no component of {' or '.join(_FACTORIES)}; it has: "
            f"{', '.join(nlp.pipe_names) or 'none'}{disabled}. accelerate makes a batch_ner of "
            "spaCy's ner."
        )
    return component or names[0]


def calibrate(
    nlp: Language, name: str, examples: Sequence[Example], *, bins: int = 10
) -> Calibration:
    """Find the temperature with the lowest log loss. The pipeline doesn't change.

    Raises ValueError if no entity is found where there is gold annotation, or if all found entities
    are right, or all are wrong.
    """
    judged = judge_entities(nlp, name, examples)
    return compare(judged, best_temperature(judged), bins=bins)


def set_temperature(nlp: Language, name: str, temperature: float) -> None:
    """Set the temperature of a component, and in the config that is saved with it."""
    recognizer: Any = nlp.get_pipe(name)
    recognizer.temperature = temperature
    nlp.get_pipe_config(name)["temperature"] = temperature


def show_calibration(calibration: Calibration) -> None:
    """Print a table with a row for all entities, and for each label."""
    changes = {"all": Change(calibration.before, calibration.after), **calibration.labels}
    rows = [
        (
            label,
            f"{change.before.entities:,}",
            f"{100 * change.before.share:.1f}",
            f"{100 * change.before.error:.1f}",
            f"{100 * change.after.error:.1f}",
            f"{change.before.loss:.3f}",
            f"{change.after.loss:.3f}",
        )
        for label, change in changes.items()
    ]
    header = ("", "entities", "right %", "error %", "error % after", "log loss", "log loss after")
    show_table(f"Calibration of {calibration.component}", header, rows)
