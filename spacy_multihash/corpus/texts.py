"""Text files: their lines, JSON lines and CSV, with offsets of entities or with labels."""

import csv
import gzip
import json
import math
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Optional

ACCEPT = "accept"
DELIMITERS = (",", "\t", ";")
_KEYS = ("spans", "labels", "label", "cats")
# Read where they are lists: what is accepted of a choice, and entities if nothing else has them.
_ACCEPTED, _ENTITIES = "accept", "entities"
_ANSWER = "answer"
_EXAMPLES = (
    '"spans": [{"start": 0, "end": 4, "label": "X"}], "label": [[0, 4, "X"]], "label": "X" or '
    '"cats": {"X": 1}'
)
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


@dataclass(frozen=True)
class AnnotatedText:
    """A text as read.

    line (int): The number of its line, or of the first one.
    text (str): The text.
    spans (Sequence[tuple[int, int, str]]): Start, end and label of each entity, in characters.
    cats (Mapping[str, float]): Labels of the whole text, and whether it has them, from 0 to 1.
    is_annotated (bool): Whether the file says what the text has, even if it has nothing.
    answer (str): What an annotator said of it, as Prodigy writes it: "accept" or another.
    """

    line: int
    text: str
    spans: Sequence[tuple[int, int, str]] = ()
    cats: Mapping[str, float] = field(default_factory=dict)
    is_annotated: bool = True
    answer: str = ACCEPT


@dataclass(frozen=True)
class CsvLayout:
    """Where a CSV file has what.

    text_column, label_column (str): The names of columns, in the header.
    delimiter (Optional[str]): What stands between two fields. None: the comma, tab or semicolon
        with which the header has both columns.
    label_separator (Optional[str]): What stands between the labels of a text that may have several
        or none. None: each text has one.
    """

    text_column: str = "text"
    label_column: str = "label"
    delimiter: Optional[str] = None
    label_separator: Optional[str] = None

    def __post_init__(self) -> None:
        """Refuse a delimiter that csv does not take."""
        if self.delimiter is not None and (len(self.delimiter) != 1 or self.delimiter in '"\r\n'):
            raise ValueError(
                "Expected one character as the delimiter, which is no quote and no end of a line, "
                f"was: {self.delimiter!r}."
            )

    def find_delimiter(self, header: str) -> Optional[str]:
        """Return the delimiter with which a header has both columns, or None."""
        for delimiter in (self.delimiter,) if self.delimiter else DELIMITERS:
            names = _column_names(header.split(delimiter))
            if self.text_column in names and self.label_column in names:
                return delimiter
        return None


def read_jsonl(path: Path) -> Iterator[AnnotatedText]:
    """Yield the texts of a file with a JSON object a line.

    Entities are "spans", a list of objects as Prodigy writes it, or "label" or "labels", a list of
    lists as doccano does, or "entities", a list of either, as doccano writes it with relations.
    Labels of the whole text are "cats", an object, or "label" or "labels", a string or a list of
    strings, or the list "accept" of Prodigy's choices.

    path (Path): The file.

    Raises ValueError, with file and line, for what is none of these.
    """
    for number, record in read_json_lines(path):
        where = f"{path}:{number}"
        text = text_of(record, where)
        spans: list[tuple[int, int, str]] = []
        cats: dict[str, float] = {}
        keys = _keys_of(record)
        for key in keys:
            value = record[key]
            if isinstance(value, dict) and key == "cats":
                cats.update({_writable(k, key, where): _share(v, where) for k, v in value.items()})
            elif isinstance(value, list) and key != "cats":
                for item in value:
                    if isinstance(item, (dict, list)):
                        spans.append(_span(item, where))
                    else:
                        cats[_label(item, where, key)] = 1.0
            else:
                cats[_label(value, where, key)] = 1.0
        answer = str(record.get(_ANSWER, ACCEPT))
        yield AnnotatedText(number, text, spans, cats, bool(keys), answer)


def text_of(record: Mapping[str, Any], where: str) -> str:
    """Return the text of an object.

    where (str): File and line, for the message.

    Raises ValueError if it has none, or one that UTF-8 cannot write.
    """
    text = record.get("text")
    if not isinstance(text, str):
        raise ValueError(
            f'{where}: expected a string as "text", found {text!r} among the keys '
            f"{', '.join(map(repr, record))}. Correct the line."
        )
    return _writable(text, "text", where)


def _writable(text: str, key: str, where: str) -> str:
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f'{where}: expected as "{key}" what UTF-8 can write, found {text[error.start]!r} at '
            f"position {error.start}, which is half of a character. Correct the line."
        ) from error
    return text


def other_keys(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an object has beside its text and annotation, such as "id" and "meta"."""
    known = {"text", "tokens", *_KEYS, _ACCEPTED, _ENTITIES, _ANSWER}
    return {key: value for key, value in record.items() if key not in known}


def _keys_of(record: Mapping[str, Any]) -> list[str]:
    """List the keys of an object that say what its text has."""
    keys = [key for key in _KEYS if record.get(key) is not None]
    if isinstance(record.get(_ACCEPTED), list):
        keys.append(_ACCEPTED)
    named = any(_names_entities(key, record[key]) for key in keys)
    if not named and isinstance(record.get(_ENTITIES), list):
        keys.append(_ENTITIES)
    return keys


def _names_entities(key: str, value: Any) -> bool:  # noqa: ANN401 (any JSON)
    return key == "spans" or (
        isinstance(value, list) and any(isinstance(item, (dict, list)) for item in value)
    )


def _label(value: Any, where: str, key: str) -> str:  # noqa: ANN401 (any JSON)
    is_number = isinstance(value, int) and not isinstance(value, bool)
    if key in ("label", "labels", _ACCEPTED) and (
        is_number or (isinstance(value, str) and value.strip())
    ):
        return _writable(str(value), key, where)
    raise ValueError(
        f'{where}: expected as "{key}" something like {_EXAMPLES}; found {value!r}. '
        "Correct the line."
    )


def _share(value: Any, where: str) -> float:  # noqa: ANN401 (any JSON)
    if isinstance(value, (bool, int, float)) and 0 <= value <= 1:
        return float(value)
    raise ValueError(
        f'{where}: expected true, false or a number from 0 to 1 for each label of "cats", found '
        f"{value!r}. Correct the line."
    )


def _span(item: Any, where: str) -> tuple[int, int, str]:  # noqa: ANN401 (any JSON)
    fields = item
    if isinstance(item, dict):
        start, end = (item.get(key, item.get(f"{key}_offset")) for key in ("start", "end"))
        fields = [start, end, item.get("label")]
    if len(fields) == 3:
        start, end, label = fields
        if isinstance(start, int) and isinstance(end, int) and isinstance(label, str) and label:
            return start, end, _writable(label, "label", where)
    raise ValueError(
        f'{where}: expected an entity like {{"start": 0, "end": 4, "label": "X"}} or [0, 4, "X"], '
        f"found {item!r}. Correct the line."
    )


def _column_names(header: Sequence[str]) -> list[str]:
    """List the names of columns. Blanks around them are left out, and quotes after a blank."""
    return [name.strip().strip('"') for name in header]


def read_csv(path: Path, layout: CsvLayout) -> Iterator[AnnotatedText]:
    """Yield the texts of a CSV file with a header.

    path (Path): The file.
    layout (CsvLayout): Where it has what.

    Raises ValueError, with file and line, for a header without the columns, a row with another
    number of fields, and a row without a label where each text has one.
    """
    _, header_line = next(read_lines(path), (1, ""))
    delimiter = layout.find_delimiter(header_line)
    if delimiter is None:
        raise ValueError(
            f"{path}:1: expected a header with the columns {layout.text_column!r} and "
            f"{layout.label_column!r}, found {header_line[:80]!r}. Add a header, or name the "
            "columns and what stands between them."
        )
    rows = read_csv_rows(path, delimiter)
    header = _column_names(next(rows)[1])
    text_at, label_at = header.index(layout.text_column), header.index(layout.label_column)
    for number, row in rows:
        if not row:
            continue
        if len(row) != len(header):
            raise ValueError(
                f"{path}:{number}: expected {len(header)} fields as in the header, found "
                f"{len(row)} in {str(row)[:80]}. Correct the line. A field with {delimiter!r} in "
                "it stands in quotes."
            )
        separator = layout.label_separator
        parts = row[label_at].split(separator) if separator else [row[label_at]]
        labels = [part.strip() for part in parts if part.strip()]
        if not labels and not separator:
            raise ValueError(
                f"{path}:{number}: expected a label in the column {layout.label_column!r}, found "
                "none. Correct the line, or give what separates several labels if a text may have "
                "none."
            )
        yield AnnotatedText(number, row[text_at], (), dict.fromkeys(labels, 1.0))
