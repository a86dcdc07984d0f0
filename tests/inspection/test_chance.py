"""Closed forms of collisions, against all outcomes."""

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


def in_collision(rows: numpy.ndarray) -> int:
    """Count the symbols, by a plain loop, whose rows another one has."""
    keys = [tuple(row) for row in rows.tolist()]
    return sum(keys.count(key) > 1 for key in keys)


# Counting


@given(rows=ROWS)
def test_symbols_in_collision_have_the_rows_of_another(rows: list[list[int]]) -> None:
    array = numpy.array(rows, dtype="int32")
    assert count_in_collision(array) == in_collision(array)


def test_nothing_is_in_collision_without_symbols() -> None:
    assert count_in_collision(numpy.zeros((0, 2), dtype="int32")) == 0


# Equations (1) to (3)


@pytest.mark.parametrize(
    ("num_symbols", "num_rows", "num_hashes"),
    [
        (0, 2, 1),
        (1, 3, 1),
        (2, 1, 1),
        (2, 2, 1),
        (3, 2, 1),
        (4, 3, 1),
        (5, 2, 1),
        (2, 3, 2),
        (3, 2, 3),
    ],
)
def test_symbols_in_collision_by_chance_are_those_of_all_outcomes(
    num_symbols: int, num_rows: int, num_hashes: int
) -> None:
    outcomes = product(range(num_rows), repeat=num_symbols * num_hashes)
    counts = [in_collision(numpy.reshape(rows, (num_symbols, num_hashes))) for rows in outcomes]
    expected = pytest.approx((mean(counts), pstdev(counts)), abs=1e-9)
    joint = joint_range(num_rows, num_hashes)
    assert in_collision_by_chance(num_symbols, joint) == expected
    assert num_symbols * collision_probability(num_symbols, joint) == pytest.approx(mean(counts))


def test_rows_of_importance_multiply_the_range() -> None:
    outcomes = product(range(2), range(2), range(3), repeat=3)  # two hashes, and importance
    counts = [in_collision(numpy.reshape(rows, (3, 3))) for rows in outcomes]
    joint = joint_range(2, 2, importance_rows=3)
    assert in_collision_by_chance(3, joint) == pytest.approx((mean(counts), pstdev(counts)))


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
