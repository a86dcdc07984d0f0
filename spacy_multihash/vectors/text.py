"""Vectors as text, one word a line, as word2vec, fastText and floret write them; plain or .gz."""

import gzip
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import Any, BinaryIO, Optional, cast

import numpy

SUFFIXES = (".txt", ".vec", ".floret", ".gz")
_FLORET = ("minn", "maxn", "hash_count", "hash_seed", "bow", "eow")


@dataclass(frozen=True)
class Header:
    """What the first line of a file says.

    rows, width (Optional[int]): Number of vectors and their width. Rows may be None, without it.
    floret (Optional[Mapping[str, Any]]): Settings of floret, None for words.
    """

    rows: Optional[int]
    width: int
    floret: Optional[Mapping[str, Any]] = None


def is_text(path: Path) -> bool:
    """Tell whether a path has the name of a file of vectors as text."""
    return path.suffix.lower() in SUFFIXES


@contextmanager
def read_text(path: Path) -> Iterator[tuple[Header, Iterator[tuple[str, numpy.ndarray]]]]:
    """Open a file, for its header and its vectors: each word, and (width,) float32.

    The vectors raise ValueError, with the line, where a line has another width, no numbers, no
    UTF-8, or where the file is damaged.
    """
    with _opened(path, "rb") as file_:
        lines = _lines(path, file_)
        first = next(lines, None)
        if first is None:
            raise ValueError(f"{path} is empty: expected a line for each word. Check the path.")
        header = _header(path, first[1])
        if header.rows is None:
            lines = chain([first], lines)
        yield header, _vectors(path, header, lines)


def store_vectors(path: Path, vectors: Iterable[tuple[str, numpy.ndarray]]) -> list[str]:
    """Write vectors to a file of numbers, little-endian float32, and return their words."""
    words = []
    with path.open("wb") as file_:
        for word, vector in vectors:
            words.append(word)
            file_.write(vector.astype("<f4").tobytes())
    return words


def write_text(
    path: Path,
    words: Sequence[str],
    rows: Iterable[numpy.ndarray],
    width: int,
    floret: Optional[Mapping[str, Any]] = None,
    *,
    packed: bool = False,
) -> None:
    """Write vectors as text, so that they are read back as the same float32.

    words (Sequence[str]): The words, or the numbers of floret's rows.
    rows (Iterable[numpy.ndarray]): Their vectors in chunks, (n, width) float32.
    floret (Optional[Mapping[str, Any]]): Settings of floret.
    packed (bool): Write gzip.
    """
    settings = [str(floret[name]) for name in _FLORET] if floret else []
    pattern = " ".join(["%.9g"] * width)
    remaining = iter(words)
    with _opened(path, "wb", packed=packed) as file_:
        head = " ".join([str(len(words)), str(width), *settings])
        file_.write(f"{head}\n".encode())
        for chunk in rows:
            for row in chunk.tolist():
                file_.write(f"{next(remaining)} {pattern % tuple(row)}\n".encode())


@contextmanager
def _opened(path: Path, mode: str, *, packed: bool = False) -> Iterator[BinaryIO]:
    with open(path, mode) as plain:
        if not packed and (mode != "rb" or path.suffix.lower() != ".gz"):
            yield cast(BinaryIO, plain)
            return
        # Without a name and a date, the same vectors make the same bytes.
        with gzip.GzipFile("", mode, compresslevel=6, fileobj=plain, mtime=0) as unpacked:
            yield cast(BinaryIO, unpacked)


def _lines(path: Path, file_: BinaryIO) -> Iterator[tuple[int, str]]:
    """Yield number and text of each line. Only a line feed ends a line: words may have others."""
    number = 0
    try:
        for number, line in enumerate(file_, start=1):
            yield number, line.decode("utf8").rstrip(" \r\n")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}, line {number}: expected UTF-8. Convert the file.") from error
    except (EOFError, OSError, zlib.error) as error:
        raise ValueError(
            f"{path} is damaged after line {number} ({error}). Copy or make it again."
        ) from error


def _header(path: Path, line: str) -> Header:
    parts = line.split(" ")
    if len(parts) in (2, 8) and parts[0].isdecimal() and parts[1].isdecimal():
        rows, width = int(parts[0]), int(parts[1])
        if not rows or not width:
            raise ValueError(f"{path} has no vectors: its first line says {line!r}.")
        if len(parts) == 2:
            return Header(rows, width)
        if all(part.isdecimal() for part in parts[2:6]):
            values = [*map(int, parts[2:6]), *parts[6:]]
            return Header(rows, width, dict(zip(_FLORET, values, strict=True)))
    if len(parts) < 2:
        raise ValueError(
            f"{path}, line 1: expected the numbers of words and of columns, or a word and its "
            f"vector, was: {line[:40]!r}. Give vectors as word2vec writes them as text."
        )
    return Header(None, len(parts) - 1)


def _vectors(
    path: Path, header: Header, lines: Iterator[tuple[int, str]]
) -> Iterator[tuple[str, numpy.ndarray]]:
    found = 0
    for number, line in lines:
        word, *parts = line.rsplit(" ", header.width)
        if len(parts) != header.width or not word:
            was = len(line.split(" ")) - 1
            raise ValueError(
                f"{path}, line {number}: expected a word and {header.width} numbers, was a word "
                f"and {was}. Mend or remove the line."
            )
        try:
            vector = numpy.array(parts, dtype="float32")
        except ValueError as error:
            raise ValueError(f"{path}, line {number}: {error}. Mend the line.") from error
        if not numpy.isfinite(vector).all():
            raise ValueError(
                f"{path}, line {number}: the vector of {word!r} has NaN or infinity. Mend or "
                "remove the line."
            )
        found += 1
        yield word, vector
    if header.rows not in (None, found):
        raise ValueError(
            f"{path} is damaged, or cut off: its first line says {header.rows:,} vectors, but it "
            f"has {found:,}. Copy or make it again."
        )
