"""How often the symbols of a corpus share rows, counted and expected by chance.

Chance is independent uniform hashing: each of the k hash functions of a table of n rows takes each
of V symbols to any row with probability 1 / n. Hash functions are compared by position: two symbols
collide in j hashes if exactly j of the k functions take both to the same row. A symbol is in
collision if another symbol has the same rows, in all hashes.
"""

from math import comb, exp, expm1, inf, log1p, sqrt
from typing import Optional

import numpy

from ..compute.hashing import distinct_rows


def unreached_by_chance(num_rows: int, num_draws: int) -> tuple[float, float]:
    """Return mean and standard deviation of the number of rows that no draw hits."""
    if num_rows == 1 or num_draws == 0:
        return (0.0 if num_draws else float(num_rows)), 0.0
    # Logarithms, since the terms of large tables differ by less than a float's precision.
    log_one = num_draws * log1p(-1 / num_rows)
    one = exp(log_one)  # the probability that no draw hits a given row
    # Two rows depend on each other: (1 - 2 / n) / (1 - 1 / n)**2 = 1 - 1 / (n - 1)**2 a draw.
    log_ratio = num_draws * log1p(-((num_rows - 1) ** -2)) if num_rows > 2 else -inf
    covariance = one**2 * expm1(log_ratio)
    variance = num_rows * (-one * expm1(log_one) + (num_rows - 1) * covariance)
    return num_rows * one, sqrt(max(variance, 0.0))


def pairs_by_chance(
    num_symbols: int, num_rows: int, num_hashes: int, collisions: int
) -> tuple[float, float]:
    """Return mean and standard deviation of the pairs that collide in exactly `collisions` hashes.

    Pairs are independent of each other, even if they have a symbol in common.
    """
    p = 1 / num_rows
    p = comb(num_hashes, collisions) * p**collisions * (1 - p) ** (num_hashes - collisions)
    pairs = comb(num_symbols, 2)
    return pairs * p, sqrt(float(pairs) * p * (1 - p))


def joint_range(
    num_rows: int, num_hashes: int = 1, *, importance_rows: Optional[int] = None
) -> float:
    """Return the number of outcomes of all hash functions of a symbol together.

    In Svenstrup et al. 2017, section 4, k hash functions of range B make a single function of range
    B ** k. The row of importance parameters multiplies it by K if another hash function finds that
    row (section 6). K is None if there are no importance parameters.
    """
    return float(num_rows) ** num_hashes * (importance_rows or 1)


def collision_probability(num_symbols: int, outcomes: float) -> float:
    """Return the probability that a symbol is in collision: p_col, equation (1) of section 4.

    p_col = 1 - (1 - 1 / K) ** (|T| - 1), about 1 - exp(-|T| / K) as in equation (2), with |T| the
    number of symbols, itself included, and K the outcomes; see joint_range.
    """
    return -expm1(_log_alone(num_symbols, outcomes))


def in_collision_by_chance(num_symbols: int, outcomes: float) -> tuple[float, float]:
    """Return mean and standard deviation of the symbols in collision.

    The mean is C_tot = |T| * p_col, equation (3) of section 4. Where unimportant symbols do not
    count, |T| is |T_imp|, the number of important symbols. By equations (2) and (3) the mean is
    then about |T_imp| * (1 - exp(-|T_imp| / B)), which simulation confirms. The paper prints
    |T_imp| * exp(-|T_imp| / B) there, which is the number of important symbols in no collision.
    """
    mean = num_symbols * collision_probability(num_symbols, outcomes)
    if num_symbols < 2 or outcomes == 1:
        return mean, 0.0
    alone = exp(_log_alone(num_symbols, outcomes))
    # The logarithm of how much likelier it is that two symbols are both alone than it would be if
    # they were independent.
    gain = -log1p(-1 / outcomes)
    if num_symbols > 2:
        gain += (num_symbols - 2) * (log1p(-((outcomes - 1) ** -2)) if outcomes > 2 else -inf)
    variance = num_symbols * alone * (1 - alone)
    variance += num_symbols * (num_symbols - 1) * alone**2 * expm1(gain)
    return mean, sqrt(max(variance, 0.0))


def _log_alone(num_symbols: int, outcomes: float) -> float:
    """Return the logarithm of the probability that a symbol is in no collision."""
    if num_symbols < 2:
        return 0.0
    return (num_symbols - 1) * (log1p(-1 / outcomes) if outcomes > 1 else -inf)


def colliding_pairs(rows: numpy.ndarray) -> list[int]:
    """Count the pairs of symbols that collide in exactly j hashes, for j = 1, ..., K.

    Sorting counts the pairs that agree in a given set of columns. Inclusion and exclusion turns the
    counts of all sets into the counts of exactly j. If no pair agrees in a set, its supersets are
    skipped, so only few of the 2 ** K sets are visited. Rows are (V, K).
    """
    num_symbols, num_hashes = rows.shape
    agreeing = [0] * (num_hashes + 1)  # pairs that agree in a set, by the size of the set
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
    """Count the symbols whose rows (V, K), in order, are the rows of another symbol, too."""
    _, group_of = distinct_rows(rows.astype("uint64"))
    return int((numpy.bincount(group_of)[group_of] > 1).sum())


def count_indistinguishable(rows: numpy.ndarray) -> int:
    """Count the symbols whose rows (V, K), in any order, are the rows of another symbol, too."""
    return count_in_collision(numpy.sort(rows, axis=1))
