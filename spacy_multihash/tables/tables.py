"""Tables of values for lookup embeddings: order, cut, merge, save and load them.

The file format, version 1, is one MessagePack map:

    format    "spacy-multihash.tables"
    version   1
    md5       hex digest of body
    body      bytes: a MessagePack map of
        min_freq  int: values with a smaller count were left out (0 or 1: none)
        max_rows  int or nil: only the most frequent max_rows - 1 values were kept
        tables    map from the name of an attribute, as in spacy.attrs, of a feature in its shortest
                  form, such as ORTH[:2], or of n-grams of tokens, such as LOWER[1,2], to a map of
            keys    bytes: the symbols' ids, little-endian uint64, by (-count, id)
            counts  bytes: their counts, little-endian uint64
"""

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Optional, Union

import numpy
import srsly

from ..common.arguments import checked
from ..common.checks import check_whole
from ..common.files import UnreadableFile, reading, unpack, write_bytes
from ..corpus.symbols import sum_up

FORMAT = "spacy-multihash.tables"
VERSION = 1
_COMMAND = "python -m spacy multihash init-tables CONFIG OUTPUT"
_MAKE_IT, _REPAIR = f"Make it with: {_COMMAND}", f"make it again with: {_COMMAND}"


@dataclass(frozen=True)
class Table:
    """The values of one attribute, or n-grams of one kind: most frequent first, ties by id.

    keys (numpy.ndarray): (V,) uint64 ids of the values.
    counts (numpy.ndarray): (V,) uint64 how often each was seen.
    """

    keys: numpy.ndarray
    counts: numpy.ndarray

    def __len__(self) -> int:
        """Count the values, V."""
        return len(self.keys)


@dataclass(frozen=True)
class Tables:
    """A table for each attribute or kind of n-grams, and the cut that was made.

    tables (Mapping[str, Table]): The tables by the name of their attribute or n-grams.
    min_freq (int): Values with a smaller count were left out.
    max_rows (int or None): The maximum rows of a table, including row 0 for unknown values.
    """

    tables: Mapping[str, Table]
    min_freq: int = 0
    max_rows: Optional[int] = None


@checked
def make_tables(
    counts: Mapping[str, Mapping[Any, Any]],
    *,
    min_freq: int = 10,
    max_rows: Optional[int] = None,
) -> Tables:
    """Order the values by (-count, id), and keep frequent values.

    counts (Mapping[str, Mapping[int, int]]): How often each value of each attribute was seen.
    min_freq (int): Keep a value if it was seen at least this often, min_freq >= 0.
    max_rows (int or None): Keep the most frequent max_rows - 1 values, max_rows >= 2.
    RETURNS (Tables): A table for each attribute.

    Raises ValueError for a cut out of range.
    """
    tables = {}
    for name, count in counts.items():
        try:
            keys, freqs = (numpy.fromiter(each, "uint64") for each in (count, count.values()))
        except OverflowError as error:
            raise ValueError(f"{name}: values and counts are from 0 to 2**64 - 1.") from error
        tables[name] = in_order(keys, freqs)
    return cut_tables(Tables(tables), min_freq=min_freq, max_rows=max_rows)


@checked
def cut_tables(tables: Tables, *, min_freq: int, max_rows: Optional[int] = None) -> Tables:
    """Cut tables that were cut as much before, or less.

    tables (Tables): The tables, which don't change.
    min_freq (int): Keep a value if it was seen at least this often.
    max_rows (int or None): Keep the most frequent max_rows - 1 values. None for no limit.
    RETURNS (Tables): The tables with fewer values.

    Raises ValueError if they were cut further before.
    """
    check_cut(min_freq, max_rows)
    # 0 and 1 leave nothing out, since a symbol that was never seen has no count.
    if tables.min_freq > max(min_freq, 1):
        raise ValueError(
            f"The tables were cut at min_freq = {tables.min_freq}, and can't be cut at min_freq = "
            f"{min_freq} any more. Ask for {tables.min_freq} or more, or count the corpus again."
        )
    if tables.max_rows is not None and (max_rows is None or tables.max_rows < max_rows):
        raise ValueError(
            f"The tables were cut at max_rows = {tables.max_rows}, and can't be cut at max_rows = "
            f"{max_rows} any more. Ask for {tables.max_rows} or less, or count the corpus again."
        )
    cuts = {}
    for name, table in tables.tables.items():
        last = int((table.counts >= min_freq).sum())
        last = last if max_rows is None else min(last, max_rows - 1)
        cuts[name] = Table(table.keys[:last], table.counts[:last])
    return Tables(cuts, min_freq, max_rows)


def check_cut(min_freq: int, max_rows: Optional[int]) -> None:
    """Raise ValueError for a min_freq or max_rows out of range."""
    where, advice = "Tables of MultiEmbed", "Change it in [initialize.before_init], or as"
    check_whole(where, "min_freq", min_freq, 0, advice=f"{advice} --min-freq.")
    if max_rows is not None:
        unknown = "Unknown values have a row of their own."
        check_whole(where, "max_rows", max_rows, 2, advice=f"{unknown} {advice} --max-rows.")


@checked
def merge_tables(corpora: Sequence[Tables]) -> Tables:
    """Add up the counts of several corpora, without a cut.

    corpora (Sequence[Tables]): Uncut tables (min_freq <= 1, no max_rows) of the same attributes.
    RETURNS (Tables): The sums, in the order of `make_tables`.

    Raises ValueError if there are no tables, if some were cut, or if their attributes differ.
    """
    if not corpora:
        raise ValueError("Merging needs the tables of at least one corpus, got none.")
    names = corpora[0].tables.keys()
    for number, tables in enumerate(corpora, start=1):
        if tables.min_freq > 1 or tables.max_rows is not None:
            raise ValueError(
                f"Can't merge tables that were cut: tables {number} have min_freq = "
                f"{tables.min_freq}, max_rows = {tables.max_rows}. Count them with min_freq = 0 "
                "and without max_rows, and cut them after merging."
            )
        if tables.tables.keys() != names:
            raise ValueError(
                f"Can't merge tables of different attributes: tables 1 have {sorted(names)}, "
                f"tables {number} have {sorted(tables.tables)}."
            )
    sums = {}
    for name in names:
        parts = [tables.tables[name] for tables in corpora]
        keys = numpy.concatenate([table.keys for table in parts])
        counts = numpy.concatenate([table.counts for table in parts])
        sums[name] = in_order(*sum_up(keys, counts))
    return Tables(sums)


@checked
def write_tables(path: Union[str, Path], tables: Tables) -> None:
    """Write tables to a file atomically.

    path (Path): The file to write.
    tables (Tables): The tables.
    """
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


@checked
def read_tables(path: Union[str, Path]) -> Tables:
    """Read tables from a file.

    path (Path): The file, as `write_tables` or the command init-tables writes it.
    RETURNS (Tables): The tables.

    Raises FileNotFoundError, and ValueError if the file is damaged, has another version, or isn't a
    file of tables. Errors name the file.
    """
    path = Path(path)  # a config hands over a string
    return parse_tables(path, read_message(path))


def read_message(path: Path) -> Any:  # noqa: ANN401 (whatever the file holds)
    """Read a MessagePack file; raises the errors of `read_tables`."""
    if not path.is_file():
        raise FileNotFoundError(f"There is no file of tables at {path}. {_MAKE_IT}")
    with reading(path, _REPAIR):
        return unpack(path.read_bytes())


def parse_tables(path: Path, message: object) -> Tables:
    """Make tables of a file's content; raises the errors of `read_tables`."""
    if not isinstance(message, dict) or message.get("format") != FORMAT:
        raise ValueError(
            f"{path} is not a file of tables, which is a MessagePack map with format = "
            f"'{FORMAT}'. {_MAKE_IT}"
        )
    if message.get("version") != VERSION:
        raise ValueError(
            f"{path} has tables in format version {message.get('version')}, and this package reads "
            f"version {VERSION}. {_MAKE_IT}"
        )
    packed = message.get("body")
    if not isinstance(packed, bytes) or _md5(packed) != message.get("md5"):
        raise UnreadableFile(f"{path} is damaged: it doesn't match its checksum. {_MAKE_IT}")
    with reading(path, _REPAIR):
        body, tables = unpack(packed), {}
        for name, arrays in body["tables"].items():
            keys, counts = (numpy.frombuffer(arrays[key], "<u8") for key in ("keys", "counts"))
            if len(keys) != len(counts):
                raise ValueError(f"{name} has {len(keys):,} symbols, but {len(counts):,} counts")
            tables[name] = Table(keys, counts)
        return Tables(tables, body["min_freq"], body["max_rows"])


def in_order(keys: numpy.ndarray, counts: numpy.ndarray) -> Table:
    """Make a table of unique keys (V,) uint64 and their counts (V,) uint64."""
    order = numpy.lexsort((keys, -counts.astype("int64")))
    return Table(keys[order], counts[order])


def _md5(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()
