"""The vectors of words, of one table or of several, a few at a time."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import replace
from typing import Optional, TypeVar

import numpy
from tqdm import tqdm

from .table import (
    ORTH,
    CheckedRows,
    Index,
    Kind,
    Stream,
    VectorTable,
    chunks,
    has_vector,
    used_rows,
)
from .vocab import ATTR_NAMES, blank_vocab, floret_vectors, value_getter, word_keys

# Words that are looked up at a time.
BATCH = 4096
ItemT = TypeVar("ItemT")


def progress(items: Sequence[ItemT], title: str, show: bool) -> Iterable[ItemT]:
    """Pass chunks along, and show a progress bar on stderr."""
    return tqdm(items, desc=title, unit=" chunks", disable=not show, leave=False)


def values_of(
    table: VectorTable, words: Sequence[str], attr: Optional[int] = None
) -> Sequence[str]:
    """Return what a table finds words by: their values of its attribute, without a context.

    attr (Optional[int]): Another attribute than that of the table.

    Raises ValueError for an attribute by which no table finds words.
    """
    attr = table.attr if attr is None else attr
    if attr not in ATTR_NAMES:
        raise ValueError(
            f"{table.name} must find words by {', '.join(ATTR_NAMES.values())}, but its "
            f"vectors.cfg has the attribute {attr}. Make the table again."
        )
    if attr == ORTH:
        return words
    value_of = value_getter(blank_vocab(table.lang), attr)
    return [value_of(word) for word in words]


def word_vectors(table: VectorTable, words: Sequence[str]) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Look words up, by their values of the table's attribute.

    Returns whether each is there, (n,) bool, and its vector, (n, width) float32, of zeros for words
    that are not. A word with a vector of zeros is not there: zeros stand for no vector. A floret
    table has all other words but the empty one.
    """
    return value_vectors(table, values_of(table, words))


def value_vectors(table: VectorTable, words: Sequence[str]) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Look up values of the table's attribute, as `word_vectors` does."""
    if table.floret is not None:
        there = numpy.array([bool(word) for word in words], dtype=bool)
        X = numpy.zeros((len(words), table.width), dtype="float32")
        if there.any():
            data = table.data.data if isinstance(table.data, CheckedRows) else table.data
            X[there] = floret_vectors(data, table.floret, [word for word in words if word])
            if not numpy.isfinite(X).all():
                raise ValueError(f"{table.name} has NaN or infinity in a row. Mend the table.")
        return has_vector(X), X
    return key_vectors(table, word_keys(words))


def key_vectors(table: VectorTable, keys: numpy.ndarray) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Look hashes of words up, (n,) uint64, as `word_vectors` does."""
    places = table.find(keys)
    found = places >= 0
    X = numpy.zeros((len(keys), table.width), dtype="float32")
    X[found] = table.data[table.rows[places[found]]]
    return has_vector(X), X


def stream_of(
    table: VectorTable, words: Optional[Sequence[str]] = None, *, show_progress: bool = False
) -> Stream:
    """Make a stream of a table's vectors, to estimate something on.

    words (Optional[Sequence[str]]): Their vectors, each once. None takes all rows that words have,
        each once, but for rows of zeros, which stand for no vector.

    Raises ValueError if none of the words is in the table, or for a floret table without words.
    """
    if words is None:
        if table.floret is not None:
            raise ValueError(
                f"{table.name} is a floret table, which has rows of n-grams and no words. Give a "
                "file of words with --words, to estimate on their vectors."
            )
        used = used_rows(table)

        def rows() -> Iterator[numpy.ndarray]:
            for chunk in progress(chunks(len(used)), "Reading", show_progress):
                X = table.data[used[chunk]]
                yield X[has_vector(X)]

        return rows
    words = list(dict.fromkeys(values_of(table, words)))
    if not any(value_vectors(table, words[chunk])[0].any() for chunk in chunks(len(words), BATCH)):
        raise ValueError(
            f"{table.name} has none of the {len(words):,} words, such as {words[:1]}. Give words "
            "of the same language and spelling."
        )

    def looked_up() -> Iterator[numpy.ndarray]:
        for chunk in progress(chunks(len(words), BATCH), "Reading", show_progress):
            there, X = value_vectors(table, words[chunk])
            yield X[there]

    return looked_up


def views_of(
    tables: Sequence[VectorTable],
) -> tuple[VectorTable, Callable[[Index], list[tuple[numpy.ndarray, numpy.ndarray]]]]:
    """Join the words of tables, those of the first one first, without their vectors.

    Returns a table of the words with empty rows, and a function that looks some of them up in each
    table, as `word_vectors` does. Raises ValueError if all tables are of floret, if one of them is
    and the text of a word is not known, or if the others find words by different attributes.
    """
    keyed = [table for table in tables if table.floret is None]
    if not keyed:
        raise ValueError("All tables are of floret, which have no words. Give one with words.")
    for table in keyed[1:]:
        if table.attr != keyed[0].attr:
            ours, theirs = (ATTR_NAMES.get(t.attr, str(t.attr)) for t in (keyed[0], table))
            raise ValueError(
                f"The tables must find words by the same attribute, but {keyed[0].name} does by "
                f"{ours} and {table.name} by {theirs}, as their vectors.cfg say. Make one of them "
                "again by the attribute of the other."
            )
    keys, first = numpy.unique(numpy.concatenate([t.keys for t in keyed]), return_index=True)
    order = numpy.argsort(first)
    keys = keys[order]
    texts = {
        key: word
        for table in reversed(keyed)
        for key, word in zip(table.keys.tolist(), table.words, strict=True)
        if word is not None
    }
    words = [texts.get(key) for key in keys.tolist()]
    if len(keyed) < len(tables) and None in words:
        raise ValueError(
            "The text of all words must be known for a floret table, but strings of the others "
            "lack some. Leave the floret table out."
        )

    def look_up(index: Index) -> list[tuple[numpy.ndarray, numpy.ndarray]]:
        some = keys[index]
        places = numpy.arange(len(keys))[index].tolist()
        return [
            key_vectors(table, some)
            if table.floret is None
            else word_vectors(table, [words[i] or "" for i in places])
            for table in tables
        ]

    kind: Kind = "vocab" if tables[0].kind == "vocab" else "pipeline"
    joined = replace(keyed[0], keys=keys, rows=numpy.arange(len(keys)), words=words, kind=kind)
    return replace(joined, lang=tables[0].lang), look_up
