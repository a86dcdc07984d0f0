"""F1 with intervals, and the difference of two models."""

import numpy
import pytest
from numpy.testing import assert_allclose

from spacy_multihash.corpus.intervals import compare, f1, f1_interval, resample


def test_interval_is_where_other_draws_would_be() -> None:
    rng = numpy.random.default_rng(1)

    def draw(units: int) -> numpy.ndarray:
        right = rng.random(units) < 0.7
        return numpy.stack([right, ~right, ~right], axis=1).astype(int)

    low, high = f1_interval(draw(400)) or (0.0, 0.0)
    others = [draw(400)[:, 0].mean() for _ in range(2000)]
    assert_allclose(high - low, numpy.subtract(*numpy.percentile(others, [97.5, 2.5])), rtol=0.15)
    assert low < 0.7 < high


@pytest.mark.parametrize("counts", [(0, 0, 0), (2, 0, 0)])
def test_interval_without_width_is_none(counts: tuple[int, int, int]) -> None:
    assert f1_interval([counts] * 3) is None
    assert f1_interval([]) is None and f1_interval([(1, 2, 3)]) is None


def test_interval_of_few_units_is_wider() -> None:
    rng = numpy.random.default_rng(0)
    sentences = rng.integers(0, 5, (200, 3))
    regions = sentences.reshape(10, 20, 3).sum(axis=1)
    widths = [numpy.subtract(*(f1_interval(units) or (0, 0))) for units in (regions, sentences)]
    assert widths[0] < widths[1] < 0
    raw = numpy.subtract(*numpy.percentile(f1(resample(regions[:5])), [2.5, 97.5]))
    few = numpy.subtract(*(f1_interval(regions[:5]) or (0, 0)))
    assert few == pytest.approx(raw * (5 / 4) ** 0.5 * (1 + (1.96**2 + 1) / 16))


def test_difference_is_that_of_both_in_the_same_samples() -> None:
    rng = numpy.random.default_rng(0)
    shared = rng.random(300) < 0.6
    before, after = (
        numpy.stack([right, ~right, ~right], axis=1).astype(int)
        for right in (shared ^ (rng.random(300) < flips) for flips in (0.06, 0.02))
    )
    found = compare(before, after)
    assert (found.before, found.after) == (f1(before.sum(axis=0)), f1(after.sum(axis=0)))
    low, high = found.interval or (0.0, 0.0)
    drawn = rng.integers(0, 300, (2000, 300))
    right = numpy.array([before, after])[:, drawn, 0].mean(axis=-1)  # as many wrong as missed
    assert_allclose((low, high), numpy.percentile(right[1] - right[0], [2.5, 97.5]), atol=0.005)
    alone = [f1_interval(counts) or (0.0, 0.0) for counts in (before, after)]
    assert high - low < 0.7 * min(upper - lower for lower, upper in alone)


@pytest.mark.parametrize(
    ("right", "winner"), [(15, None), (16, None), (30, "after"), (5, "before")]
)
def test_winner_is_better_in_most_samples(right: int, winner: str | None) -> None:
    before, after = ([(1, 0, 0)] * n + [(0, 1, 1)] * (40 - n) for n in (15, right))
    found = compare(before, after)
    assert found.winner == winner and f"{2.5 * (right - 15):+.1f} points" in str(found)
    assert (found.interval is None) is (right == 15)
