"""The best valid tags of sequences, in a loop over tokens; viterbi.h computes the same."""

from typing import Optional

import numpy

# The bits of `known`: no entity continues into the token, none begins with it, and it is O.
STARTS, NO_BEGIN, OUTSIDE = 1, 2, 4
_B, _I, _L, _U = range(4)  # kinds, in the order of the columns after O


def best_tags(
    scores: numpy.ndarray,
    transitions: Optional[numpy.ndarray],
    known: numpy.ndarray,
    lengths: numpy.ndarray,
) -> numpy.ndarray:
    """Find the tags (N,) int64 of D sequences with the highest sum of scores.

    Ties go to the smaller number of the last tag, then of the tag before it.

    scores (N, nO) float32: Of O, and of B, I, L and U of each label, kind by kind.
    transitions (nO, nO) float64: The score of the column's tag after the row's. None: all 0.
    known (N,) uint8: Bits that say what is known of each token.
    lengths (D,): The numbers of tokens.
    """
    nO = scores.shape[1]
    kind, label = numpy.divmod(numpy.arange(-1, nO - 1), max((nO - 1) // 4, 1))  # O has kind -1
    opens, inside = (kind == _B) | (kind == _I), (kind == _I) | (kind == _L)
    same_label = ~opens[:, None] | (label[:, None] == label)
    may_follow = (opens[:, None] == inside) & same_label
    forbidden = (known & STARTS).astype(bool)[:, None] & inside
    forbidden |= (known & NO_BEGIN).astype(bool)[:, None] & ((kind == _B) | (kind == _U))
    forbidden |= (known & OUTSIDE).astype(bool)[:, None] & (kind >= 0)
    steps = numpy.where(may_follow, 0 if transitions is None else transitions, -numpy.inf)
    # Sums over long sequences have thousands of scores
    sums = numpy.where(forbidden, -numpy.inf, scores.astype("float64"))
    tags = numpy.empty(len(scores), dtype="int64")
    ends = lengths.cumsum()
    for first, end in zip((ends - lengths).tolist(), ends.tolist(), strict=True):
        if first < end:
            tags[first:end] = _best_path(sums[first:end], steps, ~inside, ~opens)
    return tags


def _best_path(
    scores: numpy.ndarray, steps: numpy.ndarray, may_begin: numpy.ndarray, may_end: numpy.ndarray
) -> list[int]:
    """Find the best tags of a sequence of n > 0 tokens.

    scores (n, nO) float64, steps (nO, nO) float64: The scores of consecutive tags, -inf if the
        column may not follow the row.
    may_begin, may_end (nO,) bool: Which tags the first and the last token may have.
    """
    sums = numpy.where(may_begin, scores[0], -numpy.inf)
    before = []  # the best tag before each tag, from the second token on
    for of_token in scores[1:]:
        paths = sums[:, None] + steps
        before.append(paths.argmax(axis=0))
        sums = paths.max(axis=0) + of_token
    tags = [int(numpy.where(may_end, sums, -numpy.inf).argmax())]
    for of_token in reversed(before):
        tags.append(int(of_token[tags[-1]]))
    return tags[::-1]
