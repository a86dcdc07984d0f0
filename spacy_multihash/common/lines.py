"""Lines of text files: read, cleaned of what can't be seen, and each accounted for."""

import gzip
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import ClassVar, NamedTuple, Optional

# Control characters other than whitespace, soft hyphens, zero-width spaces, marks of direction and
# of annotation, fillers, byte order marks, and codes that are no characters.
INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufdd0-\ufdef\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff]+"
)
_MARK = "\ufeff"
_JOINERS = "\u034f\u180e\u200c\u200d"  # they mean something between letters
_SHOWN_ERRORS = 5
# How files that aren't text begin, what they are, and what to do.
_PACKED = {
    b"\x1f\x8b": ("packed by gzip", "Unpack it, or let its name end in .gz"),
    b"PK\x03\x04": ("a zip archive, as Excel writes them", "Unpack it, or export CSV in UTF-8"),
    b"BZh": ("packed by bzip2", "Unpack it"),
    b"\xfd7zXZ": ("packed by xz", "Unpack it"),
    b"\x28\xb5\x2f\xfd": ("packed by zstd", "Unpack it"),
    b"PAR1": ("a Parquet file", "Export JSON lines"),
}


def clean(word: str) -> str:
    """Return a word, tag or label without invisible characters, and whitespace around it."""
    if word.isascii() and word.isprintable():
        return word.strip()
    return INVISIBLE.sub("", word).strip().strip(_JOINERS)


class BadLines:
    """Collects the errors of a file's lines, to raise them together."""

    def __init__(self) -> None:
        """Begin with no errors."""
        self.errors: list[str] = []

    @contextmanager
    def skipped(self) -> Iterator[None]:
        """Keep an error that is raised inside."""
        try:
            yield
        except ValueError as error:
            self.errors.append(str(error))

    def check(self, advice: str = "") -> None:
        """Raise ValueError with the first errors, their number and advice, if any."""
        shown = self.errors[:_SHOWN_ERRORS]
        if len(self.errors) > len(shown):
            shown.append(f"{len(self.errors):,} lines are wrong; these are the first five.")
        if shown:
            raise ValueError("\n".join([*shown, advice] if advice else shown))


class Problem(NamedTuple):
    """A problem with a line of a file that can be read.

    what (str): The problem, the same for all such lines.
    detail (str): The text with the problem.
    """

    line: int
    what: str
    detail: str


class Account:
    """What became of each line of a file, or of each item of a list. It must add up: see `check`.

    A line may be marked more than once, such as when it has several texts. Then the first of FATES
    counts.
    """

    FATES = ("written", "left out", "header", "comment", "blank")
    _CODES: ClassVar = {fate: code for code, fate in enumerate(FATES, start=1)}

    def __init__(self, path: Path) -> None:
        """Begin without lines."""
        self.path = path
        self._fates = bytearray()

    def read(self, number: int) -> None:
        """Note that the lines up to a number were read."""
        self._fates.extend(bytes(number - len(self._fates)))

    def mark(self, fate: str, first: int, last: Optional[int] = None) -> None:
        """Say what became of the lines first to last."""
        code = self._CODES[fate]
        for at in range(first - 1, last or first):
            self._fates[at] = min(code, self._fates[at] or code)

    @contextmanager
    def trying(self, number: int, bad: Optional[BadLines]) -> Iterator[None]:
        """Mark a line as left out if an error is raised inside, which `bad` keeps if it's given."""
        try:
            yield
        except ValueError as error:
            if bad is None:
                raise
            bad.errors.append(str(error))
            self.mark("left out", number)

    @contextmanager
    def using(self, number: int, bad: Optional[BadLines]) -> Iterator[None]:
        """Mark a line as written, or if an error is raised inside, as `trying` does."""
        with self.trying(number, bad):
            yield
            self.mark("written", number)

    def check(self) -> None:
        """Raise ValueError if a line was read, and is neither used nor left out."""
        if 0 in self._fates:
            raise ValueError(
                f"{self.path}:{self._fates.index(0) + 1}: the line isn't accounted for. Please "
                "report this, with the line."
            )

    def counts(self) -> dict[str, int]:
        """Count all lines, and the lines of each fate."""
        number = Counter(self._fates)
        counts = {fate: number[code] for fate, code in self._CODES.items()}
        return {"lines": len(self._fates), **counts}


def read_lines(
    path: Path, account: Account, bad: Optional[BadLines] = None
) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each line of a UTF-8 file, plain or .gz.

    account (Account): Notes each line, and those that `bad` keeps as left out.
    bad (Optional[BadLines]): Keeps the errors of lines that aren't UTF-8. None: raise the first.

    Raises ValueError for a line that isn't UTF-8, for a truncated .gz file, and for files of other
    kinds.
    """
    for number, raw in _read_bytes(path):
        account.read(number)
        try:
            line = decode(raw, f"{path}:{number}")
        except ValueError as error:
            if bad is None:
                raise
            bad.errors.append(str(error))
            account.mark("left out", number)
        else:
            yield number, line


def decode(raw: bytes, where: str) -> str:
    """Decode a line of UTF-8, without its end, and without byte order marks at its beginning.

    Files that were joined have such marks within them. Raises ValueError with `where`.
    """
    if b"\0" in raw:
        is_utf16 = 3 * raw.count(b"\0") >= len(raw)
        repair = "as files in UTF-16 have. Convert the file to UTF-8" if is_utf16 else "remove it"
        raise ValueError(
            f"{where}: got a zero byte at position {raw.index(0)} of the line, {repair}."
        )
    try:
        return raw.decode("utf-8").rstrip("\r\n").lstrip(_MARK)
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{where}: expected UTF-8, got byte 0x{raw[error.start]:02x} at position "
            f"{error.start} of the line. Convert the file to UTF-8."
        ) from error


def _read_bytes(path: Path) -> Iterator[tuple[int, bytes]]:
    number = 0
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file_:
        try:
            for number, raw in enumerate(file_, start=1):
                if number == 1:
                    _check_kind(path, raw)
                yield number, raw
            if path.suffix == ".gz" and not path.stat().st_size:
                raise EOFError("it has no bytes, where a packed empty file has some")
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise ValueError(
                f"{path} is cut off or damaged after line {number} ({error}). Copy it again."
            ) from error


def _check_kind(path: Path, first: bytes) -> None:
    """Raise ValueError for a packed file, or one that separates lines by carriage returns."""
    for start, (kind, repair) in _PACKED.items():
        if first.startswith(start):
            raise ValueError(f"{path} is {kind}, and no text. {repair}.")
    if not first.endswith(b"\n") and b"\r" in first.rstrip(b"\r"):
        raise ValueError(
            f"{path}:1: expected lines that end with a line feed, got carriage returns alone. "
            "Convert the line ends, for example with: tr '\\r' '\\n'"
        )
