"""Time arms in turns, and compute ratios."""

import time
from collections.abc import Callable, Mapping, Sequence
from statistics import median, quantiles
from typing import NamedTuple

Step = Callable[[], object]
WARM_UP = 2
MIN_ROUNDS = 5
MAX_ROUNDS = 200


class Ratio(NamedTuple):
    """The median of ratios, and the range of the middle 80 %."""

    low: float
    median: float
    high: float

    def __str__(self) -> str:
        """Return the median, and the range if there's more than one round."""
        if self.low == self.high:
            return f"{self.median:.2f}"
        return f"{self.median:.2f} ({self.low:.2f}-{self.high:.2f})"


def time_arms(
    arms: Mapping[str, Step],
    seconds: float,
    *,
    warm_up: int = WARM_UP,
    max_rounds: int = MAX_ROUNDS,
    pause: float = 0.0,
    prepare: Callable[[], object] = lambda: None,
    clock: Callable[[], float] = time.perf_counter,
) -> dict[str, list[float]]:
    """Time the arms in turns, in rounds, until a time budget is used up.

    Every second round goes through the arms in reverse order. At least 5 rounds are timed, unless
    `max_rounds` is lower.

    arms (Mapping[str, Step]): What to time, by name.
    seconds (float): The time budget, in which `warm_up` untimed rounds don't count.
    pause (float): Seconds before each arm. The threads of OpenBLAS keep their cores busy for a
        while after a product.
    prepare (Callable): Called before each arm, and not timed.
    RETURNS (dict[str, list[float]]): Seconds of each round, by name.
    """
    for _ in range(warm_up):
        for step in arms.values():
            prepare()
            step()
    times: dict[str, list[float]] = {name: [] for name in arms}
    end = clock() + seconds
    for number in range(max_rounds):
        if number >= MIN_ROUNDS and clock() >= end:
            break
        for name in list(arms)[:: -1 if number % 2 else 1]:
            prepare()
            time.sleep(pause)
            start = clock()
            arms[name]()
            times[name].append(clock() - start)
    return times


def ratio_of(base: Sequence[float], values: Sequence[float]) -> Ratio:
    """Divide values of the same rounds, and describe the quotients."""
    ratios = [b / v for b, v in zip(base, values, strict=True)]
    low, high = ratios[0], ratios[0]
    if len(ratios) > 1:
        deciles = quantiles(ratios, n=10, method="inclusive")
        low, high = deciles[0], deciles[-1]
    return Ratio(low, median(ratios), high)
