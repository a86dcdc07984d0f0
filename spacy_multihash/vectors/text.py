"""Vectors as text, one word a line, as word2vec, fastText and floret write them.

Files are plain or .gz. The first file of a .zip, .tar.gz or .tgz is read, too.
"""

import codecs
import gzip
import re
import tarfile
import zipfile
import zlib
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, closing, contextmanager
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import IO, Any, Optional, cast

import numpy

from .table import FLORET

SUFFIXES = (".txt", ".vec", ".floret", ".gz")
_MAX_QUOTED = 60  # characters
# The end of a word that looks like one more number of its vector, as in "word0 -7.86".
_NUMBER_AT_END = re.compile(r" [-+]?(?=\.?\d)(\d*\.\d*([eE][-+]?\d+)?|\d+[eE][-+]?\d+)$")
_BLANKS = re.compile("[ \t]+")
# Names of vectors that fastText, gensim, numpy and others write as bytes.
_BINARY = (".bin", ".ftz", ".h5", ".kv", ".magnitude", ".model", ".npy", ".pickle", ".pkl", ".pt")
_TARS = (".tar.gz", ".tgz")
_DAMAGED = (
    EOFError,
    NotImplementedError,  # an archive that is packed in a way that Python lacks
    OSError,
    RuntimeError,  # an archive with a password
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
)


@dataclass(frozen=True)
class Header:
    """What the first line of a file says.

    rows, width (Optional[int]): Number of vectors and their width. Rows may be None, without it.
    floret (Optional[Mapping[str, Any]]): Settings of floret, None for words.
    """

    rows: Optional[int]
    width: int
    floret: Optional[Mapping[str, Any]] = None


def ends_in_number(word: str) -> bool:
    """Tell whether a word ends in a blank, or in one and a number with a point or an exponent.

    On a line of text, it would be taken for a shorter word, or with a wider vector.
    """
    return " " in word and (word[-1] == " " or _NUMBER_AT_END.search(word) is not None)


def is_text(path: Path) -> bool:
    """Tell whether a path has the name of a file of vectors as text."""
    return path.suffix.lower() in SUFFIXES


def is_codes(path: Path) -> bool:
    """Tell whether a path has the name of a file of codes."""
    return path.suffix.lower() == ".npz"


@contextmanager
def read_text(path: Path) -> Iterator[tuple[Header, Iterator[tuple[str, numpy.ndarray]]]]:
    """Open a file, for its header and its vectors: each word, and (width,) float32.

    Blanks or tabs part the columns, and blank lines are skipped. The vectors raise ValueError, with
    the line, where a line has another width, no numbers, no UTF-8, or where the file is damaged. A
    word may have blanks, but not end in a number with a point or an exponent: that is a line with
    one number too many.
    """
    with closing(_lines(path)) as numbered:
        lines: Iterator[tuple[int, str]] = numbered
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
    settings = [str(floret[name]) for name in FLORET] if floret else []
    pattern = " ".join(["%.9g"] * width)
    remaining = iter(words)
    with _created(path, packed=packed) as file_:
        head = " ".join([str(len(words)), str(width), *settings])
        file_.write(f"{head}\n".encode())
        for chunk in rows:
            for row in chunk.tolist():
                file_.write(f"{next(remaining)} {pattern % tuple(row)}\n".encode())


@contextmanager
def _unpacked(path: Path) -> Iterator[IO[bytes]]:
    """Open a file, or the first one in an archive. Raises ValueError if it has none."""
    name = path.name.lower()
    with ExitStack() as stack:
        found: Optional[IO[bytes]]
        if name.endswith(_TARS):
            tar = stack.enter_context(tarfile.open(path, "r:gz"))
            file_ = next((member for member in tar if member.isfile()), None)
            found = tar.extractfile(file_) if file_ else None
        elif name.endswith(".zip"):
            archive = stack.enter_context(zipfile.ZipFile(path))
            first = next((info for info in archive.infolist() if not info.is_dir()), None)
            found = archive.open(first) if first else None
        else:
            found = cast(IO[bytes], (gzip.open if name.endswith(".gz") else open)(path, "rb"))
        if found is None:
            raise ValueError(f"{path} has no file in it: expected one with vectors. Pack it again.")
        yield stack.enter_context(found)


@contextmanager
def _created(path: Path, *, packed: bool) -> Iterator[IO[bytes]]:
    with path.open("wb") as plain:
        if not packed:
            yield plain
            return
        # Without a name and a date, the same vectors make the same bytes.
        with gzip.GzipFile("", "wb", compresslevel=6, fileobj=plain, mtime=0) as file_:
            yield cast(IO[bytes], file_)


def _lines(path: Path) -> Generator[tuple[int, str], None, None]:
    """Yield number and text of each line. Only a line feed ends a line: words may have others."""
    number = 0
    try:
        with _unpacked(path) as file_:
            for number, line in enumerate(file_, start=1):
                if number == 1:
                    line = line.removeprefix(codecs.BOM_UTF8)
                if b"\0" in line:
                    raise _is_binary(path)
                text = line.decode("utf8").rstrip(" \t\r\n")
                if text:
                    yield number, text
    except UnicodeDecodeError as error:
        if path.suffix.lower() in _BINARY:
            raise _is_binary(path) from error
        raise ValueError(f"{path}, line {number}: expected UTF-8. Convert the file.") from error
    except _DAMAGED as error:
        raise ValueError(
            f"{path} is damaged after line {number} ({error}). Copy or make it again."
        ) from error


def _is_binary(path: Path) -> ValueError:
    return ValueError(
        f"{path} is a binary file: expected vectors as text in UTF-8. Write it as text, such as by "
        "gensim: KeyedVectors.load_word2vec_format(path, binary=True)"
        '.save_word2vec_format("vectors.txt")'
    )


def _header(path: Path, line: str) -> Header:
    parts = _BLANKS.split(line)
    if len(parts) in (2, 8) and parts[0].isdecimal() and parts[1].isdecimal():
        rows, width = int(parts[0]), int(parts[1])
        if not rows or not width:
            raise ValueError(
                f"{path} has no vectors: its first line says {_cut(line)!r}. Give a file with rows "
                "and columns, or make this one again."
            )
        if len(parts) == 2:
            return Header(rows, width)
        if all(part.isdecimal() for part in parts[2:6]):
            values = [*map(int, parts[2:6]), *parts[6:]]
            return Header(rows, width, dict(zip(FLORET, values, strict=True)))
    if len(parts) < 2:
        raise ValueError(
            f"{path}, line 1: expected the numbers of words and of columns, or a word and its "
            f"vector, was: {_cut(line)!r}. Give vectors as word2vec writes them as text."
        )
    return Header(None, len(parts) - 1)


def _vectors(
    path: Path, header: Header, lines: Iterator[tuple[int, str]]
) -> Iterator[tuple[str, numpy.ndarray]]:
    found = 0
    for number, line in lines:
        word, *parts = line.rsplit(" ", header.width)
        if len(parts) != header.width or "" in parts or "\t" in "".join(parts) or word[-1:] == " ":
            # Tabs, or several blanks, part the columns
            word, *parts = _BLANKS.sub(" ", line).rsplit(" ", header.width)
        if not word:
            raise ValueError(
                f"{path}, line {number}: the word is empty, in {_cut(line)!r}. Mend or remove the "
                "line."
            )
        if len(parts) != header.width:
            raise ValueError(
                f"{path}, line {number}: expected a word and {header.width} numbers, was a word "
                f"and {len(parts)}: {_cut(line)!r}. Mend or remove the line."
            )
        if ends_in_number(word):
            raise ValueError(
                f"{path}, line {number}: expected a word and {header.width} numbers, as line 1 "
                f"has it, was one number more: the word would be {_cut(word)!r}. Mend the line, or "
                "line 1."
            )
        try:
            with numpy.errstate(over="ignore"):  # which is refused below
                vector = numpy.array(parts, dtype="float32")
        except ValueError as error:
            raise ValueError(
                f"{path}, line {number}: {_cut(str(error))}. Mend the line."
            ) from error
        if not numpy.isfinite(vector).all():
            raise ValueError(
                f"{path}, line {number}: the vector of {_cut(word)!r} has NaN or infinity. Mend or "
                "remove the line."
            )
        found += 1
        yield word, vector
    if header.rows not in (None, found):
        raise ValueError(
            f"{path} is damaged, or cut off: its first line says {header.rows:,} vectors, but it "
            f"has {found:,}. Copy or make it again."
        )


def _cut(text: str) -> str:
    """Cut what a message quotes, so that a line of binary data does not fill the screen."""
    return text if len(text) <= _MAX_QUOTED else f"{text[:_MAX_QUOTED]} ..."
