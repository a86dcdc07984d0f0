"""Map a table into the space of another table, by pairs of words (Procrustes)."""

from collections.abc import Sequence

import numpy

from .reduce import AffineMap
from .table import VectorTable, word_keys

# Maximum number of words with the same spelling, in the order of the first table.
MAX_ALIKE = 100_000


def procrustes(Y: numpy.ndarray, X: numpy.ndarray) -> AffineMap:
    """Find the rotation, perhaps with a reflection, of Y that comes nearest to X.

    W = U V' minimizes |Y W - X| among orthogonal matrices, where U S V' = Y' X (Schönemann, 1966).
    The mean of Y is subtracted first, and the mean of X added last.

    Y, X (numpy.ndarray): Vectors of paired words, (pairs, width).

    Raises ValueError if the widths differ, if there aren't more pairs than columns, or if all
    vectors of a table are equal.
    """
    if Y.shape != X.shape:
        raise ValueError(
            f"Tables to align must have the same width, got {Y.shape[1]} and {X.shape[1]}. Reduce "
            "the wider one first, with pca."
        )
    if len(X) <= X.shape[1]:
        raise ValueError(
            f"Aligning {X.shape[1]} columns needs more pairs than columns, got {len(X)}. Give more "
            "pairs, or reduce both tables, with pca."
        )
    for name, Z in (("table to map", Y), ("target", X)):
        if (Z == Z[0]).all():
            raise ValueError(
                f"The vectors of all {len(Z):,} pairs are equal in the {name}. Give other pairs, "
                "or correct the table."
            )
    Y, X = Y.astype("float64"), X.astype("float64")
    means = Y.mean(axis=0), X.mean(axis=0)
    U, _, Vt = numpy.linalg.svd((Y - means[0]).T @ (X - means[1]))
    mean, matrix, offset = (array.astype("float32") for array in (means[0], U @ Vt, means[1]))
    return AffineMap(mean, matrix, offset)


def pair_vectors(
    table: VectorTable, target: VectorTable, pairs: Sequence[tuple[str, str]]
) -> tuple[numpy.ndarray, numpy.ndarray, int]:
    """Look up the pairs for which both tables have a vector, (n, width) float32 each.

    Pairs with the same two vectors count once. Also returns the number of pairs without vectors.
    Raises ValueError if no pair has them.
    """
    (has_Y, Y), (has_X, X) = (
        t.look_up(words) for t, words in zip((table, target), zip(*pairs, strict=True), strict=True)
    )
    both = has_Y & has_X
    return *_distinct(table, target, Y[both], X[both]), int((~both).sum())


def alike_vectors(table: VectorTable, target: VectorTable) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Look up the first 100,000 words that both tables spell alike, as `pair_vectors` does.

    Raises ValueError if there are none, or if both tables are floret tables.
    """
    if table.floret is not None and target.floret is not None:
        raise ValueError(
            f"{table.name} and {target.name} are floret tables, which have no list of words. Give "
            "a dictionary of pairs."
        )
    if table.floret is not None or target.floret is not None:
        texts = (target if table.floret is not None else table).words
        words = [word for word in texts if word][:MAX_ALIKE]
        return pair_vectors(table, target, [(word, word) for word in words])[:2]
    keys = table.keys
    if target.attr != table.attr:
        keys = word_keys(target.values([word or "" for word in table.words]))
    indices = target.find(keys)
    shared = numpy.flatnonzero(indices >= 0)[:MAX_ALIKE]
    Y, X = table.data[table.rows[shared]], target.data[target.rows[indices[shared]]]
    both = Y.any(axis=1) & X.any(axis=1)
    return _distinct(table, target, Y[both], X[both])


def _distinct(
    table: VectorTable, target: VectorTable, Y: numpy.ndarray, X: numpy.ndarray
) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Return each distinct pair of vectors once. Raises ValueError if there are none."""
    if not len(Y):
        raise ValueError(
            f"{table.name} and {target.name} have no pair of words with vectors. Give a dictionary "
            "of pairs, each with a word of the first table and a word of the other."
        )
    pairs = numpy.unique(numpy.hstack([Y, X]), axis=0)
    return pairs[:, : Y.shape[1]], pairs[:, Y.shape[1] :]
