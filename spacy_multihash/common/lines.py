"""Lines of text files: read, cleaned of what can't be seen, and each accounted for."""

import gzip
import re
import zlib
from collections import Counter
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, nullcontext
from pathlib import Path
from typing import NamedTuple, Optional

# Control characters other than whitespace, soft hyphens, zero-width spaces, marks of direction, and
# byte order marks.
INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff]+"
)
_MARK = "\ufeff"
_JOINERS = "\u200c\u200d"  # they mean something between letters
_SHOWN_ERRORS = 5


def clean(word: str) -> str:
    """Return a word, tag or label without invisible characters, and whitespace around it."""
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


def skipping(bad: Optional[BadLines]) -> AbstractContextManager[None]:
    """Keep an error that is raised inside in `bad`, or raise it if `bad` is None."""
    return bad.skipped() if bad else nullcontext()


class Account:
    """What became of each line of a file. It must add up: see `check`.

    A line may be marked more than once, such as when it has several texts. Then the first of FATES
    counts.
    """

    FATES = ("written", "left out", "header", "comment", "blank")

    def __init__(self, path: Path) -> None:
        """Begin without lines."""
        self.path = path
        self._fates = bytearray()

    def read(self, number: int) -> None:
        """Note that a line was read."""
        self._fates.extend(bytes(number - len(self._fates)))

    def mark(self, fate: str, first: int, last: Optional[int] = None) -> None:
        """Say what became of the lines first to last."""
        code = self.FATES.index(fate) + 1
        for at in range(first - 1, last or first):
            self._fates[at] = min(code, self._fates[at] or code)

    def check(self) -> None:
        """Raise ValueError if a line was read, and is neither used nor left out."""
        if 0 in self._fates:
            raise ValueError(
                f"{self.path}:{self._fates.index(0) + 1}: the line isn't accounted for. Please "
                "report this, with the line."
            )

    def counts(self) -> dict[str, int]:
        """Count all lines, and the lines of each fate."""
        found = Counter(self._fates)
        counts = {fate: found[code] for code, fate in enumerate(self.FATES, start=1)}
        return {"lines": len(self._fates), **counts}


def read_lines(
    path: Path, bad: Optional[BadLines] = None, account: Optional[Account] = None
) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each line of a UTF-8 file, plain or .gz.

    bad (Optional[BadLines]): Keeps the errors of lines that aren't UTF-8. None: raise the first.
    account (Optional[Account]): Notes each line.

    Raises ValueError for a line that isn't UTF-8, and for a truncated .gz file.
    """
    for number, raw in _read_bytes(path):
        if account is not None:
            account.read(number)
        with skipping(bad):
            yield number, decode(raw, f"{path}:{number}")


def decode(raw: bytes, where: str) -> str:
    """Decode a line of UTF-8, without its end, and without byte order marks at its beginning.

    Files that were joined have such marks within them. Raises ValueError with `where`.
    """
    try:
        line = raw.decode("utf-8").rstrip("\r\n").lstrip(_MARK)
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{where}: expected UTF-8, got byte 0x{raw[error.start]:02x} at position "
            f"{error.start} of the line. Convert the file to UTF-8."
        ) from error
    if "\0" in line:
        raise ValueError(
            f"{where}: expected text in UTF-8, got a zero byte at position "
            f"{line.index(chr(0))} of the line, as files in UTF-16 have. Convert the file to UTF-8."
        )
    return line


def _read_bytes(path: Path) -> Iterator[tuple[int, bytes]]:
    number = 0
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file_:
        try:
            for number, raw in enumerate(file_, start=1):
                yield number, raw
            if path.suffix == ".gz" and not path.stat().st_size:
                raise EOFError("it has no bytes, not even those of an empty file")
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise ValueError(
                f"{path} is cut off or damaged after line {number} ({error}). Copy it again."
            ) from error
