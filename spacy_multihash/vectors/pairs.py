"""Pairs of words: in files, and the vectors that two tables have of them."""

from collections.abc import Sequence
from pathlib import Path

import numpy

from .held_out import number_vectors
from .lookup import progress, values_of, word_vectors
from .table import VectorTable, chunks, has_vector
from .vocab import word_keys

# Pairs of words that are written alike, at most, in the order of the first table.
MOST_ALIKE = 100_000


def read_columns(
    path: Path, number: int, what: str, *, ordered: bool = True
) -> list[tuple[int, list[str]]]:
    """Read lines of columns, with tabs or blanks between them. Empty lines are skipped.

    number (int): How many columns there are.
    what (str): What a line is, for the message.
    ordered (bool): Whether a pair of words is another one in the other order.

    Returns number and columns of each line. Raises FileNotFoundError if there is no file, and
    ValueError if a line has other columns, or if two begin with the same pair of words.
    """
    if not path.is_file():
        raise FileNotFoundError(f"There is no file of pairs at {path}. Check the path.")
    try:
        lines = path.read_text("utf-8-sig").split("\n")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path} must be UTF-8: {error}. Convert the file.") from error
    found, seen = [], dict[tuple[str, str], int]()
    for i, line in enumerate(lines, start=1):
        parts = [part.strip() for part in (line.split("\t") if "\t" in line else line.split())]
        if not any(parts):
            continue
        if len(parts) != number or not all(parts):
            raise ValueError(
                f"{path}, line {i}: expected {what}, with tabs between them, was {line[:40]!r}. "
                "Mend or remove the line."
            )
        pair = (parts[0], parts[1])
        same = pair if ordered else (min(pair), max(pair))
        if same in seen:
            raise ValueError(
                f"{path}, line {i}: the pair {pair} is in line {seen[same]} already. Remove one."
            )
        seen[same] = i
        found.append((i, parts))
    if not found:
        raise ValueError(f"{path} has no pairs. Write {what} on each line.")
    return found


def read_pairs(path: Path) -> list[tuple[str, str]]:
    """Read pairs of words; raises what `read_columns` raises."""
    return [(one, other) for _, (one, other) in read_columns(path, 2, "two words")]


def pair_vectors(
    one: VectorTable, other: VectorTable, pairs: Sequence[tuple[str, str]]
) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Look up the pairs that both tables have a vector of, (n, width) float32 each.

    Pairs of the same two vectors, as of spellings that share a row, count as one.

    Raises ValueError if there are none.
    """
    there, Y = word_vectors(one, [pair[0] for pair in pairs])
    also, X = word_vectors(other, [pair[1] for pair in pairs])
    both = there & also
    if not both.any():
        raise ValueError(
            f"None of the {len(pairs):,} pairs is in both {one.name} and {other.name}. Check that "
            "the first word is of the first table, and the second of the other."
        )
    return _once(Y[both], X[both])


def alike_vectors(
    one: VectorTable, other: VectorTable, *, show_progress: bool = False
) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Look up the first 100,000 words that both tables have, written alike.

    Returns (n, width) float32 each, and each pair of vectors once, as `pair_vectors`.

    Raises ValueError if there are none, if all of them have vectors of zeros in one table, or if
    both tables are of floret.
    """
    if one.floret is not None or other.floret is not None:
        if one.floret is not None and other.floret is not None:
            raise ValueError(
                f"{one.name} and {other.name} are floret tables, which have no list of words. Give "
                "a dictionary of pairs."
            )
        known = (other if one.floret is not None else one).words
        words = [word for word in known if word][:MOST_ALIKE]
        return pair_vectors(one, other, [(word, word) for word in words])
    keys = one.keys
    if other.attr != one.attr:
        keys = word_keys(values_of(other, [word or "" for word in one.words]))
    places = other.find(keys)
    shared = numpy.flatnonzero(places >= 0)[:MOST_ALIKE]
    if not len(shared):
        raise ValueError(
            f"{one.name} and {other.name} have no word that is written alike. Give a dictionary of "
            "pairs."
        )
    Y = _rows(one, one.rows[shared], show_progress)
    X = _rows(other, other.rows[places[shared]], show_progress)
    both = has_vector(Y) & has_vector(X)
    if not both.any():
        raise ValueError(
            f"The {len(shared):,} words that are written alike in {one.name} and {other.name} have "
            "vectors of zeros, which stand for no vector. Give a dictionary of other pairs."
        )
    return _once(Y[both], X[both])


def _once(Y: numpy.ndarray, X: numpy.ndarray) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Return each pair of vectors once, in the order in which they come."""
    pairs = number_vectors(Y) * len(X) + number_vectors(X)
    first = numpy.sort(numpy.unique(pairs, return_index=True)[1])
    return Y[first], X[first]


def _rows(table: VectorTable, rows: numpy.ndarray, show_progress: bool) -> numpy.ndarray:
    parts = progress(chunks(len(rows)), "Reading", show_progress)
    return numpy.concatenate([table.data[rows[chunk]] for chunk in parts])
