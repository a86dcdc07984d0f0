"""A table of static vectors in memory: an array, and the row of each word."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import cache, cached_property
from typing import Any, Optional

import numpy
from spacy.attrs import IDS, ORTH
from spacy.strings import get_string_id
from spacy.util import get_lang_class
from spacy.vectors import Vectors
from spacy.vocab import Vocab, create_vocab

from ..common.types import TEXT_ATTRS

# The names of the attributes by which tables find words, by spaCy's ids.
ATTR_NAMES = {IDS[name]: name for name in TEXT_ATTRS}
# The settings of floret, by their names in vectors.cfg.
FLORET = ("minn", "maxn", "hash_count", "hash_seed", "bow", "eow")
_FLORET_BATCH = 4096  # words to look up at once in a floret table


@dataclass(frozen=True)
class VectorTable:
    """A table of static vectors.

    name (str): The source of the table, for messages.
    data (numpy.ndarray): The vectors, (rows, width) float32.
    keys (numpy.ndarray): The hash of each word, (words,) uint64. Empty for floret.
    rows (numpy.ndarray): The row of each word, (words,) int64. Words may share a row.
    words (Sequence[Optional[str]]): The text of each word, None if it's unknown.
    floret (Optional[dict[str, Any]]): The settings of floret, whose rows belong to n-grams. None
        for a table of words.
    attr (int): spaCy's id of the attribute whose values are the words.
    lang (str): Code of the language.
    title (str): spaCy's name for the vectors, "" if there is none.
    """

    name: str
    data: numpy.ndarray
    keys: numpy.ndarray
    rows: numpy.ndarray
    words: Sequence[Optional[str]]
    floret: Optional[dict[str, Any]] = None
    attr: int = ORTH
    lang: str = "xx"
    title: str = ""

    @property
    def width(self) -> int:
        """The number of columns."""
        return self.data.shape[1]

    @cached_property
    def _order(self) -> numpy.ndarray:
        return numpy.argsort(self.keys, kind="stable")

    def find(self, keys: numpy.ndarray) -> numpy.ndarray:
        """Return the index of each key in `keys`, (n,) uint64 -> (n,) int64, -1 if it's missing."""
        places = numpy.searchsorted(self.keys, keys, sorter=self._order)
        indices = self._order[numpy.minimum(places, len(self.keys) - 1)]
        return numpy.where(self.keys[indices] == keys, indices, -1)

    def values(self, words: Sequence[str], attr: Optional[int] = None) -> Sequence[str]:
        """Return the words' values of an attribute, without a context.

        attr (Optional[int]): The attribute. Default: the table's attribute.

        Raises ValueError for an attribute that no table uses to find words.
        """
        attr = self.attr if attr is None else attr
        if attr not in ATTR_NAMES:
            raise ValueError(
                f"{self.name} must look words up by {', '.join(ATTR_NAMES.values())}, but its "
                f"vectors.cfg has the attribute {attr}. Make the table again."
            )
        if attr == ORTH:
            return words
        getters: dict[int, Callable] = _blank_vocab(self.lang).lex_attr_getters  # type: ignore[attr-defined]
        # Without context, the lemma of a word is the word.
        return [getters.get(attr, str)(word) for word in words]

    def look_up(self, words: Sequence[str]) -> tuple[numpy.ndarray, numpy.ndarray]:
        """Look up words by their values of the table's attribute.

        Returns which words have a vector, (n,) bool, and the vectors, (n, width) float32, with
        zeros for missing vectors.
        """
        values = self.values(words)
        if self.floret is None:
            return self.look_up_keys(word_keys(values))
        X = numpy.zeros((len(values), self.width), dtype="float32")
        filled = [row for row, value in enumerate(values) if value]
        vectors = Vectors(data=self.data, **self.floret)
        for start in range(0, len(filled), _FLORET_BATCH):  # n-grams take memory
            batch = filled[start : start + _FLORET_BATCH]
            X[batch] = vectors.get_batch([values[row] for row in batch])
        return numpy.asarray(X.any(axis=1)), X

    def look_up_keys(self, keys: numpy.ndarray) -> tuple[numpy.ndarray, numpy.ndarray]:
        """Look up hashes of words (n,) uint64, as `look_up` does."""
        indices = self.find(keys)
        X = self.data[self.rows[indices]]
        X[indices < 0] = 0
        return numpy.asarray(X.any(axis=1)), X

    def estimation_vectors(self, words: Optional[Sequence[str]] = None) -> numpy.ndarray:
        """Return the vectors for estimation, each once, (n, width) float32.

        words (Optional[Sequence[str]]): The words. Default: all.

        Raises ValueError if the table has none of the words, or `words` is None for floret.
        """
        if words is not None:
            present, X = self.look_up(list(dict.fromkeys(self.values(words))))
            if not present.any():
                raise ValueError(
                    f"{self.name} has none of the {len(X):,} words, such as {words[:1]}. Give "
                    "words of the same language and spelling."
                )
            return X[present]
        if self.floret is not None:
            raise ValueError(
                f"{self.name} is a floret table, which has no list of words. Give a file of words "
                "with --words."
            )
        X = self.data[numpy.unique(self.rows)]
        return X[X.any(axis=1)]


def word_keys(words: Iterable[str]) -> numpy.ndarray:
    """Return the hashes of words, (n,) uint64."""
    return numpy.array([get_string_id(word) for word in words], dtype="uint64")


@cache
def _blank_vocab(lang: str) -> Vocab:
    return create_vocab(lang, get_lang_class(lang).Defaults)


def check_table(table: VectorTable) -> VectorTable:
    """Return a table with vectors of float32.

    Raises ValueError for a table without rows or words, numbers that aren't finite, repeated words,
    a word whose row is missing, and settings of floret that are out of range.
    """
    data, again = table.data, "Copy or make it again."
    if data.ndim != 2 or 0 in data.shape or data.dtype.kind != "f":
        raise ValueError(
            f"{table.name} has no vectors: expected rows of floats, got an array of {data.dtype} "
            f"and of shape {data.shape}. Give a table with vectors, such as an _md or _lg package."
        )
    table = check_finite(table)
    if table.floret is not None:
        try:
            Vectors(data=table.data, **table.floret)
        except (OverflowError, TypeError, ValueError) as error:
            raise ValueError(
                f"{table.name} has wrong settings of floret ({error}). {again}"
            ) from error
        return table
    if not len(table.keys):
        raise ValueError(f"{table.name} has vectors, but no words. Give a table with words.")
    ordered = numpy.sort(table.keys)
    if len(twice := ordered[1:][ordered[1:] == ordered[:-1]]):
        word = table.words[int(table.find(twice[:1])[0])]
        raise ValueError(f"{table.name} has the word {word!r} twice. Remove one of its vectors.")
    if len(outside := table.rows[(table.rows < 0) | (table.rows >= len(data))]):
        raise ValueError(
            f"{table.name} is damaged: a word has row {outside[0]}, but the rows are 0 to "
            f"{len(data) - 1}. {again}"
        )
    return table


def check_finite(table: VectorTable, advice: str = "Correct or remove that row.") -> VectorTable:
    """Return a table with float32 vectors. Raises ValueError if a number isn't finite."""
    with numpy.errstate(over="ignore", invalid="ignore"):  # raised below
        data = numpy.asarray(table.data, dtype="float32")
    wrong = numpy.flatnonzero(~numpy.isfinite(data).all(axis=1))
    if len(wrong):
        words = [table.words[i] for i in numpy.flatnonzero(table.rows == wrong[0]).tolist()]
        word = next((f" of the word {word!r}" for word in words if word), "")
        raise ValueError(
            f"{table.name} must have finite numbers, but row {wrong[0]}{word} has NaN, infinity, "
            f"or a number that float32 can't hold. {advice}"
        )
    return replace(table, data=data)
