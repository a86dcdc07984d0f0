"""Nearest neighbours of frequent and rare words."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy

from .affine import to_unit
from .lookup import value_vectors, values_of
from .table import VectorTable

# Where bands of words end, by rank: the most frequent first.
BANDS = (1_000, 10_000, 50_000)


@dataclass(frozen=True)
class Neighbours:
    """The words nearest to a word.

    band (str): Ranks of the words that it was taken from.
    word (str): The word.
    nearest (list[tuple[str, float]]): Other words with their cosines, the nearest first.
    """

    band: str
    word: str
    nearest: list[tuple[str, float]]


def neighbours(
    table: VectorTable, words: Sequence[str], *, of_band: int = 5, number: int = 5
) -> Iterator[Neighbours]:
    """Find the neighbours of some words of each band of frequency, among all the words.

    words (Sequence[str]): The words, the most frequent first. The first 50,000 are looked at, and
        those without a vector are left out. Words of one value of the table's attribute are one.
    of_band (int): How many words of a band, at equal distances.
    number (int): How many neighbours.

    Raises ValueError if the table has fewer than two of the words.
    """
    words = list(dict.fromkeys(values_of(table, words)))[: BANDS[-1]]
    there, X = value_vectors(table, words)
    X = to_unit(X)
    if there.sum() < 2:
        raise ValueError(
            f"{table.name} has {int(there.sum())} of the {len(words):,} words, too few for "
            "neighbours. Give words of the same language."
        )
    start = 0
    for end in BANDS:
        ranks = numpy.flatnonzero(there[start:end]) + start
        step = max(len(ranks) / of_band, 1)
        for i in range(min(of_band, len(ranks))):
            rank = int(ranks[int(i * step)])
            cosines = numpy.where(there, X @ X[rank], -numpy.inf)
            cosines[rank] = -numpy.inf
            best = numpy.argsort(-cosines, kind="stable")[: min(number, int(there.sum()) - 1)]
            nearest = [(words[j], float(cosines[j])) for j in best.tolist()]
            yield Neighbours(f"{start + 1:,} to {min(end, len(words)):,}", words[rank], nearest)
        start = end
