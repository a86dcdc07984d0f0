"""The F1 of a model, and of two models on the same texts, with 95 % intervals.

They're a bootstrap (Efron 1979): each sample draws units, such as sentences, with replacement.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Optional, Union

import numpy

SAMPLES = 1000
_BATCH = 50  # samples at once
_LEVELS, _Z = (2.5, 97.5), 1.96
# Right, spurious and missed entities or labels of a unit.
Counts = tuple[int, int, int]
AllCounts = Union[numpy.ndarray, Sequence[Counts]]
Interval = tuple[float, float]


@dataclass(frozen=True)
class Difference:
    """The F1 of two models on the same texts.

    before, after (float): F1, 0 to 1.
    interval (Optional[Interval]): Contains after - before in 95 % of samples, each of the same
        units for both. None if it's a single value, as for equal predictions.
    """

    before: float
    after: float
    interval: Optional[Interval]

    @property
    def gain(self) -> float:
        """The F1 of the second model less that of the first."""
        return self.after - self.before

    @property
    def winner(self) -> Optional[str]:
        """The model that is better in 95 % of samples, "before" or "after", or None."""
        low, high = self.interval or (0, 0)
        return "after" if low > 0 else "before" if high < 0 else None

    @property
    def in_points(self) -> str:
        """The gain in points, with its interval in brackets."""
        bounds = ", ".join(f"{100 * bound:+.1f}" for bound in self.interval or ())
        return f"{100 * self.gain:+.1f}" + f" [{bounds}]" * bool(bounds)

    def __str__(self) -> str:
        """Return the gain in points, with its interval."""
        bounds = " to ".join(f"{100 * bound:+.1f}" for bound in self.interval or ())
        interval = f"95 % interval {bounds}" if bounds else "without an interval"
        return f"{100 * self.gain:+.1f} points, {interval}"


def compare(before: AllCounts, after: AllCounts) -> Difference:
    """Compare two models by the counts of their predictions in the same units.

    before, after: Right, spurious and missed entities of each unit, (U, 3).
    """
    both = numpy.array([before, after]).reshape(2, -1, 3)
    old, new = f1(both.sum(axis=1)).tolist()
    samples = f1(resample(both))
    return Difference(
        old, new, interval_of(new - old, samples[:, 1] - samples[:, 0], both.shape[1])
    )


def f1_interval(counts: AllCounts) -> Optional[Interval]:
    """Return the range of F1 in 95 % of samples.

    It tells where the F1 of all such units would be, so that it's made wider for few units. The F1
    of another corpus as small as this one varies more. None if the range is a single value, as
    for a perfect score.

    counts: Right, spurious and missed entities of each unit, (U, 3).
    """
    array = numpy.asarray(counts).reshape(-1, 3)
    return interval_of(float(f1(array.sum(axis=0))), f1(resample(array)), len(array), 0, 1)


def f1(counts: numpy.ndarray) -> numpy.ndarray:
    """Return the F1 of right, spurious and missed entities, (..., 3) -> (...)."""
    right, wrong = counts[..., 0], counts[..., 1:].sum(axis=-1)
    return 2 * right / numpy.maximum(2 * right + wrong, 1e-9)


def resample(counts: numpy.ndarray) -> numpy.ndarray:
    """Sum the counts of the units in each sample, (..., U, 3) -> (samples, ..., 3)."""
    generator, units = numpy.random.default_rng(0), counts.shape[-2]
    batches = [draw(units, _BATCH, generator) @ counts for _ in range(SAMPLES // _BATCH)]
    return numpy.concatenate([numpy.moveaxis(batch, -2, 0) for batch in batches])


def draw(units: int, samples: int, generator: numpy.random.Generator) -> numpy.ndarray:
    """Return how often each sample draws each unit, (samples, U) int64."""
    if not units:
        return numpy.zeros((samples, 0), dtype="int64")
    return generator.multinomial(units, numpy.full(units, 1 / units), samples)


def interval_of(
    value: float,
    samples: numpy.ndarray,
    units: int,
    least: float = -1,
    most: float = 1,
) -> Optional[Interval]:
    """Return the range of most samples around a value, or None if it's a single value.

    The variance of samples is too small by 1 / units, and Student's distribution replaces the
    normal one (the first term of its expansion in degrees of freedom).

    least, most (float): The limits of values.
    """
    if units < 2:
        return None
    wider = numpy.sqrt(units / (units - 1)) * (1 + (_Z**2 + 1) / (4 * (units - 1)))
    bounds = value + wider * (numpy.percentile(samples, _LEVELS) - value)
    low, high = numpy.clip(bounds, least, most).tolist()
    return (low, high) if low < high else None
