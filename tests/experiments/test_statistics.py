"""Means and differences of runs, beside scipy's."""

import numpy
import pandas
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from experiments.results import COLUMNS
from experiments.statistics import Cell, Runs, student_interval

ONE, OTHER = Cell("d", "one", "dev_f"), Cell("d", "other", "dev_f")


def runs_of(scores: dict[str, list[float]], counts: dict[str, numpy.ndarray] | None = None) -> Runs:
    rows = [
        {"dataset": "d", "arm": arm, "vectors": "", "after": "", "seed": seed, "dev_f": f}
        for arm, of_arm in scores.items()
        for seed, f in enumerate(of_arm)
    ]
    return Runs(pandas.DataFrame(rows, columns=list(COLUMNS)), counts or {})


def f_of(counts: numpy.ndarray, gold: numpy.ndarray) -> float:
    right, made_up = counts.sum(axis=1)
    return float(2 * right / (right + made_up + gold.sum()))


def sentences(runs: int = 6, n: int = 300, seed: int = 0) -> dict[str, numpy.ndarray]:
    """Draw counts of sentences of two arms with as many seeds each."""
    rng = numpy.random.default_rng(seed)
    gold = rng.integers(0, 4, size=n)
    right = rng.binomial(gold[:, None], rng.uniform(0.5, 0.8, size=runs))
    counts = numpy.stack([right, rng.integers(0, 2, size=(n, runs))]).astype("uint8")
    names = [f"{arm}//{seed}" for arm in ("one", "other") for seed in range(runs // 2)]
    stem = "d/dev/all"
    return {
        f"{stem}/runs": numpy.array(names),
        f"{stem}/gold": gold.astype("uint8"),
        f"{stem}/counts": counts,
    }


def test_interval_of_a_mean_is_that_of_a_t_test() -> None:
    values = [0.71, 0.74, 0.72]
    expected = stats.ttest_1samp(values, 0).confidence_interval(0.95)
    mean, low, high, n, _ = student_interval(values)
    assert_allclose([mean, low, high], [numpy.mean(values), expected.low, expected.high])
    assert n == 3
    assert student_interval([0.5]) == (0.5, None, None, 1, False)


def test_difference_over_seeds_is_that_of_a_paired_t_test() -> None:
    one, other = [0.71, 0.74, 0.72, 0.9], [0.70, 0.70, 0.71]
    found = runs_of({"one": one, "other": other}).difference(ONE, OTHER)
    expected = stats.ttest_rel(one[:3], other).confidence_interval(0.95)
    assert found is not None and found.n == 3 and not found.over_sentences
    assert_allclose([found.low, found.high], [expected.low, expected.high])


def test_difference_over_sentences_is_a_bootstrap_of_both() -> None:
    counts = sentences(runs=2)
    gold, pairs = counts["d/dev/all/gold"], counts["d/dev/all/counts"]
    scores = [f_of(pairs[:, :, run], gold) for run in (0, 1)]
    runs = runs_of({"one": scores[:1], "other": scores[1:]}, counts)
    found = runs.difference(ONE, OTHER)

    def statistic(index: numpy.ndarray) -> float:
        drawn = index.astype(int)
        first, second = (f_of(pairs[:, drawn, run], gold[drawn]) for run in (0, 1))
        return first - second

    expected = stats.bootstrap(
        (numpy.arange(len(gold)),), statistic, method="percentile", vectorized=False, rng=0
    ).confidence_interval
    assert found is not None and found.over_sentences
    assert found.mean == pytest.approx(scores[0] - scores[1])
    assert_allclose([found.low, found.high], [expected.low, expected.high], atol=0.008)


def test_pooled_interval_is_that_of_hartung_and_knapp() -> None:
    # Differences of 0.1, 0.2 and 0.6. By hand, with equal weights: the mean is 0.3, the variance
    # of the mean (0.04 + 0.01 + 0.09) / (2 * 3), and t(2) is 4.3027.
    scores = [("x", [0.5, 0.7], [0.4, 0.6]), ("y", [0.6], [0.4]), ("z", [0.7], [0.1])]
    rows = [
        {"dataset": name, "arm": arm, "vectors": "", "after": "", "seed": seed, "dev_f": f}
        for name, *arms in scores
        for arm, of_arm in zip(("one", "other"), arms, strict=True)
        for seed, f in enumerate(of_arm)
    ]
    runs = Runs(pandas.DataFrame(rows, columns=list(COLUMNS)), {})
    cells = [[(Cell(name, "one", "dev_f"), Cell(name, "other", "dev_f"))] for name in "xyz"]
    pooled = runs.pooled(cells)
    assert pooled is not None and pooled.n == 1
    error = 4.3027 * (0.14 / 6) ** 0.5
    assert_allclose(pooled[:3], [0.3, 0.3 - error, 0.3 + error], atol=1e-4)
    one_set = runs.pooled([[*cells[0], *cells[0]]])
    assert one_set is not None and one_set.n == 2 and one_set.low is None
    assert one_set.mean == pytest.approx(0.1)
    missing = Cell("z", "none", "dev_f")
    assert runs.pooled([*cells, [(missing, missing)]]) is None
