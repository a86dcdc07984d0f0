"""Lines of text files: read, cleaned of what can't be seen, and each accounted for."""

import gzip
import re
import tarfile
import zipfile
import zlib
from collections import Counter
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import IO, ClassVar, NamedTuple, Optional, cast

# Control characters other than whitespace, soft hyphens, zero-width spaces, marks of direction and
# of annotation, fillers, byte order marks, halves of characters, and codes that are no characters.
INVISIBLE = re.compile(
    "[\x00-\x08\x0e-\x1b\x7f-\x84\x86-\x9f\xad\u061c\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ud800-\udfff\ufdd0-\ufdef\ufeff\uffa0\ufff0-\ufffb\ufffe\uffff]+"
)
_MARK = "\ufeff"
_JOINERS = "\u034f\u180e\u200c\u200d"  # they mean something between letters
_SHOWN_ERRORS = 5
_ERRORS_OF_DAMAGED_FILES = (
    EOFError,
    gzip.BadGzipFile,
    RuntimeError,  # an archive with a password, or an unsupported compression
    tarfile.TarError,
    zipfile.BadZipFile,
    zlib.error,
)
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


class Problem(NamedTuple):
    """A problem with a line of a file that can be read.

    kind (str): The problem, the same for all such lines.
    detail (str): The text with the problem.
    """

    line: int
    kind: str
    detail: str


class Account:
    """What became of each line of a file, or of each item of a list, and what's wrong with it.

    It must add up: see `check`. A line may be marked more than once, such as when it has several
    texts. Then the first of FATES counts.

    errors (list[str]): The errors of lines that can't be read, if they're kept.
    problems (list[Problem]): The problems of lines that can be read.
    notes (list[str]): What to know about the file.
    """

    FATES = ("written", "left out", "header", "comment", "blank")
    _CODES: ClassVar = {fate: code for code, fate in enumerate(FATES, start=1)}

    def __init__(self, path: Path, *, keeps_errors: bool = False) -> None:
        """Begin without lines. keeps_errors (bool): Whether to go on after an error of a line."""
        self.path, self.keeps_errors = path, keeps_errors
        self.errors: list[str] = []
        self.problems: list[Problem] = []
        self.notes: list[str] = []
        self._fates = bytearray()

    def read(self, number: int) -> None:
        """Note that the lines up to a number were read."""
        while len(self._fates) < number:
            self._fates.append(0)

    def mark(self, fate: str, first: int, last: Optional[int] = None) -> None:
        """Say what became of the lines first to last."""
        code, fates = self._CODES[fate], self._fates
        for at in range(first - 1, last or first):
            if not 0 < fates[at] < code:
                fates[at] = code

    def problem(self, line: int, kind: str, detail: str) -> None:
        """Note a problem of a line."""
        self.problems.append(Problem(line, kind, detail))

    def at(self, number: int) -> str:
        """Name a line, or a document of a .spacy file."""
        item = " document " if self.path.suffix == ".spacy" else ""
        return f"{self.path}:{item}{number}"

    def refuse(self, number: int, why: str) -> None:
        """Keep the error of a line and mark it as left out, or raise the error."""
        error = f"{self.at(number)}: {why}"
        if not self.keeps_errors:
            raise ValueError(error)
        self.errors.append(error)
        self.mark("left out", number)

    @contextmanager
    def line(self, number: int, fate: Optional[str] = None) -> Iterator[None]:
        """Refuse a line for the ValueError that is raised inside. Otherwise, mark its fate."""
        try:
            yield
        except ValueError as error:
            self.refuse(number, str(error))
        else:
            if fate is not None:
                self.mark(fate, number)

    def check_errors(self, advice: str = "") -> None:
        """Raise ValueError with the first errors that were kept, their number, and advice."""
        shown = self.errors[:_SHOWN_ERRORS]
        if len(self.errors) > len(shown):
            shown.append(f"{len(self.errors):,} lines are wrong; these are the first five.")
        if shown:
            raise ValueError("\n".join([*shown, advice] if advice else shown))

    def check(self) -> None:
        """Raise ValueError if a line was read, and is neither used nor left out."""
        if 0 in self._fates:
            raise ValueError(
                f"{self.at(self._fates.index(0) + 1)}: the line isn't accounted for. Please "
                "report this, with the line."
            )

    def counts(self) -> dict[str, int]:
        """Count all lines, and the lines of each fate."""
        number = Counter(self._fates)
        counts = {fate: number[code] for fate, code in self._CODES.items()}
        return {"lines": len(self._fates), **counts}


def read_lines(
    account: Account, *, keeps_ends: bool = False, advice: str = ""
) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each line of a UTF-8 file.

    The file is plain or .gz, or the only file in a .zip, .tar.gz or .tgz. A line feed ends a line.

    keeps_ends (bool): Whether texts have their line ends.
    advice (str): What to do about lines that aren't UTF-8.

    Raises ValueError for a line that isn't UTF-8, which the account may keep, for damaged archives,
    and for files of other kinds.
    """
    for number, raw in _read_bytes(account.path):
        account.read(number)
        try:
            line = _decoded(raw)
        except ValueError as error:
            account.refuse(number, f"{error} {advice}".strip())
        else:
            yield number, line if keeps_ends else line.rstrip("\r\n")


def _decoded(raw: bytes) -> str:
    """Decode a line, without byte order marks at its beginning, which joined files have within."""
    if b"\0" in raw:
        is_utf16 = 3 * raw.count(b"\0") >= len(raw)
        repair = "as files in UTF-16 have. Convert the file to UTF-8" if is_utf16 else "remove it"
        raise ValueError(f"got a zero byte at position {raw.index(0)} of the line, {repair}.")
    try:
        return raw.decode().lstrip(_MARK)
    except UnicodeDecodeError as error:
        raise ValueError(
            f"expected UTF-8, got byte 0x{raw[error.start]:02x} at position "
            f"{error.start} of the line. Convert the file to UTF-8."
        ) from error


def _read_bytes(path: Path) -> Iterator[tuple[int, bytes]]:
    number = 0
    try:
        with _opened(path) as file_:
            for number, raw in enumerate(file_, start=1):
                if number == 1:
                    _check_kind(path, raw)
                yield number, raw
        if path.suffix == ".gz" and not path.stat().st_size:
            raise EOFError("it has no bytes, where a packed empty file has some")
    except _ERRORS_OF_DAMAGED_FILES as error:
        raise ValueError(
            f"{path} is cut off or damaged after line {number} ({error}). Copy it again."
        ) from error


@contextmanager
def _opened(path: Path) -> Iterator[IO[bytes]]:
    name = path.name.lower()
    with ExitStack() as stack:
        if name.endswith((".tar.gz", ".tgz")):
            tar = stack.enter_context(tarfile.open(path, "r:gz"))
            member = _only(path, [member.name for member in tar if member.isfile()])
            file_ = cast(IO[bytes], tar.extractfile(member))
        elif name.endswith(".zip"):
            archive = stack.enter_context(zipfile.ZipFile(path))
            names = [info.filename for info in archive.infolist() if not info.is_dir()]
            member = _only(path, [name for name in names if not name.startswith("__MACOSX/")])
            file_ = archive.open(member)
        else:
            file_ = cast(IO[bytes], (gzip.open if name.endswith(".gz") else open)(path, "rb"))
        yield stack.enter_context(file_)


def _only(path: Path, names: Sequence[str]) -> str:
    """Return the name of the only file in an archive."""
    if not names:
        raise EOFError("the archive has no file")
    if len(names) > 1:
        raise ValueError(
            f"{path}: expected an archive with one file, got {', '.join(names)}. Unpack it, and "
            "give the path of one of them."
        )
    return names[0]


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
