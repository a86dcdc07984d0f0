"""The rows that seeds lead to, as statistics: what a single hash value cannot show."""

from itertools import combinations

import numpy
import pytest

from spacy_multihash.layers import default_seeds, hash_rows, spacy_seeds

KEYS = numpy.random.default_rng(20221218).integers(0, 2**64, 200_000, dtype="uint64")
SIGMAS = 6  # about 1 in 500 million by chance


def rows_of(seed: int, nV: int, num_hashes: int = 4) -> numpy.ndarray:
    model = hash_rows(nV, attr="NORM", num_hashes=num_hashes, seed=seed)
    return model.predict(KEYS)


def colliding_pairs(columns: numpy.ndarray, nV: int) -> int:
    """Count the pairs of keys that share their rows in all columns (N, n)."""
    joint = numpy.zeros(len(columns), dtype="uint64")
    for column in columns.T:
        joint = joint * numpy.uint64(nV) + column.astype("uint64")
    counts = numpy.unique(joint, return_counts=True)[1]
    return int((counts * (counts - 1) // 2).sum())


def faults(seed: int, nV: int, num_hashes: int = 4) -> list[str]:
    """List what is wrong with a seed: unreached rows, and collisions too far from chance."""
    rows = rows_of(seed, nV, num_hashes)
    found = []
    for i, column in enumerate(rows.T):
        reached = len(numpy.unique(column))
        if reached != nV:
            found.append(f"hash {i} reaches {reached} of {nV} rows")
    pairs = len(KEYS) * (len(KEYS) - 1) / 2
    for n in (2, 3, 4) if num_hashes == 4 else (2,):
        for which in combinations(range(num_hashes), n):
            # Poisson; a count of at most 3 is allowed where next to none is expected.
            expected = pairs / nV**n
            count = colliding_pairs(rows[:, list(which)], nV)
            if abs(count - expected) > SIGMAS * expected**0.5 + 3:
                found.append(f"hashes {which} collide for {count} pairs, chance is {expected:.2g}")
    return found


@pytest.mark.parametrize("nV", [5000, 4999])
@pytest.mark.parametrize("column", range(4))
def test_default_seeds_reach_every_row_and_collide_by_chance(column: int, nV: int) -> None:
    assert faults(default_seeds(4)[column], nV) == []


@pytest.mark.parametrize("nV", [5000, 4999])
def test_further_word_groups_are_independent_of_the_first(nV: int) -> None:
    assert faults(default_seeds(1)[0], nV, num_hashes=8) == []


@pytest.mark.parametrize("nV", [4999, 2501])
@pytest.mark.parametrize("seed", spacy_seeds(4)[1:])
def test_the_other_seeds_of_spacy_are_sound_for_odd_tables(seed: int, nV: int) -> None:
    assert faults(seed, nV) == []


def test_a_seed_near_the_dead_one_collides_half_as_often_again_in_an_even_table() -> None:
    (fault,) = faults(10, 5000)
    assert fault.startswith("hashes (0, 1) collide for 12")  # chance is 800


def test_the_first_seed_of_spacy_reaches_half_of_an_even_table() -> None:
    assert "hash 0 reaches 2500 of 5000 rows" in faults(8, 5000)


@pytest.mark.parametrize("nV", [5000, 2500, 4999, 2501])
def test_the_first_seed_of_spacy_collides_in_all_four_hashes(nV: int) -> None:
    assert any("hashes (0, 1, 2, 3) collide" in fault for fault in faults(8, nV))
