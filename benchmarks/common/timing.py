"""Times of arms that run in turns, and their ratios."""

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Optional

import numpy
from threadpoolctl import threadpool_limits

from spacy_multihash.compute.blas import num_threads, set_products

ONE, ALL = "1 thread", "all threads"
# Milliseconds of each round, by the name of what was timed.
Times = Mapping[str, numpy.ndarray]
# Gets the number of the round, prepares what is needed, and returns the call that is timed.
Step = Callable[[int], Callable[[], object]]


@dataclass(frozen=True)
class Ratio:
    """The median quotient of two times that were taken in the same rounds.

    low, high: Its 95 % interval, by bootstrap over the rounds.
    """

    low: float
    median: float
    high: float

    def __str__(self) -> str:
        """Show the median, and the interval behind it."""
        return f"{self.median:.2f} ({self.low:.2f}-{self.high:.2f})"


def ratio(times: numpy.ndarray, others: numpy.ndarray, *, resamples: int = 2000) -> Ratio:
    """Estimate the median of times (rounds,) divided by other times of the same rounds."""
    quotients = times / others
    rng = numpy.random.default_rng(0)
    medians = numpy.median(rng.choice(quotients, (resamples, len(quotients))), axis=1)
    low, high = numpy.percentile(medians, [2.5, 97.5])
    return Ratio(float(low), float(numpy.median(quotients)), float(high))


def time_rounds(
    steps: Mapping[str, Step], *, rounds: int, rng: random.Random, warm_up: int = 2
) -> Times:
    """Time each step once in each round, in an order that is drawn anew for each round.

    The rounds to warm up come first, and are not timed.
    """
    times = {name: numpy.zeros(rounds) for name in steps}
    for i in range(-warm_up, rounds):
        for name in rng.sample(list(steps), len(steps)):
            run = steps[name](i)
            start = time.perf_counter()
            run()
            if i >= 0:
                times[name][i] = (time.perf_counter() - start) * 1000
    return times


def list_times(times: Times) -> dict[str, list[float]]:
    """List milliseconds for the results, with four decimals."""
    return {name: [round(float(ms), 4) for ms in each] for name, each in times.items()}


def words_per_second(words: Sequence[int], times: numpy.ndarray) -> float:
    """Compute the median speed of rounds that take batches in turn.

    words (Sequence[int]): The number of words of each batch.
    times (numpy.ndarray): Milliseconds of each round (rounds,).
    """
    return float(numpy.median(numpy.resize(words, len(times)) / times)) * 1000


@contextmanager
def limit_threads(threads: Optional[int]) -> Iterator[int]:
    """Limit the threads of our matrix products and of every BLAS, and yield their number.

    threads (Optional[int]): The number of threads. None sets no limit.
    """
    former = set_products("auto" if threads is None else f"auto:{threads}")
    try:
        with threadpool_limits(limits=threads, user_api="blas"):
            yield num_threads()
    finally:
        set_products(former)
