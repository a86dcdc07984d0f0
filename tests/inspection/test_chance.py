"""Closed forms of collisions, against all outcomes, and against simulated hashing."""

import math
from itertools import product
from statistics import mean, pstdev

import numpy
import pytest
from hypothesis import given

from spacy_multihash.inspection.chance import (
    collision_probability,
    count_in_collision,
    in_collision_by_chance,
    joint_range,
)
from tests.helpers.rows import ROWS

SEED = 20170913
TRIALS = 400
# Of the mean of a simulation: about 1 in 15,000 by chance, and the seed is fixed.
MAX_ERRORS = 4


def in_collision(rows: numpy.ndarray) -> int:
    """Count the symbols, by a plain loop, whose rows another one has."""
    keys = [tuple(row) for row in rows.tolist()]
    return sum(keys.count(key) > 1 for key in keys)


def hash_symbols(
    rng: numpy.random.Generator, num_symbols: int, num_rows: int, num_hashes: int
) -> numpy.ndarray:
    """Give each symbol rows (V, k) by independent uniform hash functions."""
    return rng.integers(0, num_rows, (num_symbols, num_hashes))


def check_simulation(counts: list[int], expected: tuple[float, float]) -> None:
    """Compare the mean and the standard deviation of simulated counts with those expected."""
    assert expected[1] > 0
    error = expected[1] / math.sqrt(len(counts))
    assert abs(mean(counts) - expected[0]) < MAX_ERRORS * error
    assert pstdev(counts) == pytest.approx(expected[1], rel=0.2)


# Counting


@given(rows=ROWS)
def test_symbols_in_collision_have_the_rows_of_another(rows: list[list[int]]) -> None:
    array = numpy.array(rows, dtype="int32")
    assert count_in_collision(array) == in_collision(array)


def test_nothing_is_in_collision_without_symbols() -> None:
    assert count_in_collision(numpy.zeros((0, 2), dtype="int32")) == 0


# Equations (1) to (3)


@pytest.mark.parametrize(
    ("num_symbols", "num_rows"),
    [(0, 2), (1, 1), (1, 3), (2, 1), (2, 2), (3, 1), (3, 2), (2, 3), (4, 3), (5, 2)],
)
def test_symbols_in_collision_by_chance_are_those_of_all_outcomes(
    num_symbols: int, num_rows: int
) -> None:
    outcomes = product(range(num_rows), repeat=num_symbols)
    counts = [in_collision(numpy.reshape(outcome, (-1, 1))) for outcome in outcomes]
    expected = pytest.approx((mean(counts), pstdev(counts)), abs=1e-9)
    assert in_collision_by_chance(num_symbols, num_rows) == expected
    p_col = collision_probability(num_symbols, num_rows)
    assert num_symbols * p_col == pytest.approx(mean(counts))


def test_probability_is_that_of_the_paper() -> None:
    """Its example: |T| = 100M tokens, B = 1M, and k = 1 or 2 hash functions."""
    one, two = (collision_probability(10**8, joint_range(10**6, k)) for k in (1, 2))
    assert one == pytest.approx(1)
    assert two == pytest.approx(0.0001, rel=1e-3)


@pytest.mark.parametrize("num_symbols", [2, 10**5, 10**9])
def test_rare_collisions_are_not_lost_to_rounding(num_symbols: int) -> None:
    outcomes = joint_range(2**31 - 1, 16, importance_rows=2**31 - 1)
    rate = num_symbols / outcomes
    assert collision_probability(num_symbols, outcomes) == pytest.approx(
        (num_symbols - 1) / outcomes, rel=1e-9
    )
    # Next to none: each pair brings two symbols, so that the variance is twice the mean.
    expected, sd = in_collision_by_chance(num_symbols, outcomes)
    assert expected == pytest.approx((num_symbols - 1) * rate)
    assert sd == pytest.approx(math.sqrt(2 * expected))


# Simulations of section 4


@pytest.mark.parametrize(("num_rows", "num_hashes"), [(500, 1), (30, 2), (12, 3)])
def test_simulated_hashes_collide_as_often_as_expected(num_rows: int, num_hashes: int) -> None:
    rng = numpy.random.default_rng(SEED)
    counts = [
        count_in_collision(hash_symbols(rng, 300, num_rows, num_hashes)) for _ in range(TRIALS)
    ]
    outcomes = joint_range(num_rows, num_hashes)
    check_simulation(counts, in_collision_by_chance(300, outcomes))


def test_independent_importance_multiplies_the_range() -> None:
    rng = numpy.random.default_rng(SEED)
    counts = [
        count_in_collision(
            numpy.hstack([hash_symbols(rng, 400, 20, 2), hash_symbols(rng, 400, 50, 1)])
        )
        for _ in range(TRIALS)
    ]
    outcomes = joint_range(20, 2, importance_rows=50)
    assert outcomes == 20**2 * 50
    check_simulation(counts, in_collision_by_chance(400, outcomes))


def test_only_important_symbols_count_and_the_exponential_has_the_other_sign() -> None:
    """|T_imp| * (1 - exp(-|T_imp| / B)) important tokens collide, not |T_imp| * exp(...)."""
    rng = numpy.random.default_rng(SEED)
    num_symbols, num_important, B = 2000, 150, 400
    counts = []
    for _ in range(TRIALS):
        rows = hash_symbols(rng, num_symbols, B, 1)
        important = rng.permutation(num_symbols)[:num_important]
        counts.append(count_in_collision(rows[important]))
    expected, sd = in_collision_by_chance(num_important, joint_range(B))
    check_simulation(counts, (expected, sd))
    equations_2_and_3 = num_important * -math.expm1(-num_important / B)
    as_printed = num_important * math.exp(-num_important / B)
    assert expected == pytest.approx(equations_2_and_3, rel=0.01)
    assert abs(mean(counts) - equations_2_and_3) < 0.1 * sd
    assert abs(mean(counts) - as_printed) > 5 * sd
    assert as_printed == pytest.approx(num_important - equations_2_and_3)
