"""A table of vectors as a plain value: keys of words, rows, and numbers that are read in chunks."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import Any, Literal, Optional, Protocol, Union

import numpy

from ..common.checks import check_whole, refusal
from .sorted_keys import find_sorted

# Rows that are read, mapped and written at a time: 20 MB of 300 floats.
CHUNK = 2**14

ORTH = 65  # spaCy's number of the attribute
# The settings of floret, by their names in vectors.cfg.
FLORET = ("minn", "maxn", "hash_count", "hash_seed", "bow", "eow")
_LARGEST = 2**32 - 1  # spaCy keeps those that are numbers in 32 bits

Kind = Literal["pipeline", "vocab", "text"]
Index = Union[slice, numpy.ndarray]
# Vectors to estimate something on, in chunks of (n, width) float32, as often as they are asked for.
Stream = Callable[[], Iterator[numpy.ndarray]]


class Rows(Protocol):
    """Rows of numbers, from memory, a file or a computation."""

    @property
    def shape(self) -> tuple[int, ...]:
        """Number of rows, and their width."""

    def __getitem__(self, index: Any, /) -> numpy.ndarray:  # noqa: ANN401 (Index; numpy's is wider)
        """Return some rows, (n, width)."""


class CheckedRows:
    """Rows of floats, as float32, that are refused where they are not finite."""

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
        # What float32 cannot hold, and what is computed from it, is refused below.
        with numpy.errstate(over="ignore", invalid="ignore"):
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
        width: int,
        *,
        dtype: str = "<f4",
    ) -> None:
        """Wrap rows.

        rows (Rows): The rows, (n, I).
        function (Callable): Makes (m, width) of (m, I).
        width (int): The width of the result.
        dtype (str): The type of its numbers, in numpy's notation.
        """
        self.rows = rows
        self.function = function
        self.dtype = dtype
        self.shape: tuple[int, ...] = (rows.shape[0], width)

    def __getitem__(self, index: Index) -> numpy.ndarray:
        """Return some rows, (n, width)."""
        return self.function(self.rows[index]).astype(self.dtype, copy=False)


class RowValues:
    """A value of each row, computed when it is asked for."""

    def __init__(
        self, rows: Rows, function: Callable[[numpy.ndarray], numpy.ndarray], dtype: str
    ) -> None:
        """Wrap rows.

        rows (Rows): The rows, (n, width).
        function (Callable): Makes (m,) of (m, width).
        dtype (str): The type of the values, in numpy's notation.
        """
        self.rows = rows
        self.function = function
        self.dtype = dtype
        self.shape: tuple[int, ...] = (rows.shape[0],)

    def __getitem__(self, index: Index) -> numpy.ndarray:
        """Return some values, (n,)."""
        return self.function(self.rows[index]).astype(self.dtype, copy=False)


class ChosenRows:
    """Some rows of others, in the order that is given."""

    def __init__(self, rows: Rows, chosen: numpy.ndarray) -> None:
        """Wrap rows.

        rows (Rows): The rows, (n, width).
        chosen (numpy.ndarray): The numbers of the rows to take, (m,).
        """
        self.rows = rows
        self.chosen = chosen
        self.shape: tuple[int, ...] = (len(chosen), *rows.shape[1:])

    def __getitem__(self, index: Index) -> numpy.ndarray:
        """Return some rows, (n, width)."""
        return self.rows[self.chosen[index]]


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
    found = {name: settings.get(name) for name in FLORET}
    advice = "Copy or make it again."
    check_whole(where, "minn", found["minn"], 0, _LARGEST, advice=advice)
    check_whole(where, "maxn", found["maxn"], int(settings["minn"]), _LARGEST, advice=advice)
    check_whole(where, "hash_count", found["hash_count"], 1, 4, advice=advice)
    check_whole(where, "hash_seed", found["hash_seed"], 0, _LARGEST, advice=advice)
    for name in ("bow", "eow"):
        if not isinstance(found[name], str):
            raise refusal(where, name, "a string", found[name], advice)
    return found


def has_vector(X: numpy.ndarray) -> numpy.ndarray:
    """Tell which rows are vectors, (n, width) -> (n,) bool: zeros stand for no vector."""
    return numpy.asarray(X.any(axis=1))


def chunks(number: int, size: int = CHUNK) -> list[slice]:
    """Cut a number of rows into chunks."""
    return [slice(start, min(start + size, number)) for start in range(0, number, size)]


def need_words(table: VectorTable, method: str, why: str) -> None:
    """Raise ValueError if a method cannot be applied to a floret table, with the reason."""
    if table.floret is not None:
        raise ValueError(
            f"{method} cannot take {table.name}, a floret table, whose rows are n-grams' and no "
            f"words': {why}. Give a table of words."
        )


def used_rows(table: VectorTable) -> numpy.ndarray:
    """Return the numbers of the rows that words have, in order, each once."""
    mask = numpy.zeros(table.data.shape[0], dtype=bool)
    mask[table.rows] = True
    return numpy.flatnonzero(mask)
