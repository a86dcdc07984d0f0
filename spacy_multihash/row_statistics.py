"""How often the symbols of a corpus share rows, counted and expected by chance.

Chance is independent uniform hashing: each of the k hash functions of a table of n rows takes each
of V symbols to any row with probability 1 / n. Hash functions are compared by position: two symbols
collide in j hashes if exactly j of the k functions take both to the same row.
"""

from math import comb, sqrt

import numpy

from .layers.with_token_types import distinct_rows


def unreached_by_chance(num_rows: int, num_draws: int) -> tuple[float, float]:
    """Return mean and standard deviation of the rows that no draw falls on."""
    one = (1 - 1 / num_rows) ** num_draws  # a given row is not reached
    two = (1 - 2 / num_rows) ** num_draws if num_rows > 1 else 0.0  # nor is another one
    variance = num_rows * one * (1 - one) + num_rows * (num_rows - 1) * (two - one**2)
    return num_rows * one, sqrt(max(variance, 0.0))


def pairs_by_chance(
    num_symbols: int, num_rows: int, num_hashes: int, collisions: int
) -> tuple[float, float]:
    """Return mean and standard deviation of the pairs of symbols that collide in so many hashes.

    What one pair does tells nothing about another, also if they have a symbol in common.
    """
    p = 1 / num_rows
    p = comb(num_hashes, collisions) * p**collisions * (1 - p) ** (num_hashes - collisions)
    mean = comb(num_symbols, 2) * p
    return mean, sqrt(mean * (1 - p))


def colliding_pairs(rows: numpy.ndarray) -> list[int]:
    """Count the pairs of symbols that collide in exactly j hashes, for j = 1, ..., K.

    Pairs that agree in a given set of columns are counted by sorting, and the numbers of all sets
    lead to that of exactly j (inclusion and exclusion). A set whose pairs all differ ends the
    search of the sets around it, so that few of the 2 ** K are looked at.

    rows (numpy.ndarray): (V, K) rows of the symbols.
    """
    num_symbols, num_hashes = rows.shape
    agreeing = [0] * (num_hashes + 1)  # by size of the set: pairs that agree in it, over all sets
    start = numpy.zeros(num_symbols, dtype="int64")
    num_rows = int(rows.max(initial=0)) + 1
    # Symbols, the groups of them that agree so far, the size of the set, and its next column.
    stack = [(numpy.arange(num_symbols), start, 0, 0)]
    while stack:
        members, groups, size, first = stack.pop()
        for column in range(first, num_hashes):
            joint = groups * num_rows + rows[members, column]
            _, finer, counts = numpy.unique(joint, return_inverse=True, return_counts=True)
            shared = counts[finer] > 1
            if shared.any():
                agreeing[size + 1] += int((counts * (counts - 1) // 2).sum())
                stack.append((members[shared], finer[shared], size + 1, column + 1))
    return [
        sum((-1) ** (m - j) * comb(m, j) * agreeing[m] for m in range(j, num_hashes + 1))
        for j in range(1, num_hashes + 1)
    ]


def count_indistinguishable(rows: numpy.ndarray) -> int:
    """Count the symbols whose rows (V, K) are, in some order, those of another symbol."""
    _, group_of = distinct_rows(numpy.sort(rows, axis=1).astype("uint64"))
    return int((numpy.bincount(group_of)[group_of] > 1).sum())
