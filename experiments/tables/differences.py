"""Differences of our numbers, with their intervals."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import sqrt
from statistics import mean, stdev
from typing import Optional

from experiments.tables.statistics import Stat


@dataclass(frozen=True)
class Difference:
    """A difference of means, and half the width of its 95 % interval, or None if it is unknown."""

    value: float
    margin: Optional[float]


def difference(first: Optional[Stat], second: Optional[Stat]) -> Optional[Difference]:
    """Return the first number minus the second, or None if one is missing.

    The interval is that of Welch's test, for means whose deviations may differ.
    """
    return mean_difference([(first, second)])


def mean_difference(
    pairs: Sequence[tuple[Optional[Stat], Optional[Stat]]],
) -> Optional[Difference]:
    """Return the mean of first numbers minus second ones, or None if a number is missing.

    The interval is for other seeds on the same data sets, with Welch and Satterthwaite's degrees of
    freedom.
    """
    from scipy.stats import t

    values, squares, is_known = list[float](), list[tuple[float, int]](), True
    for first, second in pairs:
        if first is None or second is None:
            return None
        values.append(first.mean - second.mean)
        for stat in (first, second):
            is_known = is_known and stat.sd is not None
            if stat.sd:
                squares.append((stat.sd**2 / stat.n / len(pairs) ** 2, stat.n - 1))
    if not is_known:
        return Difference(mean(values), None)
    error, margin = sum(square for square, _ in squares), 0.0
    if error:
        freedom = error**2 / sum(square**2 / n for square, n in squares)
        margin = float(t.ppf(0.975, freedom)) * sqrt(error)
    return Difference(mean(values), margin)


def paired(differences: Sequence[float]) -> Optional[Difference]:
    """Return the mean difference of pairs and its interval, or None if there are less than two."""
    from scipy.stats import t

    n = len(differences)
    if n < 2:
        return None
    value = mean(differences)
    return Difference(value, float(t.ppf(0.975, n - 1)) * stdev(differences, value) / sqrt(n))
