"""Word similarity: cosines of pairs beside what people say of them."""

from dataclasses import dataclass
from pathlib import Path
from typing import Optional

import numpy

from .affine import AffineMap, identity, to_unit
from .lookup import word_vectors
from .pairs import read_columns
from .table import VectorTable


@dataclass(frozen=True)
class Similarity:
    """How a table agrees with people.

    pairs (int): Pairs in the file.
    found (int): Pairs that the table has, both words.
    spearman (Optional[float]): Rank correlation of cosines and scores. None below three pairs.
    normalized (Optional[float]): The same of vectors that are z-normed by the table's own columns.
    """

    pairs: int
    found: int
    spearman: Optional[float]
    normalized: Optional[float]


def read_scores(path: Path) -> list[tuple[str, str, float]]:
    """Read two words and a number a line, with tabs or blanks between them.

    Raises what `read_columns` raises, and ValueError, with the line, where there is no number.
    """
    found = []
    lines = read_columns(path, 3, "two words and a number", ordered=False)
    for number, (one, other, score) in lines:
        try:
            value = float(score)
        except ValueError:
            value = numpy.nan
        if not numpy.isfinite(value):
            raise ValueError(
                f"{path}, line {number}: expected a number as the third column, was {score!r}. "
                "Mend or remove the line."
            )
        found.append((one, other, value))
    return found


def similarity(
    table: VectorTable, pairs: list[tuple[str, str, float]], z_norm: AffineMap
) -> Similarity:
    """Compare the cosines of a table with the scores of pairs.

    z_norm (AffineMap): That of the table.

    Raises ValueError if the table has no pair.
    """
    there, Y = word_vectors(table, [pair[0] for pair in pairs])
    also, X = word_vectors(table, [pair[1] for pair in pairs])
    both = there & also
    if not both.any():
        raise ValueError(
            f"{table.name} has none of the {len(pairs):,} pairs. Give words of the same language "
            "and spelling."
        )
    scores = numpy.array([pair[2] for pair in pairs])[both]
    raw, normalized = (
        spearman((to_unit(one(Y[both])) * to_unit(one(X[both]))).sum(axis=1), scores)
        for one in (identity(table.width), z_norm)
    )
    return Similarity(len(pairs), int(both.sum()), raw, normalized)


def spearman(one: numpy.ndarray, other: numpy.ndarray) -> Optional[float]:
    """Return the rank correlation of numbers (n,), None below three or where all are equal."""
    ranks = numpy.stack([_ranks(values) for values in (one, other)])
    if len(one) < 3 or (ranks == ranks[:, :1]).all(axis=1).any():
        return None
    return float(numpy.corrcoef(ranks)[0, 1])


def _ranks(values: numpy.ndarray) -> numpy.ndarray:
    """Return the ranks of numbers, equal ones at the mean of theirs, (n,) float64."""
    _, inverse, counts = numpy.unique(values, return_inverse=True, return_counts=True)
    ends = numpy.cumsum(counts)
    return (ends - (counts - 1) / 2)[inverse]
