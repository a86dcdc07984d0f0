"""Measure the calibration of entities' probabilities, and improve it by a temperature.

Probabilities are calibrated if, of all entities with a probability of about p, a share of p is
right. A temperature divides scores before they become probabilities (Guo et al. 2017, "On
calibration of modern neural networks"). It changes what a model predicts only if the model has a
`threshold`.
"""

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Optional, Union

import numpy
from spacy.language import Language
from spacy.training import Example
from spacy.util import minibatch

from ..common.arguments import Between, checked
from ..common.files import write_bytes
from ..common.load import loaded
from ..common.outputs import check_file_output, check_folder_output, paths_in, write_pipeline
from ..common.result import Result, Table
from ..corpus.read import Data, bare, examples_of
from ..corpus.spans import gold_entities, gold_places
from .entities import SpanScores, annotate_before
from .estimate import KEY, count_on_gold

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# The range of temperatures that is searched.
LOWEST, HIGHEST = 0.05, 20.0
# Temperatures per round of the search, and the tolerance of their logarithms.
_GRID, _TOLERANCE = 9, 1e-3
# A temperature closer to LOWEST or HIGHEST than this share counts as at the edge.
_FROM_EDGE = 0.01
# The components that give probabilities.
_FACTORIES = ("batch_ner", "tagger_ner")
# The key in doc.spans for the probabilities of calibrated pipelines, if they have none yet.
SPANS_KEY = "entities"
# Probabilities are kept this far from 0 and 1 in logarithms.
_EDGE = 1e-7
# Colours of the diagram.
_BLUE, _GREY = "#0072b2", "0.6"


@dataclass(frozen=True)
class Bin:
    """The entities whose probabilities are in a range.

    probability: Their mean probability.
    share: The share that is right.
    entities: Their number.
    """

    probability: float
    share: float
    entities: int


def reliability(probabilities: numpy.ndarray, right: numpy.ndarray, bins: int = 10) -> list[Bin]:
    """Bin entities by probability, in bins of equal width, without empty bins.

    probabilities (E,) float: In [0, 1].
    right (E,) bool: Whether each entity is right.
    """
    number = numpy.minimum((probabilities * bins).astype("int64"), bins - 1)
    ranges = [number == of_range for of_range in numpy.unique(number)]
    return [
        Bin(float(probabilities[inside].mean()), float(right[inside].mean()), int(inside.sum()))
        for inside in ranges
    ]


def log_loss(probabilities: numpy.ndarray, right: numpy.ndarray) -> float:
    """Return the mean of -log p for right entities, -log(1 - p) for wrong entities."""
    p = numpy.clip(probabilities.astype("float64"), _EDGE, 1 - _EDGE)
    return float(-numpy.log(numpy.where(right, p, 1 - p)).mean())


def fit_temperature(probabilities: Callable[[float], numpy.ndarray], right: numpy.ndarray) -> float:
    """Find the temperature with the lowest log loss, from `LOWEST` to `HIGHEST`.

    Each round tries a grid of temperatures, and the next a finer grid around the best.

    probabilities (Callable): Temperature -> (E,) float, E >= 1.
    right (E,) bool.
    """
    low, high = math.log(LOWEST), math.log(HIGHEST)
    while high - low > _TOLERANCE:
        grid = numpy.linspace(low, high, _GRID)
        losses = [log_loss(probabilities(math.exp(log)), right) for log in grid.tolist()]
        best = int(numpy.argmin(losses))
        low, high = grid[max(best - 1, 0)], grid[min(best + 1, _GRID - 1)]
    return float(math.exp((low + high) / 2))


@dataclass(frozen=True)
class Quality:
    """The calibration of probabilities.

    entities: How many entities were predicted.
    share: The share that is right: the precision.
    error: The expected calibration error: the mean gap of probability and share right, over
        entities (Guo et al. 2017, eq. 3).
    loss: The log loss.
    """

    entities: int
    share: float
    error: float
    loss: float


def quality_of(probabilities: numpy.ndarray, right: numpy.ndarray, bins: int = 10) -> Quality:
    """Measure the calibration; see `reliability` for the arguments."""
    ranges = reliability(probabilities, right, bins)
    gaps = sum(abs(each.probability - each.share) * each.entities for each in ranges)
    loss = log_loss(probabilities, right)
    return Quality(len(right), float(right.mean()), gaps / len(right), loss)


@dataclass(frozen=True)
class Change:
    """The calibration with two temperatures."""

    before: Quality
    after: Quality


@dataclass(frozen=True, eq=False)
class Calibration(Result):
    """The calibration on a corpus, with two temperatures.

    component (str): The recognizer.
    former, temperature (float): Its temperature, and the new temperature.
    before, after (Quality): The calibration with each temperature.
    labels (Mapping[str, Change]): Both for each label.
    bins_before, bins_after (Sequence[Bin]): The ranges of probability, for the diagram.
    spans_key (str): Where the pipeline puts the probabilities, in doc.spans.
    """

    component: str
    former: float
    temperature: float
    before: Quality
    after: Quality
    labels: Mapping[str, Change]
    bins_before: Sequence[Bin]
    bins_after: Sequence[Bin]
    spans_key: str = SPANS_KEY

    def tables(self) -> Iterator[Table]:
        """A row for all entities, and for each label."""
        changes = {"all": Change(self.before, self.after), **self.labels}
        rows = [
            (
                label,
                c.before.entities,
                *(f"{100 * x:.1f}" for x in (c.before.share, c.before.error, c.after.error)),
                *(f"{quality.loss:.3f}" for quality in (c.before, c.after)),
            )
            for label, c in changes.items()
        ]
        header = ("", "entities", "right %", "error %", "error % after", "log loss", "after")
        yield Table(f"Calibration of {self.component}", header, rows)

    def notes(self) -> Iterator[str]:
        """Both temperatures."""
        yield (
            f"temperature = {self.temperature:.3f}, of {self.before.entities:,} entities "
            f"({self.former:.3f} before)"
        )
        yield f'doc.spans["{self.spans_key}"] has the entities and, as scores, their probabilities.'

    def figure(self) -> "Figure":
        """Draw the share of entities that are right by probability, before and after.

        A dot is a range of probability, and its area grows with the entities in the range. Needs
        matplotlib.
        """
        return _draw_reliability(_new_figure(), self)


# Docs whose scores are computed at once.
_BATCH = 256


class Judged(NamedTuple):
    """The E entities that a component predicts where there is gold annotation.

    former: The component's temperature.
    right (E,) bool: Whether each entity is right.
    labels (E,) str: The label of each entity.
    probabilities (Callable): Temperature -> (E,) float.
    """

    component: str
    former: float
    right: numpy.ndarray
    labels: numpy.ndarray
    probabilities: Callable[[float], numpy.ndarray]


def judge_entities(nlp: Language, name: str, examples: Sequence[Example]) -> Judged:
    """Predict the entities of a corpus, and judge them. The pipeline doesn't change.

    Entities that other components set, or with tokens without gold annotation, are ignored.

    name (str): The component, a batch_ner or tagger_ner.
    examples (Sequence[Example]): The corpus, not annotated yet.

    Raises ValueError if no entities are left.
    """
    recognizer: Any = nlp.get_pipe(name)
    right: list[bool] = []
    labels: list[str] = []
    batches: list[tuple[SpanScores, list[int]]] = []
    for batch in minibatch(examples, _BATCH):
        batch = annotate_before(nlp, name, batch)
        docs = [example.predicted for example in batch]
        scores = recognizer.score_spans(docs)
        present = [{(span.start, span.end, span.label_) for span in doc.ents} for doc in docs]
        places = [gold_places(eg.reference, eg.predicted) for eg in batch]
        gold = [{entity.key for entity in gold_entities(eg.reference)} for eg in batch]
        counting = []
        for number, (i, (start, end, label)) in enumerate(scores.keys):
            place = places[i](start, end)
            if place and (start, end, label) not in present[i]:
                counting.append(number)
                right.append((*place, label) in gold[i])
                labels.append(label)
        batches.append((scores, counting))
    if not right:
        raise ValueError(
            f'Component "{name}" predicts no entity in the corpus where it has gold annotation, so '
            "that there is nothing to calibrate. Expected a dev corpus of the kind of text that "
            "the pipeline was trained on."
        )

    def probabilities(temperature: float) -> numpy.ndarray:
        return numpy.concatenate([scores.probabilities(temperature)[i] for scores, i in batches])

    return Judged(
        name, recognizer.temperature, numpy.array(right), numpy.array(labels), probabilities
    )


def best_temperature(judged: Judged) -> float:
    """Find the temperature with the lowest log loss, in thousandths.

    Raises ValueError if the corpus doesn't tell which is the best: if all entities are right, or
    none, or if the best is about the lowest or the highest of the search.
    """
    number, right = len(judged.right), int(judged.right.sum())
    if right in (0, number):
        raise ValueError(
            f"{'All' if right else 'None of the'} {number} entities predicted on dev are right, so "
            "there's nothing to calibrate. Take a larger dev corpus that the pipeline wasn't "
            "trained on, with the labels of the pipeline."
        )
    temperature = round(fit_temperature(judged.probabilities, judged.right), 3)
    if not LOWEST * (1 + _FROM_EDGE) < temperature < HIGHEST * (1 - _FROM_EDGE):
        raise ValueError(
            f"The best temperature, {temperature:.3f}, is at the edge of the range, {LOWEST} to "
            f"{HIGHEST}: {number:,} entities are too few to tell. Take a larger dev corpus of the "
            "texts that the pipeline is for, or go on with the pipeline as it was."
        )
    return temperature


def compare(judged: Judged, temperature: float, *, bins: int = 10) -> Calibration:
    """Compare the calibration, in bins, with the calibration at another temperature."""
    old, new = judged.probabilities(judged.former), judged.probabilities(temperature)
    right = judged.right

    def change_of(chosen: numpy.ndarray) -> Change:
        return Change(*(quality_of(p[chosen], right[chosen], bins) for p in (old, new)))

    labels = numpy.unique(judged.labels).tolist()
    return Calibration(
        judged.component,
        judged.former,
        temperature,
        quality_of(old, right, bins),
        quality_of(new, right, bins),
        {label: change_of(judged.labels == label) for label in labels},
        reliability(old, right, bins),
        reliability(new, right, bins),
    )


def find_recognizer(nlp: Language, component: Optional[str] = None) -> str:
    """Find the component that gives probabilities. If there are several, it has to be named.

    Raises ValueError if there is none, or several, or not that one.
    """
    names = [name for name in nlp.pipe_names if nlp.get_pipe_meta(name).factory in _FACTORIES]
    if component is not None and component not in names:
        raise ValueError(
            f"component must be one of {', '.join(names) or 'none'}, got {component}. Only "
            f"components of {' and '.join(_FACTORIES)} that are not disabled give probabilities."
        )
    if component is None and len(names) > 1:
        raise ValueError(f"Several components give probabilities. Set component to {names[0]}.")
    if not names:
        disabled = f" (disabled: {', '.join(nlp.disabled)})" if nlp.disabled else ""
        raise ValueError(
            f"The pipeline has no component of {' or '.join(_FACTORIES)}; it has: "
            f"{', '.join(nlp.pipe_names) or 'none'}{disabled}. accelerate makes a batch_ner of "
            "spaCy's ner."
        )
    return component or names[0]


def turn_on_probabilities(nlp: Language, name: str) -> str:
    """Let a component put its entities' probabilities into doc.spans, also once it's saved.

    Returns the key in doc.spans.
    """
    recognizer: Any = nlp.get_pipe(name)
    if recognizer.spans_key is None:
        recognizer.spans_key = nlp.get_pipe_config(name)["spans_key"] = SPANS_KEY
    return recognizer.spans_key


@checked
def calibrate(
    nlp: Union[Language, str, Path],
    data: Data,
    output: Union[str, Path, None] = None,
    *,
    component: Optional[str] = None,
    bins: Annotated[int, Between(2)] = 10,
    plot: Union[str, Path, None] = None,
    force: bool = False,
) -> Calibration:
    """Correct a recognizer's probabilities.

        print(calibrate("training/model-best", "dev.spacy", "calibrated"))

    Of all entities with a probability of 0.8, about 80 % should be right. The temperature with the
    lowest log loss on a dev corpus is set in the pipeline and its config. Don't use the training or
    test corpus. The entities stay the same, except with a threshold, and doc.spans["entities"] has
    them with their probabilities, unless the pipeline has another spans_key.

    nlp (Union[Language, str, Path]): A pipeline, which changes in place, or a package's name, or a
        path.
    data (Data): The corpus: a path, or docs with gold entities.
    output (Union[str, Path, None]): The folder to write the pipeline to. None writes nothing.
    component (Optional[str]): The batch_ner or tagger_ner, if the pipeline has several.
    bins (int): Number of ranges of probability, at least 2.
    plot (Union[str, Path, None]): PNG file to draw a reliability diagram to. Needs matplotlib.
    force (bool): Whether to replace a pipeline at `output`, and a file at `plot`.

    The true and the expected numbers of entities on dev are saved in nlp.meta, for `estimate`.

    Raises ValueError if no entity is predicted where there is gold annotation, or if the corpus
    doesn't tell which temperature is the best. Then nothing has changed.
    """
    inputs = paths_in(nlp, data)
    if output is not None:
        check_folder_output(Path(output), *inputs, force=force)
    if plot is not None:
        plot = Path(plot)
        check_file_output(plot, "plot", *inputs, output, force=force)
        _new_figure()  # fails now if matplotlib isn't there
    nlp = loaded(nlp)
    name = find_recognizer(nlp, component)
    examples = list(examples_of(nlp, data))
    fresh = [Example(bare(eg.predicted), eg.reference) for eg in examples]
    judged = judge_entities(nlp, name, examples)
    done = compare(judged, best_temperature(judged), bins=bins)
    on_dev, _ = count_on_gold(nlp, fresh, only=name, temperature=done.temperature)
    # Now that nothing can fail but writing, change the pipeline.
    recognizer: Any = nlp.get_pipe(name)
    recognizer.temperature = nlp.get_pipe_config(name)["temperature"] = done.temperature
    done = replace(done, spans_key=turn_on_probabilities(nlp, name))
    nlp.meta[KEY] = {"component": name, **on_dev._asdict()}
    if output is not None:
        write_pipeline(nlp, Path(output))
    if plot is not None:
        png = BytesIO()
        done.figure().savefig(png, format="png")
        write_bytes(plot, png.getvalue())
    return done


def _new_figure() -> "Figure":
    from matplotlib.figure import Figure

    return Figure(figsize=(8, 4.2), dpi=150, layout="constrained")


def _draw_reliability(figure: "Figure", calibration: Calibration) -> "Figure":
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
    return figure
