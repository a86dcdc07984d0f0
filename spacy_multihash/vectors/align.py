"""A table mapped into the space of another one, by pairs of words: Procrustes."""

from collections.abc import Sequence
from pathlib import Path
from typing import NamedTuple, Optional

import numpy

from .reduce import AffineMap
from .table import VectorTable, chunks, has_vector, progress
from .vocab import word_keys

# Pairs of words that are written alike, at most, in the order of the first table.
MAX_ALIKE = 100_000
# Every tenth vector is held out, if there are enough pairs, to see how good the map of others is.
_EVERY, _MIN_PAIRS = 10, 50
_MAX_TRANSLATED, _MAX_CANDIDATES = 1_000, 20_000


class Accuracy(NamedTuple):
    """How many words that were held out have their translation as the nearest of the candidates."""

    share: float
    words: int
    candidates: int


def procrustes(Y: numpy.ndarray, X: numpy.ndarray) -> AffineMap:
    """Find the rotation, perhaps with a reflection, of Y that comes nearest to X.

    W = U V' minimizes |Y W - X| among orthogonal matrices, where U S V' = Y' X (Schönemann, 1966).
    The mean of Y is subtracted first, and the mean of X added last.

    Y, X (numpy.ndarray): Vectors of paired words, (pairs, width).

    Raises ValueError if the widths differ, if there are no more pairs than columns, or if all
    vectors of a table are equal.
    """
    if Y.shape != X.shape:
        raise ValueError(
            f"Both tables must have the same width to be aligned, were: {Y.shape[1]} and "
            f"{X.shape[1]}. Reduce the wider one first, with pca."
        )
    if len(X) <= X.shape[1]:
        raise ValueError(
            f"Aligning {X.shape[1]} columns needs more pairs than columns, was given {len(X)}: "
            "directions that no pair has would be turned at random. Give more pairs, or reduce "
            "both tables, with pca."
        )
    for name, Z in (("table to map", Y), ("target", X)):
        if (Z == Z[0]).all():
            raise ValueError(
                f"The vectors of the {name} must differ, to be aligned, but those of all "
                f"{len(Z):,} pairs are equal. Give other pairs, or mend the table."
            )
    Y, X = Y.astype("float64"), X.astype("float64")
    means = Y.mean(axis=0), X.mean(axis=0)
    U, _, Vt = numpy.linalg.svd((Y - means[0]).T @ (X - means[1]))
    mean, matrix, offset = (array.astype("float32") for array in (means[0], U @ Vt, means[1]))
    return AffineMap(mean, matrix, offset)


def accuracy(Y: numpy.ndarray, X: numpy.ndarray) -> Optional[Accuracy]:
    """Tell how many vectors of Y (pairs, width) a map of the others takes nearest to theirs in X.

    Pairs of the same vector of Y are held out together. None if there are too few pairs.
    """
    numbers = _number_vectors(Y)
    is_held_out = numbers % _EVERY == _EVERY - 1
    if len(Y) < _MIN_PAIRS or not is_held_out.any() or (~is_held_out).sum() <= Y.shape[1]:
        return None
    held_out = numpy.flatnonzero(is_held_out)[:_MAX_TRANSLATED]
    mapped = procrustes(Y[~is_held_out], X[~is_held_out])(Y[held_out])
    others = numpy.delete(X, held_out, axis=0)[: _MAX_CANDIDATES - len(held_out)]
    candidates = numpy.unique(numpy.concatenate([X[held_out], others]), axis=0)
    lengths = numpy.linalg.norm(candidates.astype("float64"), axis=1)
    nearest = [
        (candidates[((y @ candidates.T) / lengths).argmax()] == x).all()
        for y, x in zip(mapped, X[held_out], strict=True)
    ]
    return Accuracy(float(numpy.mean(nearest)), len(held_out), len(candidates))


def read_pairs(path: Path) -> list[tuple[str, str]]:
    """Read pairs of words, one a line, with tabs or blanks between them. Empty lines are skipped.

    Raises FileNotFoundError if there is no file, and ValueError if a line has another number of
    words, or if two have the same pair.
    """
    if not path.is_file():
        raise FileNotFoundError(f"There is no file of pairs at {path}. Check the path.")
    try:
        lines = path.read_text("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} must be UTF-8: {error}. Convert the file.") from error
    line_of: dict[tuple[str, str], int] = {}
    for number, line in enumerate(lines, start=1):
        words = [word.strip() for word in (line.split("\t") if "\t" in line else line.split())]
        if not any(words):
            continue
        if len(words) != 2 or not all(words):
            raise ValueError(
                f"{path}, line {number}: expected two words, with tabs between them, was "
                f"{line[:40]!r}. Mend or remove the line."
            )
        pair = (words[0], words[1])
        if pair in line_of:
            raise ValueError(
                f"{path}, line {number}: the pair {pair} is in line {line_of[pair]} already. "
                "Remove one."
            )
        line_of[pair] = number
    if not line_of:
        raise ValueError(f"{path} has no pairs. Write two words on each line.")
    return list(line_of)


def pair_vectors(
    table: VectorTable, target: VectorTable, pairs: Sequence[tuple[str, str]]
) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Look up the pairs that both tables have a vector of, (n, width) float32 each.

    Pairs of the same two vectors, as of spellings that share a row, count as one.

    Raises ValueError if there are none.
    """
    has_first, Y = table.look_up([pair[0] for pair in pairs])
    has_second, X = target.look_up([pair[1] for pair in pairs])
    both = has_first & has_second
    if not both.any():
        raise ValueError(
            f"None of the {len(pairs):,} pairs is in both {table.name} and {target.name}. Check "
            "that the first word is of the first table, and the second of the other."
        )
    return _distinct(Y[both], X[both])


def alike_vectors(
    table: VectorTable, target: VectorTable, *, show_progress: bool = False
) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Look up the first 100,000 words that both tables have, written alike.

    Returns (n, width) float32 each, and each pair of vectors once, as `pair_vectors`.

    Raises ValueError if there are none, if all of them have vectors of zeros in one table, or if
    both tables are of floret.
    """
    if table.floret is not None and target.floret is not None:
        raise ValueError(
            f"{table.name} and {target.name} are floret tables, which have no list of words. Give "
            "a dictionary of pairs."
        )
    if table.floret is not None or target.floret is not None:
        texts = (target if table.floret is not None else table).words
        words = [word for word in texts if word][:MAX_ALIKE]
        return pair_vectors(table, target, [(word, word) for word in words])
    keys = table.keys
    if target.attr != table.attr:
        keys = word_keys(target.values([word or "" for word in table.words]))
    places = target.find(keys)
    shared = numpy.flatnonzero(places >= 0)[:MAX_ALIKE]
    if not len(shared):
        raise ValueError(
            f"{table.name} and {target.name} have no word that is written alike. Give a dictionary "
            "of pairs."
        )
    Y, X = (
        numpy.concatenate(
            [t.data[rows[c]] for c in progress(chunks(len(rows)), "Reading", show_progress)]
        )
        for t, rows in ((table, table.rows[shared]), (target, target.rows[places[shared]]))
    )
    both = has_vector(Y) & has_vector(X)
    if not both.any():
        raise ValueError(
            f"The {len(shared):,} words that are written alike in {table.name} and {target.name} "
            "have vectors of zeros, which stand for no vector. Give a dictionary of other pairs."
        )
    return _distinct(Y[both], X[both])


def _number_vectors(X: numpy.ndarray) -> numpy.ndarray:
    """Number the different vectors among (n, width) in the order in which they come, (n,) int64."""
    numbers: dict[bytes, int] = {}
    return numpy.array(
        [numbers.setdefault(row.tobytes(), len(numbers)) for row in X], dtype="int64"
    )


def _distinct(Y: numpy.ndarray, X: numpy.ndarray) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Return each pair of vectors once, in the order in which they come."""
    pairs = _number_vectors(Y) * len(X) + _number_vectors(X)
    first = numpy.sort(numpy.unique(pairs, return_index=True)[1])
    return Y[first], X[first]
