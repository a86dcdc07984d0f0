"""Text files: their lines, JSON lines and CSV, with offsets of entities or with labels."""

import ast
import csv
import gzip
import json
import warnings
import zlib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, Optional

ACCEPT = "accept"
REJECT = "reject"
DELIMITERS = (",", "\t", ";", "|")
_KEYS = ("spans", "labels", "label", "cats")
# Only read if they are lists: accepted choices, and entities if no other key has them.
_ACCEPTED, _ENTITIES = "accept", "entities"
_ANSWER = "answer"
# What may name the document that a text is from, in an object, its "meta" or "data", or a header.
GROUP_KEYS = ("doc_id", "document_id", "article_id", "document", "article", "source")
_EXAMPLES = (
    '"spans": [{"start": 0, "end": 4, "label": "X"}], "label": [[0, 4, "X"]], "label": "X" or '
    '"cats": {"X": 1}'
)
# The maximum length of a CSV field. Python's own limit is too low for many texts.
_LONGEST_FIELD = 2**31 - 1
_SHOWN_ERRORS = 5


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

    def check(self) -> None:
        """Raise ValueError with the first errors and their number, if any."""
        shown = self.errors[:_SHOWN_ERRORS]
        if len(self.errors) > len(shown):
            shown.append(f"{len(self.errors):,} lines are wrong; these are the first five.")
        if shown:
            raise ValueError("\n".join(shown))


def skipping(bad: Optional[BadLines]) -> AbstractContextManager[None]:
    """Keep an error that is raised inside in `bad`, or raise it if `bad` is None."""
    return bad.skipped() if bad else nullcontext()


def read_lines(path: Path, bad: Optional[BadLines] = None) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each line of a UTF-8 file, plain or .gz.

    bad (Optional[BadLines]): Keeps the errors of lines that aren't UTF-8. None: raise the first.

    Raises ValueError for a line that isn't UTF-8, and for a truncated .gz file.
    """
    for number, raw in _read_bytes(path):
        with skipping(bad):
            yield number, _decoded(raw, path, number)


def _decoded(raw: bytes, path: Path, number: int) -> str:
    try:
        # A byte order mark at the start of a file isn't part of its first token.
        return raw.decode("utf-8-sig" if number == 1 else "utf-8").rstrip("\r\n")
    except UnicodeDecodeError as error:
        raise ValueError(
            f"{path}:{number}: expected UTF-8, found byte 0x{raw[error.start]:02x} at "
            f"position {error.start} of the line. Convert the file to UTF-8."
        ) from error


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


def read_json_lines(
    path: Path, bad: Optional[BadLines] = None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number of each line that isn't blank, and its JSON object.

    bad (Optional[BadLines]): Keeps the errors of other lines. None: raise the first.

    Raises ValueError, with file and line, for any other line.
    """
    for number, line in read_lines(path, bad):
        if not line.strip():
            continue
        with skipping(bad):
            value = _parsed(path, number, line)
            if not isinstance(value, dict):
                raise _no_object(path, number, line)
            yield number, value


def _parsed(path: Path, number: int, text: str) -> Any:  # noqa: ANN401 (any JSON)
    try:
        return json.loads(text)
    except (RecursionError, ValueError) as error:
        raise _no_object(path, number, text, f" ({error})") from error


def _no_object(path: Path, number: int, line: str, why: str = "") -> ValueError:
    return ValueError(
        f"{path}:{number}: expected a JSON object on each line, found {line[:80]!r}{why}. "
        "Correct the line."
    )


def write_json_lines(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    """Write JSON objects, one per line, with numbers in full, and in ASCII.

    srsly rounds numbers to nine digits, and fails at lone surrogates.
    """
    with path.open("w", encoding="ascii", newline="\n") as file_:
        for record in records:
            file_.write(f"{json.dumps(record, separators=(',', ':'))}\n")


def read_csv_rows(path: Path, delimiter: str, bad: BadLines) -> Iterator[tuple[int, list[str]]]:
    """Yield the fields of each row of a CSV file, and the number of its first line.

    Quotes within a quoted field are doubled.

    bad (BadLines): Keeps the errors of rows that aren't CSV, with file and line.
    """
    csv.field_size_limit(_LONGEST_FIELD)
    lines = (f"{line}\n" for _, line in read_lines(path))
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    while True:
        number = reader.line_num + 1
        with bad.skipped():
            try:
                fields = next(reader)
            except StopIteration:
                return
            except csv.Error as error:
                raise ValueError(
                    f"{path}:{number}: expected CSV, found {error}. Correct the line."
                ) from error
            yield number, fields


class TextSpan(NamedTuple):
    """An entity as read: its offsets as the file counts them, and its text if given.

    answer (str): The annotator's answer: "accept", "reject" or another.
    """

    start: int
    end: int
    label: str
    text: Optional[str] = None
    answer: str = ACCEPT


@dataclass(frozen=True)
class AnnotatedText:
    """A text as read.

    line (int): The number of its first line.
    cats (Mapping[str, float]): The labels of the whole text, with values from 0 to 1.
    is_annotated (bool): Whether the file annotates the text, even as empty.
    answer (str): The annotator's answer, as Prodigy writes it: "accept" or another.
    group (str): What names the document that the text is from, or "".
    """

    line: int
    text: str
    spans: Sequence[TextSpan] = ()
    cats: Mapping[str, float] = field(default_factory=dict)
    is_annotated: bool = True
    answer: str = ACCEPT
    group: str = ""


@dataclass(frozen=True)
class CsvLayout:
    """The columns of a CSV file.

    text_column, label_column (str): The names of columns, in the header.
    label_separator (Optional[str]): Separates the labels of a text, which may have any number of
        labels. None: each text has one label.
    """

    text_column: str = "text"
    label_column: str = "label"
    label_separator: Optional[str] = None

    def find_delimiter(self, header: str) -> Optional[str]:
        """Return the delimiter that gives a header both columns, or None."""
        for delimiter in DELIMITERS:
            if {self.text_column, self.label_column} <= {*_column_names(header.split(delimiter))}:
                return delimiter
        return None


def group_of(record: Any, key: Optional[str]) -> str:  # noqa: ANN401 (any JSON)
    """Return what names the document of an object's text, in the object, its "meta" or "data".

    key (Optional[str]): The key that has it. None: the first of GROUP_KEYS.
    """
    if not isinstance(record, dict):
        return ""
    places = [record, *(record[k] for k in ("meta", "data") if isinstance(record.get(k), dict))]
    names = GROUP_KEYS if key is None else (key,)
    found = (place[name] for name in names for place in places if name in place)
    return next((str(value) for value in found if isinstance(value, (str, int))), "")


def read_jsonl(path: Path, group: Optional[str] = None) -> Iterator[AnnotatedText]:
    """Yield the texts of a file with a JSON object on each line, or a JSON array.

    Entities are "spans", a list of objects as in Prodigy, or "label" or "labels", a list of lists
    as in doccano, or "entities", a list of either, as in doccano's exports with relations.
    Labels of the whole text are "cats", an object, or "label" or "labels", a string or a list of
    strings, or the list "accept" of Prodigy's choices. Exports of Label Studio and training data of
    spaCy 2 are read, too.

    group (Optional[str]): The key of `group_of`.

    Raises ValueError, with file and line, for anything else.
    """
    bad = BadLines()
    for number, value in json_values(path, bad):
        with bad.skipped():
            where = f"{path}:{number}"
            record = _of_tools(value, where)
            if not isinstance(record, dict):
                raise _no_object(path, number, json.dumps(value))
            text = text_of(record, where)
            spans: list[TextSpan] = []
            cats: dict[str, float] = {}
            keys = _keys_of(record)
            for key in keys:
                _annotate(record[key], key, where, spans, cats)
            answer = str(record.get(_ANSWER, ACCEPT))
            of = group_of(value, group)
            yield AnnotatedText(number, text, spans, cats, bool(keys), answer, of)
    bad.check()


def json_values(path: Path, bad: BadLines) -> Iterator[tuple[int, Any]]:
    """Yield the values of a file, one per line, or the items of its only value."""
    lines = ((number, line) for number, line in read_lines(path) if line.strip())
    number, first = next(lines, (1, ""))
    if first.lstrip().startswith("[") or first.strip() == "{":
        try:
            value = _parsed(path, number, "\n".join(line for _, line in read_lines(path)))
        except ValueError:
            if first.strip() in ("[", "{"):
                raise
        else:
            yield from ((number, item) for item in _items(value))
            return
    for at, line in chain([(number, first)] if first else [], lines):
        with bad.skipped():
            value = _parsed(path, at, line)
            yield from (
                (at, item) for item in (_items(value) if isinstance(value, dict) else [value])
            )


def _items(value: Any) -> list[Any]:  # noqa: ANN401 (any JSON)
    """List the texts of an array, or of a file of NER Annotator."""
    if isinstance(value, dict) and isinstance(value.get("classes"), list):
        value = [item for item in value.get("annotations") or [] if item is not None]
    return value if isinstance(value, list) and not _is_pair(value) else [value]


def _is_pair(value: Any) -> bool:  # noqa: ANN401 (any JSON)
    """Return whether a value is a text with its annotation, as in training data of spaCy 2."""
    return isinstance(value, list) and [type(item) for item in value] == [str, dict]


def _of_tools(value: Any, where: str) -> Any:  # noqa: ANN401 (any JSON)
    """Convert the objects of other tools to Prodigy's."""
    if _is_pair(value):
        return {"text": value[0], **value[1]}
    if not isinstance(value, dict):
        return value
    if "paragraphs" in value:
        raise ValueError(f"{where}: found training data of spaCy 2. Use spacy convert instead.")
    tasks = value.get("annotations", value.get("completions"))
    if isinstance(value.get("data"), dict) and isinstance(tasks, list):
        return _of_label_studio(value["data"], tasks, where)
    if "text" in value and isinstance(tasks, list) and "completions" not in value:
        if any(isinstance(task, dict) and isinstance(task.get("label"), int) for task in tasks):
            raise ValueError(
                f"{where}: found an old export of doccano, which has numbers in the place of "
                "labels. Export the project as JSONL with text labels."
            )
        return {"spans": tasks, **value}
    return value


def _of_label_studio(data: Mapping[str, Any], tasks: Sequence[Any], where: str) -> dict[str, Any]:
    """Return the text of a task, with its annotations."""
    texts = [text for text in data.values() if isinstance(text, str)]
    text = data.get("text", texts[0] if len(texts) == 1 else None)
    tasks = [task for task in tasks if isinstance(task, dict) and not task.get("was_cancelled")]
    results = [task.get("result") for task in tasks]
    if any(not isinstance(result, list) for result in results):
        raise ValueError(f"{where}: expected the results of an annotation. Correct the line.")
    if any(result != results[0] for result in results[1:]):
        raise ValueError(
            f"{where}: found {len(results)} annotations that differ. Export the one that counts."
        )
    if not results:
        return {"text": text, _ANSWER: "skip"}
    items = [item for item in results[0] or () if isinstance(item, dict)]
    values = [item["value"] for item in items if isinstance(item.get("value"), dict)]
    labels = [label for value in values for label in value.get("choices", ())]
    spans = [value for value in values if "start" in value]
    return {"text": text, "spans": spans, **({"labels": labels} if labels else {})}


def _annotate(
    value: Any,  # noqa: ANN401 (any JSON)
    key: str,
    where: str,
    spans: list[TextSpan],
    cats: dict[str, float],
) -> None:
    """Add the entities or labels in a field to its text.

    A string is parsed if it's a printed list, or JSON of spans.
    """
    value = _printed(value)
    if key == "cats" and isinstance(value, dict):
        cats.update({label: _share(share, where) for label, share in value.items()})
        return
    if isinstance(value, dict) and isinstance(value.get("choices"), list):
        value = value["choices"]
    if key == "cats" or not isinstance(value, list):
        cats[_label(value, where, key)] = 1.0
        return
    for item in value:
        if isinstance(item, (dict, list, tuple)):
            spans += _spans(item, where)
        else:
            cats[_label(item, where, key)] = 1.0


def _printed(value: Any) -> Any:  # noqa: ANN401 (any JSON)
    """Return the list or object that a string spells out, or else the string."""
    if not isinstance(value, str) or value.lstrip()[:1] not in ("[", "{"):
        return value
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # about the text as Python code
        for read in (json.loads, ast.literal_eval):
            try:
                spelled = read(value.strip())
            except (MemoryError, RecursionError, SyntaxError, TypeError, ValueError):
                continue
            return spelled if isinstance(spelled, (dict, list)) else value
    return value


def text_of(record: Mapping[str, Any], where: str) -> str:
    """Return the text of an object.

    where (str): File and line, for the message.

    Raises ValueError if there's no text, or if UTF-8 can't encode it.
    """
    if "text" not in record:
        keys = " and ".join(", ".join(json.dumps(key) for key in record).rsplit(", ", 1))
        raise ValueError(f'{where}: no "text" in the line (it has {keys or "nothing"}). Add it.')
    text = record["text"]
    if not isinstance(text, str):
        raise ValueError(f'{where}: expected a string as "text", found {text!r}. Correct the line.')
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f'{where}: expected as "text" what UTF-8 can write, found {text[error.start]!r} at '
            f"position {error.start}, which is half of a character. Correct the line."
        ) from error
    return text


def other_keys(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of an object other than text and annotation, such as "id" and "meta"."""
    text_and_annotation = {"text", "tokens", *_KEYS, _ACCEPTED, _ENTITIES, _ANSWER}
    return {key: value for key, value in record.items() if key not in text_and_annotation}


def _keys_of(record: Mapping[str, Any]) -> list[str]:
    """List the keys of an object that annotate its text."""
    keys = [key for key in _KEYS if record.get(key) is not None]
    if isinstance(record.get(_ACCEPTED), list):
        keys.append(_ACCEPTED)
    has_entities = any(
        isinstance(record[key], list) and any(isinstance(x, (dict, list)) for x in record[key])
        for key in keys
    )
    if not has_entities and isinstance(record.get(_ENTITIES), list):
        keys.append(_ENTITIES)
    return keys


def _label(value: Any, where: str, key: str) -> str:  # noqa: ANN401 (any JSON)
    is_number = isinstance(value, int) and not isinstance(value, bool)
    if key in ("label", "labels", _ACCEPTED) and (
        is_number or (isinstance(value, str) and value.strip())
    ):
        return str(value).strip()
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


def _spans(item: Any, where: str) -> list[TextSpan]:  # noqa: ANN401 (any JSON)
    """Read an entity, or an entity for each of its labels."""
    text, answer, fields = None, ACCEPT, item
    if isinstance(item, dict):
        start, end = (item.get(key, item.get(f"{key}_offset")) for key in ("start", "end"))
        fields = [start, end, item.get("label", item.get("labels"))]
        text, answer = item.get("text"), str(item.get(_ANSWER, ACCEPT))
    if len(fields) == 3:
        start, end, label = fields
        labels = label if isinstance(label, list) and label else [label]
        if (
            all(isinstance(at, int) and not isinstance(at, bool) for at in (start, end))
            and all(isinstance(label, str) and label.strip() for label in labels)
            and (text is None or isinstance(text, str))
        ):
            return [TextSpan(start, end, label.strip(), text, answer) for label in labels]
    raise ValueError(
        f'{where}: expected an entity like {{"start": 0, "end": 4, "label": "X"}} or [0, 4, "X"], '
        f"found {item!r}. Correct the line."
    )


def _column_names(header: Sequence[str]) -> list[str]:
    """List the names of columns, without blanks around them, or quotes after a blank."""
    return [name.strip().strip('"') for name in header]


def read_csv(path: Path, layout: CsvLayout, group: Optional[str] = None) -> Iterator[AnnotatedText]:
    """Yield the texts of a CSV file with a header.

    group (Optional[str]): The column that names the document of a text. None: the first of
        GROUP_KEYS.

    Raises ValueError, with file and line, if the header lacks a column, if a row has another number
    of fields, or if it has no label and each text needs one.
    """
    _, header_line = next(read_lines(path), (1, ""))
    delimiter = layout.find_delimiter(header_line)
    if delimiter is None:
        raise ValueError(
            f"{path}:1: expected a header with the columns {layout.text_column!r} and "
            f"{layout.label_column!r}, found {header_line[:80]!r}. Add a header, or name the "
            "columns with --text-column and --label-column. A comma, tab, semicolon or | separates "
            "them."
        )
    bad = BadLines()
    rows = read_csv_rows(path, delimiter, bad)
    header = _column_names(next(rows, (1, []))[1])
    bad.check()  # of the header
    text_at, label_at = header.index(layout.text_column), header.index(layout.label_column)
    for number, row in rows:
        if not row:
            continue
        with bad.skipped():
            where = f"{path}:{number}"
            if len(row) != len(header):
                raise ValueError(
                    f"{where}: expected {len(header)} fields as in the header, found {len(row)} in "
                    f"{str(row)[:80]}. Correct the line. A field that has what stands between "
                    "fields is in quotes."
                )
            spans, cats = _of_field(row[label_at].strip(), layout, where)
            of = group_of(dict(zip(header, row, strict=True)), group)
            yield AnnotatedText(number, row[text_at], spans, cats, group=of)
    bad.check()


def _of_field(
    field: str, layout: CsvLayout, where: str
) -> tuple[Sequence[TextSpan], Mapping[str, float]]:
    """Return the entities and labels in a field of CSV."""
    spans: list[TextSpan] = []
    cats: dict[str, float] = {}
    if not isinstance(_printed(field), str):
        _annotate(field, "label", where, spans, cats)
        return spans, cats
    separator = layout.label_separator
    labels = field.split(separator) if separator else [field]
    cats = {label.strip(): 1.0 for label in labels if label.strip()}
    if not cats and not separator:
        raise ValueError(
            f"{where}: expected a label in the column {layout.label_column!r}, found none. Correct "
            "the line, or give --label-separator if a text may have no label."
        )
    return spans, cats
