"""A table of vectors as a plain value: keys of words, rows, and numbers that are read in chunks."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any, Literal, Optional, Protocol, TypeVar, Union

import numpy
from tqdm import tqdm

from ..common.checks import check_whole, setting_error
from .compressed import find_sorted
from .vocab import ATTR_NAMES, floret_vectors, word_keys, word_values

CHUNK_ROWS = 2**14  # read, mapped and written at a time: 20 MB of 300 floats
WORD_BATCH = 4096  # words that are looked up at a time
ORTH = 65  # spaCy's number of the attribute
# The settings of floret, by their names in vectors.cfg.
FLORET = ("minn", "maxn", "hash_count", "hash_seed", "bow", "eow")
_LARGEST = 2**32 - 1  # spaCy keeps settings that are numbers in 32 bits

Kind = Literal["pipeline", "vocab", "text"]
Index = Union[slice, numpy.ndarray]
# Vectors to estimate something on, in chunks of (n, width) float32, as often as they are asked for.
Stream = Callable[[], Iterator[numpy.ndarray]]
# Whether a table has words, (n,) bool, and their vectors, (n, width) float32, zeros for others.
View = tuple[numpy.ndarray, numpy.ndarray]
ItemT = TypeVar("ItemT")


class Rows(Protocol):
    """Rows of numbers, from memory, a file or a computation."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of rows, and their width."""

    def __getitem__(self, index: Any, /) -> numpy.ndarray:  # noqa: ANN401 (Index; numpy's is wider)
        """Return some rows, (n, width)."""


class CheckedRows:
    """Rows of floats, as float32, that raise ValueError where they are not finite."""

    def __init__(
        self,
        data: Rows,
        where: str,
        word_of: Callable[[int], Optional[str]] = lambda row: None,
        *,
        advice: str = "Mend or remove that row.",
    ) -> None:
        """Wrap rows.

        data (Rows): The numbers, (rows, width), such as an array that is mapped to a file.
        where (str): What the array is of, for the message.
        word_of (Callable): Gives a word of a row, for the message.
        advice (str): What to do, for the message.
        """
        self.data = data
        self.where = where
        self.word_of = word_of
        self.advice = advice

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of rows, and their width."""
        return self.data.shape

    def __getitem__(self, index: Index) -> numpy.ndarray:
        """Return some rows, (n, width) float32. Raises ValueError if one is not finite."""
        with numpy.errstate(over="ignore", invalid="ignore"):  # raised below
            rows = numpy.array(self.data[index], dtype="float32")
        wrong = ~numpy.isfinite(rows).all(axis=1)
        if wrong.any():
            first = int(numpy.flatnonzero(wrong)[0])
            row = int(index[first]) if isinstance(index, numpy.ndarray) else index.start + first
            word = self.word_of(row)
            of_word = "" if word is None else f" of the word {word!r}"
            raise ValueError(
                f"{self.where} must have finite numbers, but row {row}{of_word} has NaN, infinity, "
                f"or a number that float32 cannot hold. {self.advice}"
            )
        return rows


class MappedRows:
    """Rows that a function is applied to when they are asked for."""

    def __init__(
        self,
        rows: Rows,
        function: Callable[[numpy.ndarray], numpy.ndarray],
        width: Optional[int] = None,
        *,
        dtype: str = "<f4",
    ) -> None:
        """Wrap rows.

        rows (Rows): Rows (n, I), or numbers of rows (n,).
        function (Callable): Makes (m, width) of some of them, or (m,) without a width.
        dtype (str): The type of its numbers, in numpy's notation.
        """
        self.rows = rows
        self.function = function
        self.dtype = dtype
        self.shape: tuple[int, ...] = (rows.shape[0],) if width is None else (rows.shape[0], width)

    def __getitem__(self, index: Index) -> numpy.ndarray:
        """Return some rows, (n, width)."""
        return self.function(self.rows[index]).astype(self.dtype, copy=False)


@dataclass(frozen=True)
class VectorTable:
    """A table of vectors.

    name (str): What the table was read from, for messages.
    data (Rows): The numbers, (rows, width) float32.
    keys (numpy.ndarray): The hash of each word, (words,) uint64. None of floret.
    rows (numpy.ndarray): The row of each word, (words,) int64. Words may share a row.
    words (Sequence[Optional[str]]): The word of each key, None where its text is not known.
    floret (Optional[Mapping[str, Any]]): Settings of floret, whose rows are n-grams' and have no
        keys. None is for a table of words.
    kind (Kind): What the table was read from.
    lang (str): Code of the language.
    title (str): The name that spaCy gives to the vectors.
    attr (int): spaCy's number of the attribute whose values are the words.
    """

    name: str
    data: Rows
    keys: numpy.ndarray
    rows: numpy.ndarray
    words: Sequence[Optional[str]]
    floret: Optional[Mapping[str, Any]] = None
    kind: Kind = "pipeline"
    lang: str = "xx"
    title: str = "vectors"
    attr: int = ORTH

    @property
    def width(self) -> int:
        """Numbers of a vector."""
        return self.data.shape[1]

    @cached_property
    def _sorted(self) -> tuple[numpy.ndarray, numpy.ndarray]:
        order = numpy.argsort(self.keys, kind="stable")
        return order, self.keys[order]

    def word_of(self, row: int) -> Optional[str]:
        """Return a word of a row, None if there is none, or none whose text is known."""
        places = numpy.flatnonzero(self.rows == row).tolist()
        return next((self.words[place] for place in places if self.words[place]), None)

    def find(self, keys: numpy.ndarray) -> numpy.ndarray:
        """Return the place of each key among the table's keys, (n,) int64, -1 if it is not there.

        keys (numpy.ndarray): Hashes of words, (n,) uint64.
        """
        if not len(self.keys):
            return numpy.full(len(keys), -1)
        order, ascending = self._sorted
        at, present = find_sorted(ascending, keys)
        return numpy.where(present, order[at], -1)

    def values(self, words: Sequence[str], attr: Optional[int] = None) -> Sequence[str]:
        """Return what the table finds words by: their values of its attribute, without a context.

        attr (Optional[int]): Another attribute than that of the table.

        Raises ValueError for an attribute by which no table finds words.
        """
        attr = self.attr if attr is None else attr
        if attr not in ATTR_NAMES:
            raise ValueError(
                f"{self.name} must find words by {', '.join(ATTR_NAMES.values())}, but its "
                f"vectors.cfg has the attribute {attr}. Make the table again."
            )
        if attr == ORTH:
            return words
        return word_values(words, self.lang, attr)

    def look_up(self, words: Sequence[str]) -> View:
        """Look words up by their values of the table's attribute.

        A word with a vector of zeros is not there: zeros stand for no vector. A floret table has
        all other words but the empty one.
        """
        return self.look_up_values(self.values(words))

    def look_up_values(self, values: Sequence[str]) -> View:
        """Look up values of the table's attribute, as `look_up` does."""
        if self.floret is None:
            return self.look_up_keys(word_keys(values))
        there = numpy.array([bool(value) for value in values], dtype=bool)
        X = numpy.zeros((len(values), self.width), dtype="float32")
        if there.any():
            data = self.data.data if isinstance(self.data, CheckedRows) else self.data
            rows = data if isinstance(data, numpy.ndarray) else data[slice(0, data.shape[0])]
            X[there] = floret_vectors(rows, self.floret, [value for value in values if value])
            if not numpy.isfinite(X).all():
                raise ValueError(f"{self.name} has NaN or infinity in a row. Mend the table.")
        return has_vector(X), X

    def look_up_keys(self, keys: numpy.ndarray) -> View:
        """Look hashes of words up, (n,) uint64, as `look_up` does."""
        places = self.find(keys)
        present = places >= 0
        X = numpy.zeros((len(keys), self.width), dtype="float32")
        X[present] = self.data[self.rows[places[present]]]
        return has_vector(X), X


def check_table(table: VectorTable) -> VectorTable:
    """Return a table that is as it should be.

    Raises ValueError if it has no rows or words, a word twice, or a word without a row.
    """
    if len(table.data.shape) != 2 or 0 in table.data.shape:
        shape = " x ".join(map(str, table.data.shape))
        raise ValueError(
            f"{table.name} has no vectors: expected rows of numbers, was an array of shape {shape}."
            " Give a table with vectors, such as that of an _md or _lg package."
        )
    if table.floret is not None:
        return table
    if not len(table.keys):
        raise ValueError(f"{table.name} has vectors, but no words. Give a table with words.")
    ordered = numpy.sort(table.keys)
    if len(twice := ordered[1:][ordered[1:] == ordered[:-1]]):
        word = table.words[int(table.find(twice[:1])[0])]
        raise ValueError(f"{table.name} has the word {word!r} twice. Remove one of its vectors.")
    outside = (table.rows < 0) | (table.rows >= table.data.shape[0])
    if outside.any():
        row = int(table.rows[outside][0])
        raise ValueError(
            f"{table.name} is damaged: a word has row {row}, but the rows are 0 to "
            f"{table.data.shape[0] - 1}. Copy or make it again."
        )
    return table


def check_floret(where: str, settings: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the settings of a floret table by their names, and no others.

    where (str): Where they are from, for the message.

    Raises ValueError if one is missing, of another type, or out of range.
    """
    settings = {name: settings.get(name) for name in FLORET}
    advice = "Copy or make it again."
    check_whole(where, "minn", settings["minn"], 0, _LARGEST, advice=advice)
    check_whole(where, "maxn", settings["maxn"], int(settings["minn"]), _LARGEST, advice=advice)
    check_whole(where, "hash_count", settings["hash_count"], 1, 4, advice=advice)
    check_whole(where, "hash_seed", settings["hash_seed"], 0, _LARGEST, advice=advice)
    for name in ("bow", "eow"):
        if not isinstance(settings[name], str):
            raise setting_error(where, name, "a string", settings[name], advice)
    return settings


def has_vector(X: numpy.ndarray) -> numpy.ndarray:
    """Tell which rows are vectors, (n, width) -> (n,) bool: zeros stand for no vector."""
    return numpy.asarray(X.any(axis=1))


def chunks(number: int, size: int = CHUNK_ROWS) -> list[slice]:
    """Cut a number of rows into chunks."""
    return [slice(start, min(start + size, number)) for start in range(0, number, size)]


def progress(items: Sequence[ItemT], title: str, show: bool) -> Iterable[ItemT]:
    """Pass chunks along, and show a progress bar on stderr."""
    return tqdm(items, desc=title, unit=" chunks", disable=not show, leave=False)


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
        used = numpy.unique(table.rows)

        def rows() -> Iterator[numpy.ndarray]:
            for chunk in progress(chunks(len(used)), "Reading", show_progress):
                X = table.data[used[chunk]]
                yield X[has_vector(X)]

        return rows
    values = list(dict.fromkeys(table.values(words)))
    batches = [values[chunk] for chunk in chunks(len(values), WORD_BATCH)]
    if not any(table.look_up_values(batch)[0].any() for batch in batches):
        raise ValueError(
            f"{table.name} has none of the {len(values):,} words, such as {values[:1]}. Give words "
            "of the same language and spelling."
        )

    def looked_up() -> Iterator[numpy.ndarray]:
        for batch in progress(batches, "Reading", show_progress):
            there, X = table.look_up_values(batch)
            yield X[there]

    return looked_up


def join_words(
    tables: Sequence[VectorTable],
) -> tuple[VectorTable, Callable[[Index], list[View]]]:
    """Join the words of tables, those of the first one first, without their vectors.

    Returns a table of the words with the rows 0, 1, ..., and a function that looks some of these
    rows up in each table. Raises ValueError if all tables are of floret, if one of them is and the
    text of a word is not known, or if the others find words by different attributes.
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
    keys = keys[numpy.argsort(first)]
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

    def look_up(rows: Index) -> list[View]:
        places = numpy.arange(len(keys))[rows].tolist()
        return [
            table.look_up_keys(keys[rows])
            if table.floret is None
            else table.look_up([words[place] or "" for place in places])
            for table in tables
        ]

    kind: Kind = "vocab" if tables[0].kind == "vocab" else "pipeline"
    joined = replace(keyed[0], keys=keys, rows=numpy.arange(len(keys)), words=words, kind=kind)
    return replace(joined, lang=tables[0].lang), look_up
