"""Tables of symbols for MultiEmbed: count, merge, cut, order, write and read. Nothing is printed.

The file format, version 1, is one MessagePack map:

    format    "spacy-multihash.tables"
    version   1
    md5       hex digest of body
    body      bytes: a MessagePack map of
        min_freq  int: symbols with a smaller count were left out (0 or 1: none)
        max_rows  int or nil: only the most frequent max_rows - 1 symbols were kept
        tables    map from attribute name, as in spacy.attrs, to a map of
            keys    bytes: the symbols' ids, little-endian uint64, by (-count, id)
            counts  bytes: their counts, little-endian uint64
"""

import hashlib
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional, Union

import numpy
import srsly

from .common.checks import is_whole
from .common.files import write_bytes
from .corpus.symbols import Counts

FORMAT = "spacy-multihash.tables"
VERSION = 1

# Ids that are kept until they are counted, or as many as are counted already.
_PENDING = 2**22


@dataclass(frozen=True)
class Table:
    """The symbols of one attribute, most frequent first, ties by id.

    keys (numpy.ndarray): (V,) uint64 ids of the symbols.
    counts (numpy.ndarray): (V,) uint64 how often each was seen.
    """

    keys: numpy.ndarray
    counts: numpy.ndarray

    def __len__(self) -> int:
        """Count the symbols, V."""
        return len(self.keys)


@dataclass(frozen=True)
class Tables:
    """A table per attribute, and the cut that was made.

    tables (Mapping[str, Table]): The tables by attribute name.
    min_freq (int): Symbols with a smaller count were left out.
    max_rows (int or None): The rows that a table may have, row 0 of unknown symbols included.
    """

    tables: Mapping[str, Table]
    min_freq: int = 0
    max_rows: Optional[int] = None


def count_ids(arrays: Iterable[numpy.ndarray]) -> Table:
    """Count ids, in memory that grows with the distinct ones alone: n-grams are many.

    arrays (Iterable[numpy.ndarray]): Ids (N,) uint64, in arrays that are read once and not kept.
    """
    table = Table(numpy.zeros(0, "uint64"), numpy.zeros(0, "uint64"))
    pending: list[numpy.ndarray] = []
    size = 0
    for ids in arrays:
        pending.append(ids)
        size += len(ids)
        if size > max(len(table), _PENDING):
            table, pending, size = _add_up(table, pending), [], 0
    return _order(_add_up(table, pending))


def make_tables(counts: Counts, *, min_freq: int = 10, max_rows: Optional[int] = None) -> Tables:
    """Order the symbols by (-count, id), and keep the frequent ones.

    counts (Counts): How often each symbol of each attribute was seen.
    min_freq (int): Keep a symbol if it was seen at least so often, min_freq >= 0.
    max_rows (int or None): Keep the most frequent max_rows - 1 symbols, max_rows >= 2.

    Raises ValueError for a cut out of range.
    """
    check_cut(min_freq, max_rows)
    tables = {}
    for name, count in counts.items():
        keys = numpy.fromiter(count.keys(), dtype="uint64", count=len(count))
        freqs = numpy.fromiter(count.values(), dtype="uint64", count=len(count))
        tables[name] = _order(Table(keys, freqs))
    return cut_tables(Tables(tables), min_freq=min_freq, max_rows=max_rows)


def table_from_rows(rows: Mapping[int, int]) -> Table:
    """Make a table of symbols whose rows are known, but not their counts, from a map of both.

    rows (Mapping[int, int]): Row of each symbol id, from 1 to the number of symbols.

    Raises ValueError for other rows: row 0 is that of unknown symbols, and each symbol has its own.
    """
    if sorted(rows.values()) != list(range(1, len(rows) + 1)):
        raise ValueError(
            f"The rows of {len(rows)} symbols must be 1 to {len(rows)}, each once, with row 0 left "
            f"to unknown symbols; were, in order: {sorted(rows.values())[:8]} ..."
        )
    keys = numpy.array(sorted(rows, key=rows.__getitem__), dtype="uint64")
    return Table(keys, numpy.zeros(len(keys), dtype="uint64"))


def cut_tables(tables: Tables, *, min_freq: int, max_rows: Optional[int] = None) -> Tables:
    """Cut tables further, or by the same.

    Raises ValueError if they were cut more already than is asked for now.
    """
    check_cut(min_freq, max_rows)
    # 0 and 1 leave nothing out: what was never seen is not in the counts.
    if tables.min_freq > max(min_freq, 1):
        raise ValueError(
            f"The tables were cut at min_freq = {tables.min_freq}, and cannot be cut at min_freq = "
            f"{min_freq} any more. Ask for {tables.min_freq} or more, or count the corpus again."
        )
    if tables.max_rows is not None and (max_rows is None or tables.max_rows < max_rows):
        raise ValueError(
            f"The tables were cut at max_rows = {tables.max_rows}, and cannot be cut at max_rows = "
            f"{max_rows} any more. Ask for {tables.max_rows} or less, or count the corpus again."
        )
    kept = {}
    for name, table in tables.tables.items():
        last = int((table.counts >= min_freq).sum())
        last = last if max_rows is None else min(last, max_rows - 1)
        kept[name] = Table(table.keys[:last], table.counts[:last])
    return Tables(kept, min_freq, max_rows)


def check_cut(min_freq: int, max_rows: Optional[int]) -> None:
    """Raise ValueError for a min_freq or max_rows out of range."""
    if not is_whole(min_freq, 0):
        raise ValueError(
            f"Tables of MultiEmbed: min_freq must be a whole number from 0 on, was: {min_freq!r}. "
            "Change it in [initialize.before_init], or as --min-freq."
        )
    if max_rows is not None and not is_whole(max_rows, 2):
        raise ValueError(
            "Tables of MultiEmbed: max_rows must be a whole number from 2 on, one of them for "
            f"unknown symbols, was: {max_rows!r}. Change it in [initialize.before_init], or as "
            "--max-rows."
        )


def merge_tables(parts: Sequence[Tables]) -> Tables:
    """Add the counts of several corpora up, and cut nothing.

    parts (Sequence[Tables]): Uncut tables (min_freq <= 1, no max_rows) of the same attributes.

    Raises ValueError for no tables, tables that were cut, or of other attributes than the first.
    """
    if not parts:
        raise ValueError("Merging needs the tables of at least one corpus, was given none.")
    names = parts[0].tables.keys()
    for i, part in enumerate(parts):
        if part.min_freq > 1 or part.max_rows is not None:
            raise ValueError(
                f"Cannot merge tables that were cut: part {i + 1} has min_freq = {part.min_freq}, "
                f"max_rows = {part.max_rows}. Count it with min_freq = 0 and without max_rows; "
                "the cut is made after merging."
            )
        if part.tables.keys() != names:
            raise ValueError(
                f"Cannot merge tables of different attributes: part 1 has {sorted(names)}, "
                f"part {i + 1} has {sorted(part.tables)}."
            )
    return Tables({name: _order(_sum_up([part.tables[name] for part in parts])) for name in names})


def write_tables(path: Union[str, Path], tables: Tables) -> None:
    """Write tables to a file, whole or not at all."""
    body = srsly.msgpack_dumps(
        {
            "min_freq": tables.min_freq,
            "max_rows": tables.max_rows,
            "tables": {
                name: {
                    "keys": table.keys.astype("<u8").tobytes(),
                    "counts": table.counts.astype("<u8").tobytes(),
                }
                for name, table in tables.tables.items()
            },
        }
    )
    message = {"format": FORMAT, "version": VERSION, "md5": _md5(body), "body": body}
    write_bytes(Path(path), srsly.msgpack_dumps(message))


def read_tables(path: Union[str, Path]) -> Tables:
    """Read tables from a file.

    Raises FileNotFoundError if it is missing, and ValueError if it is damaged, of another version,
    or not a file of tables at all.
    """
    path = Path(path)  # a config hands over a string
    if not path.is_file():
        raise FileNotFoundError(
            f"No file of tables at {path}. Make it with: "
            f"python -m spacy multihash init-tables CONFIG {path}"
        )
    message = _unpack(path, path.read_bytes())
    if not isinstance(message, dict) or message.get("format") != FORMAT:
        raise ValueError(
            f"{path} is not a file of tables: expected a MessagePack map with format = "
            f"'{FORMAT}'. Make one with: python -m spacy multihash init-tables CONFIG OUTPUT"
        )
    if message.get("version") != VERSION:
        raise ValueError(
            f"{path} holds tables in format version {message.get('version')}, this package reads "
            f"version {VERSION}. Make it again with: python -m spacy multihash init-tables"
        )
    packed = message.get("body")
    if not isinstance(packed, bytes) or _md5(packed) != message.get("md5"):
        raise _damaged(path, "its contents do not match its checksum")
    body = srsly.msgpack_loads(packed)
    tables = {
        name: Table(*(numpy.frombuffer(arrays[key], dtype="<u8") for key in ("keys", "counts")))
        for name, arrays in body["tables"].items()
    }
    return Tables(tables, body["min_freq"], body["max_rows"])


def _add_up(table: Table, arrays: Sequence[numpy.ndarray]) -> Table:
    """Add the ids of arrays to counts that are in any order."""
    keys, counts = numpy.unique(numpy.concatenate([*arrays, table.keys[:0]]), return_counts=True)
    return _sum_up([table, Table(keys, counts.astype("uint64"))])


def _sum_up(parts: Sequence[Table]) -> Table:
    """Add the counts of tables up, in any order."""
    ids = numpy.concatenate([part.keys for part in parts])
    keys, places = numpy.unique(ids, return_inverse=True)
    counts = numpy.bincount(places, numpy.concatenate([p.counts for p in parts]), len(keys))
    return Table(keys, counts.astype("uint64"))


def _order(table: Table) -> Table:
    order = numpy.lexsort((table.keys, -table.counts.astype("int64")))
    return Table(table.keys[order], table.counts[order])


def _md5(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


def _unpack(path: Path, data: bytes) -> Any:  # noqa: ANN401 (whatever the file holds)
    try:
        return srsly.msgpack_loads(data)
    except (TypeError, ValueError) as error:  # TypeError: a map that has a map as a key
        raise _damaged(path, f"it is cut off, or no file of tables at all ({error})") from error


def _damaged(path: Path, why: str) -> ValueError:
    return ValueError(
        f"The file of tables {path} is damaged: {why}. Copy it again, check its name, "
        "or make it again with: python -m spacy multihash init-tables CONFIG OUTPUT"
    )
