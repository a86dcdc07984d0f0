"""Measure the calibration of entities' probabilities, and improve it by a temperature.

Probabilities are calibrated if, of all entities with a probability of about p, a share of p is
right. A temperature divides scores before they become probabilities (Guo et al. 2017, "On
calibration of modern neural networks"). It changes what a model finds only if the model has a
`threshold` or `decoder = "best"`.
"""

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy
from spacy.language import Language
from spacy.training import Example
from spacy.util import minibatch

from .spans import SpanScores, annotate_before

# The range of temperatures that is searched.
LOWEST, HIGHEST = 0.05, 20.0
# Temperatures per round of the search, and the tolerance of their logarithms.
_GRID, _TOLERANCE = 9, 1e-3
# A temperature closer to LOWEST or HIGHEST than this share counts as at the edge.
_FROM_EDGE = 0.01
# Probabilities are kept this far from 0 and 1 in logarithms.
_EDGE = 1e-7


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


def expected_calibration_error(
    probabilities: numpy.ndarray, right: numpy.ndarray, bins: int = 10
) -> float:
    """Return the mean gap of probability and share right, over entities (Guo et al. 2017, eq. 3).

    See `reliability` for the arguments.
    """
    ranges = reliability(probabilities, right, bins)
    return sum(abs(b.probability - b.share) * b.entities for b in ranges) / len(probabilities)


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


def is_at_edge(temperature: float) -> bool:
    """Check if a temperature is about the lowest or the highest of the search."""
    return not LOWEST * (1 + _FROM_EDGE) < temperature < HIGHEST * (1 - _FROM_EDGE)


@dataclass(frozen=True)
class Quality:
    """The calibration of probabilities.

    entities: How many entities were found.
    share: The share that is right: the precision.
    error: The expected calibration error.
    loss: The log loss.
    """

    entities: int
    share: float
    error: float
    loss: float


def quality_of(probabilities: numpy.ndarray, right: numpy.ndarray, bins: int = 10) -> Quality:
    """Measure the calibration; see `reliability` for the arguments."""
    error = expected_calibration_error(probabilities, right, bins)
    return Quality(len(right), float(right.mean()), error, log_loss(probabilities, right))


@dataclass(frozen=True)
class Change:
    """The calibration with two temperatures."""

    before: Quality
    after: Quality


@dataclass(frozen=True)
class Calibration:
    """The calibration on a corpus, with two temperatures.

    former, temperature: The component's temperature, and the new temperature.
    before, after: The calibration with each temperature.
    labels: Both for each label.
    bins_before, bins_after: The ranges of probability, for the diagram.
    """

    component: str
    former: float
    temperature: float
    before: Quality
    after: Quality
    labels: Mapping[str, Change]
    bins_before: Sequence[Bin]
    bins_after: Sequence[Bin]


# Docs whose scores are computed at once.
_BATCH = 256


class Judged(NamedTuple):
    """The E entities that a component finds where there is gold annotation.

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
    """Find the entities of a corpus, and judge them. The pipeline doesn't change.

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
        aligned = [eg.get_aligned_spans_y2x(eg.reference.ents) for eg in batch]
        gold = [{(span.start, span.end, span.label_) for span in spans} for spans in aligned]
        has_gold = [[tag is not None for tag in eg.get_aligned_ner()] for eg in batch]
        counting = []
        for number, (i, (start, end, label)) in enumerate(scores.keys):
            is_new = (start, end, label) not in present[i]
            if is_new and all(has_gold[i][start:end]):
                counting.append(number)
                right.append((start, end, label) in gold[i])
                labels.append(label)
        batches.append((scores, counting))
    if not right:
        raise ValueError(
            f'Component "{name}" finds no entity in the corpus where it has gold annotation, so '
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

    Raises ValueError if all entities are right, or none: then the lowest or the highest temperature
    would be the best.
    """
    number, right = len(judged.right), int(judged.right.sum())
    if right in (0, number):
        raise ValueError(
            f"{'All' if right else 'None of the'} {number} entities found on dev are right, so "
            "there's nothing to calibrate. Take a larger dev corpus that the pipeline wasn't "
            "trained on, with the labels of the pipeline."
        )
    return round(fit_temperature(judged.probabilities, judged.right), 3)


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
