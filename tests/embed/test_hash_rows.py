import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from thinc.api import Ops, to_numpy

from spacy_multihash.compute.dispatch import available_kernels
from spacy_multihash.compute.hashing import DEAD_SEED, group_seeds
from spacy_multihash.layers import default_seed, default_seeds, hash_rows
from tests.helpers.kernels import using_kernels
from tests.helpers.rows import reference_rows

IDS = st.lists(st.integers(0, 2**64 - 1), max_size=40)
SEEDS = st.integers(0, 2**32 - 1)


def rows_of(ids: list[int], nV: int, num_hashes: int, seed: int) -> list[list[int]]:
    model = hash_rows(nV, attr="NORM", num_hashes=num_hashes, seed=seed)
    rows = model.predict(model.ops.asarray(numpy.array(ids, dtype="uint64")))
    return to_numpy(rows).tolist()


@given(ids=IDS, nV=st.integers(1, 2**31 - 1), num_hashes=st.integers(1, 16), seed=SEEDS)
def test_hash_rows_equal_mmh3(ids: list[int], nV: int, num_hashes: int, seed: int) -> None:
    expected = reference_rows(ids, nV, num_hashes, group_seeds(seed, num_hashes))
    for kernels in available_kernels():
        with using_kernels(kernels):
            rows = rows_of(ids, nV, num_hashes, seed)
        assert rows == expected


def test_rows_of_three_ids_never_change(ops: Ops) -> None:
    assert rows_of([0, 1, 2**64 - 1], 5000, 6, 9) == [
        [4173, 2701, 2547, 3714, 3399, 4285],
        [2518, 4464, 2477, 3196, 364, 1855],
        [3815, 329, 1303, 919, 2717, 4679],
    ]


@given(seed=SEEDS)
def test_derived_seeds_are_never_dead(seed: int) -> None:
    first, *derived = group_seeds(seed, 16)
    assert first == seed
    assert len(derived) == 3
    assert DEAD_SEED not in derived


@pytest.mark.parametrize("i", [1, 2, 3])
def test_a_derived_seed_that_would_be_dead_is_replaced(i: int) -> None:
    seed = (DEAD_SEED - i * 0x85EBCA6B) % 2**32
    seeds = group_seeds(seed, 16)
    assert DEAD_SEED not in seeds
    assert len(set(seeds)) == 4


def test_no_word_group_of_one_column_is_one_of_another() -> None:
    seeds = [seed for column in default_seeds(100) for seed in group_seeds(column, 16)]
    assert len(set(seeds)) == 400


def test_default_seeds_differ_and_avoid_the_dead_one() -> None:
    seeds = default_seeds(1000)
    assert len(set(seeds)) == 1000
    assert DEAD_SEED not in seeds
    assert default_seeds(3) == seeds[:3]


def test_default_seed_avoids_the_dead_one_in_the_one_column_that_leads_there() -> None:
    column = DEAD_SEED * pow(0x9E3779B9, -1, 2**32) % 2**32 - 1
    assert default_seed(column) != DEAD_SEED
    assert default_seed(column + 1) == (DEAD_SEED + 0x9E3779B9) % 2**32  # the next is not replaced
