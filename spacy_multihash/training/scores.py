"""Scores of a trained pipeline, with intervals, and its size."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Optional

import numpy
from spacy.tokens import Span
from spacy.training import Example

from ..corpus.evaluation import (
    KnownEntities,
    Scores,
    score,
    score_parts,
)
from ..corpus.intervals import SAMPLES, Counts, Interval, draw, f1, f1_interval, interval_of
from ..corpus.spans import match
from ..corpus.splits import FOLDS
from ..corpus.statistics import Repeats

MIN_UNITS = 5  # regions, to draw samples of them
# How far the share of entities of new texts that are in train is from that of distant parts: the
# standard deviation of the ratio's logarithm (0.54 at 118 places of the four corpora that chose the
# method, docs/results.md).
_SHARE_DEVIATION = 0.5


@dataclass(frozen=True)
class SplitScores:
    """Scores of a split.

    unit (str): The unit of bootstrap samples: "regions", "groups", "sentences", "documents" or
        "texts".
    units (int): The number of units.
    parts (Mapping[str, Scores]): "all", and for entities "seen" and "unseen" in training, with the
        other part masked. Scores by label are in "all".
    interval (Optional[Interval]): Contains the F1 of all in 95 % of samples, or the F1
        to expect on new texts if it's known.
    expected (Optional[Scores]): The scores to expect on new texts, as `expected_scores` or
        `score_folds` makes them.
    folds (int): The folds of cross-validation that `expected` and the interval are of, or 0.
    counts (Sequence[Counts]): Right, spurious and missed entities or labels of each unit.
    """

    unit: str
    units: int
    parts: Mapping[str, Scores]
    interval: Optional[Interval]
    expected: Optional[Scores] = None
    counts: Sequence[Counts] = field(default=(), repr=False)
    folds: int = 0

    @property
    def f(self) -> Optional[float]:
        """The measured F1 of all."""
        return self.parts["all"].f

    @property
    def best(self) -> Scores:
        """The scores to expect on new texts if they're known, or else the measured scores."""
        return self.expected or self.parts["all"]


def score_predicted(
    examples: Sequence[Example],
    known: KnownEntities,
    *,
    regions: Sequence[int] = (),
    by: Optional[str] = None,
    repeats: Optional[Repeats] = None,
) -> SplitScores:
    """Score the entities that a pipeline has predicted.

    regions (Sequence[int]): The region of each doc. The interval then draws regions, if there are
        enough, because entities of neighbouring sentences are right or wrong together.
    by (Optional[str]): What made the regions. If it's "words", they are groups of docs that share
        names, and the order of train tells nothing: the scores are as measured.
    repeats (Optional[Repeats]): The repeats in train, to expect scores on new texts.
    """
    of_docs = [count_sentences(example, known) for example in examples]
    parts = {"all": score(examples), **score_parts(examples, known)}
    unit = "documents" if sum(map(len, of_docs)) == len(examples) else "sentences"
    counts = numpy.concatenate([*of_docs, numpy.zeros((0, 2, 3), dtype="int64")])  # (U, 2, 3)
    if len(set(regions)) >= MIN_UNITS:
        unit = "groups" if by == "words" else "regions"
        counts = _of_regions(numpy.array([of_doc.sum(axis=0) for of_doc in of_docs]), regions)
    of_units = [tuple(row) for row in counts.sum(axis=1).tolist()]
    interval, expected = f1_interval(of_units), None
    if counts[..., [0, 2]].sum((0, 2)).all():
        if unit == "groups":
            interval = expected_scores(counts, _measured_shares(counts))[1]
        elif repeats is not None and repeats.distant_share is not None:
            expected, interval = expected_scores(counts, numpy.array(repeats.distant))
    return SplitScores(unit, len(counts), parts, interval, expected, of_units)


def score_folds(
    of_test: SplitScores, counts: Sequence[Sequence[Sequence[int]]], regions: Sequence[int]
) -> SplitScores:
    """Replace the scores to expect on new texts by those of cross-validation, and their interval.

    Each text is in test once, away from its neighbours in train, so that many more entities are
    scored than those of one test set. That needs no weights: the share of its entities in train is
    about that of new texts. The interval draws regions, and allows for another share.

    counts (Sequence[Sequence[Sequence[int]]]): Right, spurious and missed entities of each doc,
        (N, 2, 3): first those that aren't in train.
    regions (Sequence[int]): The region of each doc.
    """
    units = _of_regions(numpy.array(counts), regions)
    scores, interval = expected_scores(units, _measured_shares(units))
    return replace(of_test, expected=scores, interval=interval, folds=FOLDS)


def count_docs(examples: Sequence[Example], known: KnownEntities) -> list[list[list[int]]]:
    """Count right, spurious and missed entities of each doc, as `score_folds` takes them."""
    return [count_sentences(example, known).sum(axis=0).tolist() for example in examples]


def _of_regions(counts: numpy.ndarray, regions: Sequence[int]) -> numpy.ndarray:
    """Sum the counts of docs by region: (N, 2, 3) -> (U, 2, 3)."""
    names, places = numpy.unique(regions, return_inverse=True)
    of_regions = numpy.zeros((len(names), 2, 3), dtype="int64")
    numpy.add.at(of_regions, places, counts)
    return of_regions


def _measured_shares(counts: numpy.ndarray) -> numpy.ndarray:
    """Return the gold entities of each unit that are in train, and all: (U, 2, 3) -> (U, 2)."""
    gold = counts[..., 0] + counts[..., 2]
    return numpy.stack([gold[:, 1], gold.sum(axis=1)], axis=1)


def expected_scores(
    counts: numpy.ndarray, distant: numpy.ndarray
) -> tuple[Scores, Optional[Interval]]:
    """Expect scores on new texts, which share fewer entities with train than neighbours do.

    As many entities of new texts are in train as of its distant parts. So the entities in train and
    the other entities, right, spurious and missed, are weighted to get that share (importance
    weighting, Shimodaira 2000). Samples of the interval draw units, parts of train, and what
    that share may be elsewhere.

    counts (numpy.ndarray): Right, spurious and missed entities of each unit, (U, 2, 3): first those
        that aren't in train.
    distant (numpy.ndarray): The entities of each part of train that distant parts have as well, and
        all of its entities, (P, 2).
    RETURNS (tuple[Scores, Optional[Interval]]): The scores, and the interval of F1.
    """
    share = distant[:, 0].sum() / distant[:, 1].sum()
    total = counts.sum(axis=0)
    weighted = _weighted(total, share)
    right, spurious, missed = weighted
    f = float(f1(weighted))
    scores = Scores(
        int(total[:, [0, 2]].sum()),
        float(right / max(right + spurious, 1e-9)),
        float(right / max(right + missed, 1e-9)),
        f,
    )
    generator = numpy.random.default_rng(0)
    drawn, parts = (draw(len(each), SAMPLES, generator) for each in (counts, distant))
    seen, mentions = (parts @ distant).T
    shares = seen / numpy.maximum(mentions, 1)
    shares = shares * numpy.exp(generator.normal(0, _SHARE_DEVIATION, SAMPLES))
    samples = f1(_weighted(numpy.tensordot(drawn, counts, 1), numpy.minimum(shares, 1)))
    return scores, interval_of(f, samples, len(counts), 0)


def _weighted(counts: numpy.ndarray, share: numpy.ndarray) -> numpy.ndarray:
    """Weight counts so that `share` of the gold entities is in train: (..., 2, 3) -> (..., 3)."""
    gold = counts[..., 0] + counts[..., 2]  # (..., 2)
    wanted = numpy.stack([1 - share, share], axis=-1) * gold.sum(axis=-1, keepdims=True)
    weights = wanted / numpy.maximum(gold, 1)
    return (counts * weights[..., None]).sum(axis=-2)


def count_sentences(example: Example, known: KnownEntities) -> numpy.ndarray:
    """Count right, spurious and missed entities of each sentence of a gold doc.

    A doc without sentences counts as one. Entities belong to the sentence where they begin.

    RETURNS (numpy.ndarray): The counts of entities that aren't in train, and that are: (S, 2, 3).
    """
    doc = example.reference
    has_sentences = doc.has_annotation("SENT_START")
    sentences = [sent.start for sent in doc.sents] if has_sentences else [0]
    counts = numpy.zeros((len(sentences), 2, 3), dtype="int64")
    for kind, gold, predicted in match(doc, example.predicted):
        sides = [(gold, 0)] if kind == "right" else [(predicted, 1), (gold, 2)]
        for entity, column in sides:
            if entity is not None:
                place = numpy.searchsorted(sentences, entity.start, side="right") - 1
                is_seen = known.has_seen(Span(doc, *entity.key))
                counts[place, int(is_seen), column] += 1
    return counts
