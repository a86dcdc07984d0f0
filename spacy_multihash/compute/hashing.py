"""Seeds of hash functions (MurmurHash3 x64 128-bit), and ids of word n-grams."""

from functools import lru_cache
from typing import Any, NamedTuple

import numpy

from ..common.arguments import Count, checked
from ..common.types import Array

MAX_HASHES = 16
# MurmurHash3 starts from seed ^ key length, in bytes. At 0 its two halves stay equal. All four
# words are then functions of one number, and word 0 is always even.
DEAD_SEED = 8
_WORDS = 4  # 32-bit words of a 128-bit hash: a word group
_GOLDEN = 0x9E3779B9  # 2**32 / the golden ratio: multiples of it spread evenly over 32 bits
# The stride of word groups differs from that of columns, and is odd as well. So no word group of
# one column is a word group of another.
_STRIDE = 0x85EBCA6B

# Of MurmurHash3 x64 128-bit, which mixes in 16 bytes at a time, here a pair of ids: multipliers of
# the halves of a pair, what is added to each half of the state, and multipliers of the last mix.
_C1 = numpy.uint64(0x87C37B91114253D5)
_C2 = numpy.uint64(0x4CF5AD432745937F)
_ADD1 = numpy.uint64(0x52DCE729)
_ADD2 = numpy.uint64(0x38495AB5)
_MIX1 = numpy.uint64(0xFF51AFD7ED558CCD)
_MIX2 = numpy.uint64(0xC4CEB9FE1A85EC53)
_FIVE = numpy.uint64(5)
_BYTES = 8  # of an id


@checked
def default_seeds(num_columns: Count) -> list[int]:
    """Return the default hash seed of each column.

    With seed 8, half of the rows of a table stay unused, so it's none of them.

    num_columns (int): Number of columns, one for each attribute.
    RETURNS (list[int]): The seeds.
    """
    return [default_seed(i) for i in range(num_columns)]


def default_seed(column: int) -> int:
    """Return the hash seed of a column, counted from 0. Seeds of neighbours are far apart.

    It is never the dead seed of MurmurHash3.
    """
    return _alive((column + 1) * _GOLDEN)


@checked
def spacy_seeds(num_columns: Count) -> list[int]:
    """Return the hash seeds of spacy.MultiHashEmbed.v2: 8 for the first column, then 9, 10, ...

    num_columns (int): Number of columns, one for each attribute.
    RETURNS (list[int]): The seeds.
    """
    return list(range(8, 8 + num_columns))


def group_seeds(seed: int, num_hashes: int) -> list[int]:
    """Return the seeds of the word groups that `num_hashes` hash functions need.

    A word group is the four 32-bit words of one 128-bit hash, and serves four hash functions. The
    first word group has the given seed, whatever it is. The seeds derived from it are never the
    dead seed of MurmurHash3.
    """
    groups = -(-num_hashes // _WORDS)
    return [seed, *(_alive(seed + i * _STRIDE) for i in range(1, groups))]


def importance_seed(seed: int) -> int:
    """Derive the seed of the importance parameters from the seed of the components.

    It is the seed of the word group after the last one that a layer may need, so the components
    never use it.
    """
    return group_seeds(seed, MAX_HASHES + 1)[-1]


class Hashing(NamedTuple):
    """The hash functions of A columns of ids, each with a table.

    nV (A,) uint32: The number of rows of each table.
    num_hashes (A,) int32: The number of hash functions, 1 to 16.
    seeds (A, 4) uint32: The seeds of the word groups, 0 for those that aren't used.
    """

    nV: numpy.ndarray
    num_hashes: numpy.ndarray
    seeds: numpy.ndarray

    @property
    def columns(self) -> list[tuple[int, int, int]]:
        """The number of rows, of hash functions, and the seed of each column."""
        sizes, numbers = self.nV.tolist(), self.num_hashes.tolist()
        return list(zip(sizes, numbers, self.seeds[:, 0].tolist(), strict=True))


@lru_cache(maxsize=256)
def hashing_of(columns: tuple[tuple[int, int, int], ...]) -> Hashing:
    """Make the hash functions of columns from the rows, number of hashes and seed of each."""
    seeds = numpy.zeros((len(columns), MAX_HASHES // _WORDS), dtype="uint32")
    for row, (_, num_hashes, seed) in zip(seeds, columns, strict=True):
        groups = group_seeds(seed, num_hashes)
        row[: len(groups)] = groups
    sizes, numbers, _ = zip(*columns, strict=True)
    return Hashing(numpy.array(sizes, "uint32"), numpy.array(numbers, "int32"), seeds)


def _alive(seed: int) -> int:
    """Return a seed in the range of uint32 that isn't the dead seed."""
    seed %= 2**32
    return seed if seed != DEAD_SEED else seed ^ _STRIDE


def hash_ngrams_of_order(xp: Any, ids: Array, order: int) -> Array:  # noqa: ANN401 (numpy, CuPy)
    """Hash the n-grams of an order that start at each token, across docs: (N - order + 1,)."""
    number = max(len(ids) - order + 1, 0)
    words = [ids[i : i + number] for i in range(order)]
    h1 = h2 = xp.zeros(number, dtype="uint64")  # the seed, 0
    for first, second in zip(words[::2], words[1::2], strict=False):
        h1 = (_rotate(h1 ^ _rotate(first * _C1, 31) * _C2, 27) + h2) * _FIVE + _ADD1
        h2 = (_rotate(h2 ^ _rotate(second * _C2, 33) * _C1, 31) + h1) * _FIVE + _ADD2
    if order % 2:
        h1 = h1 ^ _rotate(words[-1] * _C1, 31) * _C2
    num_bytes = numpy.uint64(_BYTES * order)
    h1, h2 = h1 ^ num_bytes, h2 ^ num_bytes
    h1 = h1 + h2
    h2 = h2 + h1
    return _mix(h1) + _mix(h2)


def _mix(h: Array) -> Array:
    h = (h ^ (h >> numpy.uint64(33))) * _MIX1
    h = (h ^ (h >> numpy.uint64(33))) * _MIX2
    return h ^ (h >> numpy.uint64(33))


def _rotate(h: Array, bits: int) -> Array:
    return (h << numpy.uint64(bits)) | (h >> numpy.uint64(64 - bits))
