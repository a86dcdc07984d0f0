import random
from collections.abc import Callable

import numpy

from benchmarks.common.timing import limit_threads, list_times, ratio, time_rounds, words_per_second


def test_ratio_is_the_median_of_quotients_of_rounds() -> None:
    # the quotients are 2, 4 and 1, and not those of the medians
    times, others = numpy.array([2.0, 40.0, 6.0]), numpy.array([1.0, 10.0, 6.0])
    assert ratio(times, others).median == 2.0


def test_ratio_of_a_constant_has_an_interval_of_one_point() -> None:
    assert str(ratio(numpy.full(9, 3.0), numpy.full(9, 2.0))) == "1.50 (1.50-1.50)"


def test_ratio_has_the_same_interval_each_time() -> None:
    times = numpy.random.default_rng(1).uniform(1, 2, 20)
    assert ratio(times, numpy.ones(20)) == ratio(times, numpy.ones(20))


def test_ratio_interval_holds_the_true_median_19_times_in_20() -> None:
    rng = numpy.random.default_rng(0)
    ones, hits = numpy.ones(21), 0
    for _ in range(300):
        found = ratio(rng.lognormal(0, 0.3, 21), ones, resamples=400)
        hits += found.low <= 1 <= found.high
    # the bootstrap of a median is a little too wide or too narrow for 21 rounds
    assert 0.90 <= hits / 300 <= 0.99


def test_time_rounds_times_what_a_step_returns_and_not_its_preparation() -> None:
    calls: list[tuple[str, int]] = []

    def make_step(name: str) -> Callable[[int], Callable[[], object]]:
        return lambda i: lambda: calls.append((name, i))

    steps = {name: make_step(name) for name in "ab"}
    times = time_rounds(steps, rounds=3, rng=random.Random(0), warm_up=1)
    assert sorted(calls) == [(name, i) for name in "ab" for i in (-1, 0, 1, 2)]
    # in turns: both of a round before any of the next
    assert [i for _, i in calls] == [-1, -1, 0, 0, 1, 1, 2, 2]
    assert {name: len(all_) for name, all_ in times.items()} == {"a": 3, "b": 3}


def test_limit_threads_gives_the_former_setting_back() -> None:
    with limit_threads(None) as before:
        pass
    with limit_threads(1) as threads:
        assert threads == 1
    with limit_threads(None) as after:
        assert after == before


def test_times_are_listed_with_four_decimals() -> None:
    assert list_times({"a": numpy.array([1.23456, 2.0])}) == {"a": [1.2346, 2.0]}


def test_words_per_second_are_the_median_of_rounds_that_take_batches_in_turn() -> None:
    # 10, 20 and 10 words in 1, 4 and 2 ms: 10, 5 and 5 a ms
    assert words_per_second([10, 20], numpy.array([1.0, 4.0, 2.0])) == 5000
