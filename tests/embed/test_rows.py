"""From ids to rows of tables: hashed as by mmh3, or looked up as in a dict."""

from collections.abc import Callable
from itertools import combinations
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from thinc.api import Model, Ops, to_numpy

from spacy_multihash.compute.dispatch import available_kernels
from spacy_multihash.compute.hashing import DEAD_SEED, group_seeds
from spacy_multihash.layers import (
    Symbols,
    default_seed,
    default_seeds,
    hash_rows,
    lookup_rows,
    spacy_seeds,
)
from tests.helpers.features import reference_rows
from tests.helpers.kernels import using_kernels

IDS = st.integers(0, 2**64 - 1)
SEEDS = st.integers(0, 2**32 - 1)


def hashed(nV: int, num_hashes: int, seed: int) -> Model:
    return hash_rows(nV, attr="NORM", num_hashes=num_hashes, seed=seed)


def looked_up(symbols: list[int], unk_dropout: float = 0.0) -> Model:
    model = lookup_rows(attr="NORM", unk_dropout=unk_dropout)
    model.attrs["symbols"] = Symbols.from_ordered(numpy.array(symbols, dtype="uint64"))
    return model


def rows_of(model: Model, ids: list[int]) -> list[list[int]]:
    return to_numpy(model.predict(model.ops.asarray(numpy.array(ids, dtype="uint64")))).tolist()


@given(
    ids=st.lists(IDS, max_size=40),
    nV=st.integers(1, 2**31 - 1),
    num_hashes=st.integers(1, 16),
    seed=SEEDS,
)
def test_hash_rows_equal_mmh3(ids: list[int], nV: int, num_hashes: int, seed: int) -> None:
    expected = reference_rows(ids, nV, num_hashes, group_seeds(seed, num_hashes))
    for kernels in available_kernels():
        with using_kernels(kernels):
            assert rows_of(hashed(nV, num_hashes, seed), ids) == expected


def test_rows_of_three_ids_never_change(ops: Ops) -> None:
    assert rows_of(hashed(5000, 6, 9), [0, 1, 2**64 - 1]) == [
        [4173, 2701, 2547, 3714, 3399, 4285],
        [2518, 4464, 2477, 3196, 364, 1855],
        [3815, 329, 1303, 919, 2717, 4679],
    ]


# Seeds


@given(seed=SEEDS)
def test_derived_seeds_are_never_dead(seed: int) -> None:
    first, *derived = group_seeds(seed, 16)
    assert first == seed
    assert len(derived) == 3
    assert DEAD_SEED not in derived


@pytest.mark.parametrize("i", [1, 2, 3])
def test_a_derived_seed_that_would_be_dead_is_replaced(i: int) -> None:
    seeds = group_seeds((DEAD_SEED - i * 0x85EBCA6B) % 2**32, 16)
    assert DEAD_SEED not in seeds
    assert len(set(seeds)) == 4


def test_default_seeds_differ_and_avoid_the_dead_one() -> None:
    seeds = default_seeds(1000)
    assert DEAD_SEED not in seeds
    assert len({seed for column in seeds[:100] for seed in group_seeds(column, 16)}) == 400
    assert len(set(seeds)) == 1000
    # The one column that would lead there
    column = DEAD_SEED * pow(0x9E3779B9, -1, 2**32) % 2**32 - 1
    assert default_seed(column) != DEAD_SEED
    assert default_seed(column + 1) == (DEAD_SEED + 0x9E3779B9) % 2**32


# The rows that seeds lead to, as statistics: what a single hash value cannot show

KEYS = numpy.random.default_rng(20221218).integers(0, 2**64, 200_000, dtype="uint64")
SIGMAS = 6  # about 1 in 500 million by chance


def colliding_pairs(columns: numpy.ndarray, nV: int) -> int:
    """Count the pairs of keys that share their rows in all columns (N, n)."""
    joint = numpy.zeros(len(columns), dtype="uint64")
    for column in columns.T:
        joint = joint * numpy.uint64(nV) + column.astype("uint64")
    counts = numpy.unique(joint, return_counts=True)[1]
    return int((counts * (counts - 1) // 2).sum())


def faults(seed: int, nV: int, num_hashes: int = 4) -> list[str]:
    """List what is wrong with a seed: unreached rows, and collisions too far from chance."""
    rows, problems = hashed(nV, num_hashes, seed).predict(KEYS), []
    for i, column in enumerate(rows.T):
        reached = len(numpy.unique(column))
        if reached != nV:
            problems.append(f"hash {i} reaches {reached} of {nV} rows")
    pairs = len(KEYS) * (len(KEYS) - 1) / 2
    for n in (2, 3, 4) if num_hashes == 4 else (2,):
        for which in combinations(range(num_hashes), n):
            # Poisson; a count of at most 3 is allowed where next to none is expected.
            expected, count = pairs / nV**n, colliding_pairs(rows[:, list(which)], nV)
            if abs(count - expected) > SIGMAS * expected**0.5 + 3:
                problems.append(f"hashes {which} collide for {count} pairs, not {expected:.2g}")
    return problems


@pytest.mark.parametrize(
    ("seed", "nV", "num_hashes"),
    [
        *((seed, nV, 4) for seed in default_seeds(4) for nV in (5000, 4999)),
        *((default_seed(0), nV, 8) for nV in (5000, 4999)),
        *((seed, nV, 4) for seed in spacy_seeds(4)[1:] for nV in (4999, 2501)),  # odd tables
    ],
)
def test_seeds_reach_every_row_and_collide_by_chance(seed: int, nV: int, num_hashes: int) -> None:
    assert faults(seed, nV, num_hashes) == []


@pytest.mark.parametrize("nV", [5000, 2500, 4999, 2501])
def test_the_first_seed_of_spacy_is_dead(nV: int) -> None:
    problems = faults(8, nV)
    assert any("hashes (0, 1, 2, 3) collide" in problem for problem in problems)
    assert (f"hash 0 reaches {nV // 2} of {nV} rows" in problems) == (nV % 2 == 0)


def test_a_seed_near_the_dead_one_collides_half_as_often_again_in_an_even_table() -> None:
    (problem,) = faults(10, 5000)
    assert problem.startswith("hashes (0, 1) collide for 12")  # chance is 800


# Lookup


@given(
    symbols=st.lists(IDS, min_size=1, max_size=30, unique=True),
    others=st.lists(IDS, max_size=10),
    data=st.data(),
)
def test_lookup_rows_equal_a_dict(
    symbols: list[int], others: list[int], data: st.DataObject
) -> None:
    row_of = {symbol: i + 1 for i, symbol in enumerate(symbols)}
    ids = data.draw(st.permutations(symbols + others))
    for kernels in available_kernels():
        with using_kernels(kernels):
            assert rows_of(looked_up(symbols), list(ids)) == [[row_of.get(i, 0)] for i in ids]


def test_unk_dropout_takes_its_share_as_unknown_in_training(ops: Ops) -> None:
    ids = ops.asarray(numpy.full(10_000, 3, dtype="uint64"))
    rows, _ = looked_up([3], unk_dropout=0.25).begin_update(ids)
    # 10,000 draws at 0.25: 5 standard deviations are 217
    assert 2500 - 217 < int((rows == 0).sum()) < 2500 + 217
    assert set(to_numpy(rows).ravel().tolist()) == {0, 1}
    assert rows_of(looked_up([3], unk_dropout=0.9), [3] * 50) == [[1]] * 50


@pytest.mark.parametrize("other", [[4, 9], [9, 4, 6]])
def test_another_table_cannot_be_loaded_over_one(other: list[int]) -> None:
    model = looked_up([9, 4])
    with pytest.raises(
        ValueError, match=r"of NORM: it holds a table of 2 symbols, .* trained with another"
    ):
        model.from_bytes(looked_up(other).to_bytes())
    assert rows_of(model, [9, 4]) == [[1], [2]]


@pytest.mark.parametrize("dtype", ["uint64", "int64"])
def test_large_ids_are_told_apart(dtype: str, ops: Ops) -> None:
    # As floats, the first two would be one number
    symbols = numpy.array([2**53, 2**53 + 1, 2**53 + 2], dtype=dtype)
    model = looked_up(symbols[:2].tolist())
    assert to_numpy(model.predict(ops.asarray(symbols))).tolist() == [[1], [2], [0]]


def test_symbols_of_a_signed_type_are_ordered_as_unsigned() -> None:
    table = Symbols.from_ordered(numpy.array([-1, 5, 3], dtype="int64"))
    assert table.keys.tolist() == [3, 5, 2**64 - 1]
    assert table.rows.tolist() == [3, 2, 1]


@pytest.mark.parametrize(
    ("use", "message"),
    [
        (lambda: looked_up([3, 7, 5, 7]), "must have each id once, got 7 twice"),
        (lambda: lookup_rows(attr="NORM", unk_dropout=1.0), "unk_dropout .* got 1.0 .*NORM"),
        (lambda: lookup_rows(attr="SHAPE").initialize(), "of SHAPE has no table of values"),
        (lambda: rows_of(lookup_rows(attr="SHAPE"), [1]), "spacy-multihash.init_tables.v1"),
    ],
)
def test_lookup_is_refused(use: Callable[[], Any], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        use()
