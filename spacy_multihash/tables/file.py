"""Tables in files: written whole or not at all, and checked when they are read.

The file format, version 1, is one MessagePack map:

    format    "spacy-multihash.tables"
    version   1
    md5       hex digest of body
    body      bytes: a MessagePack map of
        min_freq  int: symbols with a smaller count were left out (0 or 1: none)
        max_rows  int or nil: only the most frequent max_rows - 1 symbols were kept
        tables    map from the name of an attribute, as in spacy.attrs, of a feature in its shortest
                  form, such as ORTH[:2], or of n-grams of tokens, such as LOWER[1,2], to a map of
            keys    bytes: the symbols' ids, little-endian uint64, by (-count, id)
            counts  bytes: their counts, little-endian uint64
"""

import hashlib
from pathlib import Path
from typing import Any, Union

import numpy
import srsly

from ..common.checks import is_whole
from ..common.files import write_bytes
from ..common.messages import unpack
from .tables import Table, Tables

FORMAT = "spacy-multihash.tables"
VERSION = 1

# The largest count. Larger ones are negative ones, written as if they were not.
_MOST = 2**63 - 1


def write_tables(path: Union[str, Path], tables: Tables) -> None:
    """Write tables to a file, whole or not at all.

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


def read_tables(path: Union[str, Path]) -> Tables:
    """Read tables from a file.

    path (Path): The file, as `write_tables` or the command init-tables writes it.
    RETURNS (Tables): The tables.

    Raises FileNotFoundError if the file is missing, and ValueError if it is damaged, of another
    version, or no file of tables at all. It is damaged as well if its tables are not as `Table`
    says. All errors name the file.
    """
    path = Path(path)  # a config hands over a string
    return parse_tables(path, read_message(path))


def read_message(path: Path) -> Any:  # noqa: ANN401 (whatever the file holds)
    """Read what a MessagePack file holds; the errors are those of `read_tables`."""
    if not path.is_file():
        raise FileNotFoundError(
            f"No file of tables at {path}. Make it with: "
            f"python -m spacy multihash init-tables CONFIG {path}"
        )
    return _unpack(path, path.read_bytes())


def parse_tables(path: Path, message: object) -> Tables:
    """Make tables of what a file holds; the errors are those of `read_tables`."""
    if not isinstance(message, dict) or message.get("format") != FORMAT:
        raise ValueError(
            f"{path} is not a file of tables: expected a MessagePack map with format = "
            f"'{FORMAT}'. Make one with: python -m spacy multihash init-tables CONFIG OUTPUT"
        )
    if message.get("version") != VERSION:
        raise ValueError(
            f"{path} holds tables in format version {message.get('version')}, this package reads "
            f"version {VERSION}. Make it again with: python -m spacy multihash init-tables CONFIG "
            f"{path}"
        )
    packed = message.get("body")
    if not isinstance(packed, bytes) or _md5(packed) != message.get("md5"):
        raise _damaged(path, "its contents do not match its checksum")
    body = _unpack(path, packed)
    try:
        return _read_body(body)
    except ValueError as error:
        raise _damaged(path, str(error)) from error


def _read_body(body: object) -> Tables:
    """Read what a file holds, and raise ValueError with what is wrong with it."""
    if not isinstance(body, dict) or not {"min_freq", "max_rows", "tables"} <= body.keys():
        raise ValueError("expected a map of min_freq, max_rows and tables")
    min_freq, max_rows, tables = (body[key] for key in ("min_freq", "max_rows", "tables"))
    if not is_whole(min_freq, 0):
        raise ValueError(f"min_freq must be a whole number from 0 on, was: {min_freq!r}")
    if max_rows is not None and not is_whole(max_rows, 2):
        raise ValueError(f"max_rows must be a whole number from 2 on, was: {max_rows!r}")
    if not isinstance(tables, dict):
        raise ValueError(f"tables must be a map, was of the type {type(tables).__name__}")
    read = {name: _read_table(name, arrays) for name, arrays in tables.items()}
    for name, table in read.items():
        if len(table) and table.counts[-1] < min_freq:
            last = int(table.counts[-1])
            raise ValueError(
                f"{name} has a symbol with the count {last}, but min_freq is {min_freq}"
            )
        if max_rows is not None and len(table) > max_rows - 1:
            raise ValueError(f"{name} has {len(table)} symbols, but max_rows is {max_rows}")
    return Tables(read, min_freq, max_rows)


def _read_table(name: object, arrays: object) -> Table:
    """Read the table of an attribute; raise ValueError if it is not as `Table` says."""
    if not isinstance(name, str):
        raise ValueError(f"the name of a table must be a string, was: {name!r}")
    found = [arrays.get(key) for key in ("keys", "counts")] if isinstance(arrays, dict) else []
    packed = [array for array in found if isinstance(array, bytes)]
    if len(packed) != 2:
        raise ValueError(f"{name} must have keys and counts, both as bytes")
    for key, array in zip(("keys", "counts"), packed, strict=True):
        if len(array) % 8:
            size = len(array)
            raise ValueError(f"the {key} of {name} have {size} bytes, which is no multiple of 8")
    keys, counts = (numpy.frombuffer(array, dtype="<u8") for array in packed)
    if len(keys) != len(counts):
        raise ValueError(f"{name} has {len(keys)} keys and {len(counts)} counts")
    ordered = numpy.sort(keys)
    if len(twice := ordered[1:][ordered[1:] == ordered[:-1]]):
        raise ValueError(f"{name} has the symbol {twice[0]} twice")
    if len(counts) and counts.max() > _MOST:
        raise ValueError(f"counts of {name} are negative, or too large: {counts.max()}")
    # Symbols whose rows were given have no counts, and any order.
    is_tie = (counts[1:] == counts[:-1]) & (counts[1:] > 0)
    if (counts[1:] > counts[:-1]).any() or (is_tie & (keys[1:] < keys[:-1])).any():
        raise ValueError(f"the symbols of {name} are not in order: most frequent first, ties by id")
    return Table(keys, counts)


def _md5(data: bytes) -> str:
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


def _unpack(path: Path, data: bytes) -> Any:  # noqa: ANN401 (whatever the file holds)
    try:
        return unpack(data)
    except (TypeError, ValueError) as error:
        why = f"it cannot be unpacked, being cut off, or no file of tables at all ({error})"
        raise _damaged(path, why) from error


def _damaged(path: Path, why: str) -> ValueError:
    return ValueError(
        f"The file of tables {path} is damaged: {why}. Copy it again, check its name, "
        "or make it again with: python -m spacy multihash init-tables CONFIG OUTPUT"
    )
