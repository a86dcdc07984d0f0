"""Tables in files: written whole or not at all, and checked when they are read.

The file format, version 1, is one MessagePack map:

    format    "spacy-multihash.tables"
    version   1
    md5       hex digest of body
    body      bytes: a MessagePack map of
        min_freq  int: symbols with a smaller count were left out (0 or 1: none)
        max_rows  int or nil: only the most frequent max_rows - 1 symbols were kept
        tables    map from the name of an attribute, as in spacy.attrs, or of n-grams, such as
                  LOWER[1,2], to a map of
            keys    bytes: the symbols' ids, little-endian uint64, by (-count, id)
            counts  bytes: their counts, little-endian uint64
"""

import hashlib
from pathlib import Path
from typing import Any, Union

import numpy
import srsly

from ..common.files import write_bytes
from .tables import Table, Tables

FORMAT = "spacy-multihash.tables"
VERSION = 1


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

    Raises FileNotFoundError if the file is missing, and ValueError if it is damaged, of another
    version, or no file of tables at all.
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
            f"version {VERSION}. Make it again with: python -m spacy multihash init-tables CONFIG "
            f"{path}"
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
