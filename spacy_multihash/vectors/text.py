"""Vectors as text, a word per line, in the format of word2vec, GloVe, fastText and floret."""

import gzip
import re
from collections.abc import Iterable, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import IO, Any, NamedTuple, Optional, cast

import numpy

from ..common.lines import Account, read_lines
from ..common.progress import Progress, no_progress
from .table import FLORET

SUFFIXES = (".txt", ".vec", ".floret", ".gz")
_BLANKS = re.compile("[ \t]+")
# The end of a word that looks like a number of its vector, as in "word0 -7.86". It may be before
# what ends a line elsewhere.
_NUMBER_AT_END = re.compile(
    r" [-+]?(?=\.?\d)(\d*\.\d*([eE][-+]?\d+)?|\d+[eE][-+]?\d+)($|[\r\v\f\x1c-\x1e\x85\u2028\u2029])"
)
_CONVERT = (
    "Vectors in binary must be converted, for example with gensim: "
    "KeyedVectors.load_word2vec_format(path, binary=True)"
    '.save_word2vec_format("vectors.txt")'
)


class Header(NamedTuple):
    """The first line: the number of vectors, their width, and settings of floret.

    Without a header, rows is None.
    """

    rows: Optional[int]
    width: int
    floret: Optional[dict[str, Any]] = None


def is_text(path: Path) -> bool:
    """Return whether a path has the suffix of a file of vectors as text."""
    return path.suffix.lower() in SUFFIXES


def ends_in_number(word: str) -> bool:
    """Return whether a word, or a line in it, ends in a blank, or in a blank and a decimal number.

    On a line of text, its end would be read as part of the vector.
    """
    return " " in word and (word[-1] == " " or _NUMBER_AT_END.search(word) is not None)


def read_text(
    path: Path, progress: Progress = no_progress
) -> tuple[list[str], numpy.ndarray, Optional[dict[str, Any]]]:
    """Read a file, plain or .gz, or the only file in a .zip, .tar.gz or .tgz.

    Blanks or tabs separate the columns, and blank lines are skipped. Words may contain blanks, but
    can't end in a decimal number: such a line has an extra column.

    Returns the words, their vectors (words, width) float32, and the settings of floret. Raises
    ValueError, with the line, for another width and wrong numbers, and the errors of `read_lines`.
    """
    words, numbers, account = list[str](), bytearray(), Account(path)
    header: Optional[Header] = None
    lines = read_lines(account, advice=_CONVERT)
    for number, line in progress(lines, desc="Reading", unit=" lines"):
        # Only a line feed ends a line, and words keep invisible characters.
        text = line.rstrip(" \t\r")
        if not text:
            account.mark("blank", number)
            continue
        try:  # account.line would take a quarter more time
            if header is None:
                header = _header(text)
                if header.rows is not None:
                    account.mark("header", number)
                    continue
            word, vector = _parsed(text, header.width)
        except ValueError as error:
            account.refuse(number, str(error))
            continue
        words.append(word)
        numbers += vector.tobytes()
        account.mark("written", number)
    account.check()
    if header is None:
        raise ValueError(f"{path} is empty: expected a line for each word. Check the path.")
    if header.rows not in (None, len(words)):
        raise ValueError(
            f"{path} is damaged or cut off: its first line says {header.rows:,} vectors, but it "
            f"has {len(words):,}. Copy or make it again."
        )
    if header.floret is not None and words != [str(row) for row in range(len(words))]:
        raise ValueError(f"{path} must number the rows of floret from 0 on, line by line.")
    return words, numpy.frombuffer(numbers, "float32").reshape(-1, header.width), header.floret


def write_text(
    path: Path,
    words: Iterable[str],
    rows: Sequence[int],
    data: numpy.ndarray,
    floret: Optional[dict[str, Any]] = None,
    *,
    packed: bool = False,
) -> None:
    """Write vectors so that reading them gives the same float32 values.

    words, rows: The words, and each word's row of `data` (V, width).
    packed (bool): Write gzip. The same vectors give the same bytes.
    """
    settings = [str(floret[name]) for name in FLORET] if floret else []
    pattern = " ".join(["%.9g"] * data.shape[1])
    with ExitStack() as stack:
        file_: IO[bytes] = stack.enter_context(path.open("wb"))
        if packed:
            packing = gzip.GzipFile("", "wb", compresslevel=6, fileobj=file_, mtime=0)
            file_ = cast(IO[bytes], stack.enter_context(packing))
        file_.write((" ".join([str(len(rows)), str(data.shape[1]), *settings]) + "\n").encode())
        for word, row in zip(words, rows, strict=True):
            file_.write(f"{word} {pattern % tuple(data[row].tolist())}\n".encode())


def _header(line: str) -> Header:
    columns = _BLANKS.split(line)
    if len(columns) in (2, 8) and all(map(str.isdecimal, columns[:6])):
        rows, width, *settings = map(int, columns[:6])
        if not rows or not width:
            raise ValueError(f"there are no vectors, but {_short(line)!r}. Make the file again.")
        if not settings:
            return Header(rows, width)
        values = dict(zip(FLORET, [*settings, *columns[6:]], strict=True))
        return Header(rows, width, {"mode": "floret", **values})
    if len(columns) < 2:
        raise ValueError(
            "expected the numbers of words and of columns, or a word and its vector, got "
            f"{_short(line)!r}. Give vectors as word2vec writes them as text."
        )
    return Header(None, len(columns) - 1)


def _parsed(line: str, width: int) -> tuple[str, numpy.ndarray]:
    word, *columns = line.rsplit(" ", width)
    if len(columns) != width or "" in columns or "\t" in "".join(columns) or word[-1:] == " ":
        word, *columns = _BLANKS.sub(" ", line).rsplit(" ", width)
    if not word:
        raise ValueError(f"the word is empty in {_short(line)!r}. Correct or remove the line.")
    if len(columns) != width or ends_in_number(word):
        raise ValueError(
            f"expected a word and {width} numbers, as the first line has, got {_short(line)!r}. "
            "Correct or remove the line."
        )
    with numpy.errstate(over="ignore"):  # check_table raises
        return word, numpy.array(columns, dtype="float32")


def _short(text: str) -> str:
    return text if len(text) <= 60 else f"{text[:60]} ..."
