"""The error of a test set: how much a difference of F1 depends on the sentences that are in it.

The sentences are drawn again, with replacement, a thousand times. Each time, both models are scored
on the sentences that were drawn. The interval holds 95 % of the differences.
"""

import operator
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Optional

import numpy

from experiments.runs.counts import Counts

RESAMPLES = 1_000
SEED = 0
PERCENTILES = (2.5, 97.5)
# How often each sentence is drawn, or the F1 of a model, in each resample.
Weights = numpy.ndarray[tuple[int, int], numpy.dtype[numpy.float32]]
Scores = numpy.ndarray[tuple[int], numpy.dtype[numpy.float64]]


@dataclass(frozen=True)
class Interval:
    """The bounds between which 95 % of resampled differences are."""

    low: float
    high: float


@dataclass(frozen=True)
class Bootstrap:
    """Resamples of the sentences of data sets, the same ones for all models.

    counts (Mapping): True positives, false positives and false negatives of each sentence, by data
        set, arm, vectors, seed and split. Shape: (sentences, 3).
    """

    counts: Mapping[tuple[str, ...], Counts] = field(default_factory=dict)
    _weights: dict[int, Weights] = field(default_factory=dict)
    _scores: dict[tuple[str, ...], Scores] = field(default_factory=dict)

    def interval(
        self,
        compared: Sequence[tuple[tuple[str, ...], ...]],
        difference: Callable[..., Scores] = operator.sub,
    ) -> Optional[Interval]:
        """Return the interval of the mean difference of F1, or None if a run has no counts.

        compared (Sequence): The runs and splits to compare, as the keys of `counts`. Mostly pairs.
        difference (Callable): What is computed of their F1: that of the first minus that of the
            second.
        """
        if not compared or any(key not in self.counts for keys in compared for key in keys):
            return None
        differences = [difference(*map(self.scores, keys)) for keys in compared]
        low, high = numpy.percentile(numpy.mean(differences, axis=0), PERCENTILES)
        return Interval(float(low), float(high))

    def scores(self, key: tuple[str, ...]) -> Scores:
        """Return the F1 of a run and split in each resample. Shape: (resamples,)."""
        if key not in self._scores:
            counts = self.counts[key]
            if len(counts) not in self._weights:
                self._weights[len(counts)] = draw(len(counts))
            self._scores[key] = f_scores(self._weights[len(counts)], counts)
        return self._scores[key]


def draw(sentences: int) -> Weights:
    """Draw as many sentences as there are, with replacement, in each resample.

    Returns how often each of them is drawn. Shape: (resamples, sentences).
    """
    shares = numpy.full(sentences, 1 / max(sentences, 1))
    weights = numpy.random.default_rng(SEED).multinomial(sentences, shares, size=RESAMPLES)
    return weights.astype("f")


def f_scores(weights: Weights, counts: Counts) -> Scores:
    """Return the F1 in each resample, 0 where there is no entity. Shape: (resamples,).

    weights (Weights): How often each sentence is drawn. Shape: (resamples, sentences).
    counts (Counts): True positives, false positives and false negatives. Shape: (sentences, 3).
    """
    # Sums of whole numbers below 2^24 are exact in float32.
    right, made_up, missed = (weights @ counts.astype("f")).astype("d").T
    return 2 * right / numpy.maximum(2 * right + made_up + missed, 1)


def error_increase(f: Scores, base: Scores) -> Scores:
    """Return by how many percent errors of F1, 1 - F1, exceed those of a base."""
    return 100 * ((1 - f) / (1 - base) - 1)


def more_increase(one: Scores, other: Scores, base: Scores) -> Scores:
    """Return the error increase of one F1 minus that of another, over the same base."""
    return error_increase(one, base) - error_increase(other, base)
