"""How often the symbols of a corpus share rows, counted and expected by chance.

Chance is independent uniform hashing: each of the k hash functions of a table of n rows takes each
of V symbols to any row with probability 1 / n. Hash functions are compared by position: two symbols
collide in j hashes if exactly j of the k functions take both to the same row. A symbol is in
collision if another one has the same rows, in all hashes.
"""

from math import comb, exp, expm1, inf, log1p, sqrt
from typing import Optional

import numpy

from ..embed.with_token_types import distinct_rows


def unreached_by_chance(num_rows: int, num_draws: int) -> tuple[float, float]:
    """Return mean and standard deviation of the rows that no draw falls on."""
    one = (1 - 1 / num_rows) ** num_draws  # a given row is not reached
    two = (1 - 2 / num_rows) ** num_draws if num_rows > 1 else 0.0  # nor is another one
    variance = num_rows * one * (1 - one) + num_rows * (num_rows - 1) * (two - one**2)
    return num_rows * one, sqrt(max(variance, 0.0))


def pairs_by_chance(
    num_symbols: int,
    num_rows: int,
    num_hashes: int,
    collisions: int,
    *,
    group_sizes: Optional[numpy.ndarray] = None,
) -> tuple[float, float]:
    """Return mean and standard deviation of the pairs of symbols that collide in so many hashes.

    What one pair does tells nothing about another, also if they have a symbol in common.

    group_sizes (Optional[numpy.ndarray]): (G,) sizes of the groups of symbols that are hashed as
        one, and collide in all hashes. None if each symbol is hashed by itself.
    """
    p = 1 / num_rows
    p = comb(num_hashes, collisions) * p**collisions * (1 - p) ** (num_hashes - collisions)
    within, across = 0, comb(num_symbols, 2)
    squares = float(across)
    if group_sizes is not None:
        sizes = group_sizes.astype("float64")
        within = int((group_sizes * (group_sizes - 1) // 2).sum())
        across -= within
        # Two groups collide as a whole, in so many pairs: the sum of their squares.
        squares = (float((sizes**2).sum()) ** 2 - float((sizes**4).sum())) / 2
    mean = across * p + within * (collisions == num_hashes)
    return mean, sqrt(squares * p * (1 - p))


def joint_range(
    num_rows: int,
    num_hashes: int = 1,
    *,
    importance_rows: Optional[int] = None,
    independent: bool = True,
) -> float:
    """Return among how many outcomes a symbol falls: the range of a single hash as good as all.

    Svenstrup et al. 2017, section 4: k hash functions of range B make one of range B ** k. The row
    of importance parameters multiplies it by K if it is found by another hash function, their
    section 6. If it is the row of importance that is hashed to components, their single D1, symbols
    of one row are the same, and all others differ in importance: the range is K, whatever B and k.

    num_rows (int): Number of component vectors, B.
    num_hashes (int): Number of hash functions, k.
    importance_rows (Optional[int]): Number of rows of importance parameters, K. None without.
    independent (bool): Whether components are found by hashing the symbol itself.
    """
    if importance_rows is not None and not independent:
        return float(importance_rows)
    return float(num_rows) ** num_hashes * (importance_rows or 1)


def collision_probability(num_symbols: int, outcomes: float) -> float:
    """Return the probability that a symbol is in collision: p_col, equation (1) of section 4.

    p_col = 1 - (1 - 1 / K) ** (|T| - 1), about 1 - exp(-|T| / K) as in equation (2).

    num_symbols (int): Number of symbols, itself included, |T|.
    outcomes (float): The range of the hash functions, K; see joint_range.
    """
    return -expm1(_log_alone(num_symbols, outcomes))


def in_collision_by_chance(
    num_symbols: int, outcomes: float, *, group_sizes: Optional[numpy.ndarray] = None
) -> tuple[float, float]:
    """Return mean and standard deviation of the symbols in collision.

    The mean is C_tot = |T| * p_col, equation (3) of section 4. Where unimportant symbols do not
    count, |T| is |T_imp|, the number of the important ones, and the mean is by equations (2) and
    (3) about |T_imp| * (1 - exp(-|T_imp| / B)), which simulation confirms. The paper prints
    |T_imp| * exp(-|T_imp| / B) there: those are the important symbols that are in no collision.

    num_symbols (int): Number of symbols, |T|.
    outcomes (float): The range of the hash functions, K; see joint_range.
    group_sizes (Optional[numpy.ndarray]): (G,) sizes of the groups of symbols that are hashed as
        one: those of more than one symbol are in collision anyway. None if there are no groups.
    """
    single = hashed = num_symbols
    if group_sizes is not None:
        single, hashed = int((group_sizes == 1).sum()), len(group_sizes)
    mean = num_symbols - single + single * collision_probability(hashed, outcomes)
    if min(single, hashed - 1) < 1 or outcomes == 1:
        return mean, 0.0
    alone = exp(_log_alone(hashed, outcomes))
    # How much likelier two symbols are alone together than each by itself, as a logarithm.
    gain = -log1p(-1 / outcomes)
    if hashed > 2:
        gain += (hashed - 2) * (log1p(-((outcomes - 1) ** -2)) if outcomes > 2 else -inf)
    variance = single * alone * (1 - alone) + single * (single - 1) * alone**2 * expm1(gain)
    return mean, sqrt(max(variance, 0.0))


def _log_alone(num_symbols: int, outcomes: float) -> float:
    """Return the logarithm of the probability that a symbol is in no collision."""
    if num_symbols < 2:
        return 0.0
    return (num_symbols - 1) * (log1p(-1 / outcomes) if outcomes > 1 else -inf)


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


def count_in_collision(rows: numpy.ndarray) -> int:
    """Count the symbols whose rows (V, K) are, in the same order, those of another symbol."""
    _, group_of = distinct_rows(rows.astype("uint64"))
    return int((numpy.bincount(group_of)[group_of] > 1).sum())


def count_indistinguishable(rows: numpy.ndarray) -> int:
    """Count the symbols whose rows (V, K) are, in some order, those of another symbol."""
    return count_in_collision(numpy.sort(rows, axis=1))
