"""The error of a test set, by a bootstrap over its sentences."""

import numpy
import pytest

from experiments.runs.counts import Counts
from experiments.tables.bootstrap import RESAMPLES, Bootstrap, Interval, draw, f_scores

RNG = numpy.random.default_rng(1)
KEYS = [("conll-es", arm, "no-vectors", seed, "test") for arm in "ab" for seed in "01"]


def random_counts(sentences: int = 40) -> Counts:
    return RNG.integers(0, 4, size=(sentences, 3)).astype("u2")


def test_scores_are_those_of_a_plain_loop() -> None:
    counts, weights = random_counts(), draw(40)
    assert weights.shape == (RESAMPLES, 40)
    assert (weights.sum(axis=1) == 40).all()
    found = f_scores(weights, counts)
    for resample in range(0, RESAMPLES, 100):
        drawn = [i for i in range(40) for _ in range(int(weights[resample, i]))]
        right, made_up, missed = (sum(int(counts[i, column]) for i in drawn) for column in range(3))
        precision, recall = right / (right + made_up), right / (right + missed)
        expected = 2 * precision * recall / (precision + recall)
        assert found[resample] == pytest.approx(expected, rel=1e-12)


def test_interval_is_that_of_a_plain_loop_over_seeds() -> None:
    counts = {key: random_counts() for key in KEYS}
    one, other, third, fourth = KEYS
    found = Bootstrap(counts).interval([(one, third), (other, fourth)])
    scores = {key: f_scores(draw(40), counts[key]) for key in KEYS}
    differences = sorted(
        ((scores[one][i] - scores[third][i]) + (scores[other][i] - scores[fourth][i])) / 2
        for i in range(RESAMPLES)
    )
    assert found is not None
    assert differences[24] <= found.low <= differences[25]
    assert differences[974] <= found.high <= differences[975]
    assert found.low < 0 < found.high or found.low > differences[0]


def test_equal_counts_differ_by_nothing() -> None:
    counts = random_counts()
    bootstrap = Bootstrap({KEYS[0]: counts, KEYS[1]: counts.copy()})
    assert bootstrap.interval([(KEYS[0], KEYS[1])]) == Interval(0.0, 0.0)


def test_interval_narrows_with_sentences() -> None:
    def width(times: int) -> float:
        ones, others = (numpy.tile(counts[key], (times, 1)) for key in KEYS[:2])
        found = Bootstrap({KEYS[0]: ones, KEYS[1]: others}).interval([(KEYS[0], KEYS[1])])
        assert found is not None
        return found.high - found.low

    counts = {key: random_counts() for key in KEYS[:2]}
    assert width(16) == pytest.approx(width(1) / 4, rel=0.15)


def test_runs_without_counts_have_no_interval() -> None:
    bootstrap = Bootstrap({KEYS[0]: random_counts()})
    assert bootstrap.interval([(KEYS[0], KEYS[1])]) is None
    assert bootstrap.interval([]) is None


def test_without_entities_f_is_zero() -> None:
    assert (f_scores(draw(3), numpy.zeros((3, 3), dtype="u2")) == 0).all()
