"""The lines of text files, with the numbers that error messages need."""

import csv
import gzip
import json
import math
import zlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

# The most characters of a field of CSV. Python's own limit is below the length of many texts.
_LONGEST_FIELD = 2**31 - 1


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each line of a UTF-8 file, reading one line at a time.

    path (Path): The file, compressed if its name ends in .gz.

    Raises ValueError for a line that is not UTF-8, and for a compressed file that is cut off.
    """
    for number, raw in _read_bytes(path):
        try:
            # A byte order mark at the start of a file is no part of its first token.
            line = raw.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise ValueError(
                f"{path}:{number}: expected UTF-8, found byte 0x{raw[error.start]:02x} at "
                f"position {error.start} of the line. Convert the file to UTF-8."
            ) from error
        yield number, line.rstrip("\r\n")


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


def read_json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number of each line that is not blank, and the JSON object on it.

    path (Path): A file with an object a line.

    Raises ValueError, with file and line, for anything else on a line.
    """
    for number, line in read_lines(path):
        if not line.strip():
            continue
        try:
            value = json.loads(line, parse_constant=_refuse, parse_float=_finite)
        except (RecursionError, ValueError) as error:
            raise _no_object(path, number, line, f" ({error})") from error
        if not isinstance(value, dict):
            raise _no_object(path, number, line)
        yield number, value


def write_json_lines(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    """Write a JSON object a line, with numbers in full, and in ASCII.

    srsly writes nine digits of a number, and fails at half of a character.
    """
    with path.open("w", encoding="ascii", newline="\n") as file_:
        for record in records:
            file_.write(f"{json.dumps(record, separators=(',', ':'))}\n")


def _refuse(constant: str) -> float:
    raise ValueError(f"{constant} is no JSON")


def _finite(digits: str) -> float:
    number = float(digits)
    if math.isinf(number):
        raise ValueError(f"{digits} is too large a number")
    return number


def _no_object(path: Path, number: int, line: str, why: str = "") -> ValueError:
    return ValueError(
        f"{path}:{number}: expected a JSON object on each line, found {line[:80]!r}{why}. "
        "Correct the line. If the file is one JSON array, write its objects on a line each."
    )


def read_csv_rows(path: Path, delimiter: str = ",") -> Iterator[tuple[int, list[str]]]:
    """Yield the fields of each row of a CSV file, and the number of the line that it begins on.

    path (Path): The file. Quotes within a quoted field are doubled.
    delimiter (str): What stands between two fields.

    Raises ValueError, with file and line, for a row that is not CSV.
    """
    lines = (f"{line}\n" for _, line in read_lines(path))
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        number = reader.line_num + 1
        limit = csv.field_size_limit(_LONGEST_FIELD)
        try:
            fields = next(reader, None)
        except csv.Error as error:
            raise ValueError(
                f"{path}:{number}: expected CSV, found {error}. Correct the line."
            ) from error
        finally:
            csv.field_size_limit(limit)
        if fields is None:
            return
        yield number, fields
