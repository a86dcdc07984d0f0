"""Texts with offsets of entities, or with labels: JSON and CSV."""

import csv
import json
import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import chain
from pathlib import Path
from typing import Any, NamedTuple, Optional

from ..common.lines import Account, BadLines, clean, read_lines
from .annotation import (
    ACCEPT,
    ANSWER,
    ENTITY_KEYS,
    GROUP_KEYS,
    LABEL_KEYS,
    REJECT,
    are_entities,
    flags_of,
    is_suspect,
    unread_keys,
)

DELIMITERS = (",", "\t", ";", "|")
_EXAMPLES = (
    '"spans": [{"start": 0, "end": 4, "label": "X"}], "label": [[0, 4, "X"]], "label": "X" or '
    '"cats": {"X": 1}'
)
# The maximum length of a CSV field. Python's own limit is too low for many texts.
_LONGEST_FIELD = 2**31 - 1


# JSON


def read_json_lines(
    path: Path, account: Account, bad: Optional[BadLines] = None
) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number of each line that isn't blank, and its JSON object.

    bad (Optional[BadLines]): Keeps the errors of other lines. None: raise the first.

    Raises ValueError, with file and line, for any other line.
    """
    for number, line in read_lines(path, account, bad):
        if not line.strip():
            account.mark("blank", number)
            continue
        with account.trying(number, bad):
            value = _parsed(path, number, line)
            if not isinstance(value, dict):
                raise _no_object(path, number, line)
            yield number, value


def json_values(path: Path, account: Account, bad: BadLines) -> Iterator[tuple[range, Any]]:
    """Yield the values of a file, one a line, or of its arrays, and the lines of each.

    Raises ValueError, with file and line, if arrays or objects of several lines can't be read. The
    errors of single lines are kept.
    """
    lines = read_lines(path, account, bad)
    number, first = 0, ""
    for number, first in lines:
        if first.strip():
            break
        account.mark("blank", number)
    if first.lstrip().startswith("[") or first.strip() == "{":
        rest = list(lines)
        text = "\n" * (number - 1) + "\n".join([first, *(line for _, line in rest)])
        values = _whole(path, text, number, first)
        if values is not None:
            account.mark("blank", 1, text.count("\n") + 1)
            yield from values
            return
        lines = iter(rest)
    for at, line in chain([(number, first)] if first.strip() else [], lines):
        if not line.strip():
            account.mark("blank", at)
            continue
        with bad.skipped():
            yield range(at, at + 1), _parsed(path, at, line)


def _whole(path: Path, text: str, number: int, first: str) -> Optional[list[tuple[range, Any]]]:
    """List the values of a text of arrays or objects, or return None if lines may be values.

    number, first: Its first line that isn't blank. Raises ValueError.
    """
    try:
        return list(_stream(text))
    except (RecursionError, ValueError) as error:
        if first.strip() not in ("[", "{"):
            return None
        at = getattr(error, "lineno", number)
        shown = text.split("\n")[at - 1]
        raise _no_object(path, at, shown, f" ({error})") from error


def _stream(text: str) -> Iterator[tuple[range, Any]]:
    """Yield the values of a text, or for each array of them its items. Raises ValueError."""
    at, line, decoder = _after_blanks(text, 0), 1, json.JSONDecoder(object_pairs_hook=_unique)
    counted = 0

    def lines_of(start: int, end: int) -> range:
        nonlocal line, counted
        line += text.count("\n", counted, start)
        counted = start
        return range(line, line + text.count("\n", start, end) + 1)

    while at < len(text):
        start = at
        if text[at] != "[":
            value, at = decoder.raw_decode(text, at)
            yield lines_of(start, at), value
        else:
            items, spans = [], []
            at = _after_blanks(text, at + 1)
            while text[at : at + 1] != "]":
                begin = at
                value, at = decoder.raw_decode(text, at)
                items.append(value)
                spans.append((begin, at))
                at = _after_blanks(text, at)
                if text[at : at + 1] == ",":
                    at = _after_blanks(text, at + 1)
                    if text[at : at + 1] != "]":
                        continue
                if text[at : at + 1] != "]" or text[at - 1] == ",":
                    raise json.JSONDecodeError("Expecting ',' or ']'", text, at)
            at += 1
            if _is_pair(items):
                yield lines_of(start, at), items
            else:
                for item, (begin, end) in zip(items, spans, strict=True):
                    yield lines_of(begin, end), item
        at = _after_blanks(text, at)


def _after_blanks(text: str, at: int) -> int:
    match = re.compile(r"[ \t\r\n]*").match(text, at)
    return match.end() if match else at


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    """Make an object. Raises ValueError for a key that it has twice."""
    record = dict(pairs)
    if len(record) < len(pairs):
        twice = next(key for key, n in Counter(key for key, _ in pairs).items() if n > 1)
        raise ValueError(f"the key {json.dumps(twice)} is there twice")
    return record


def _parsed(path: Path, number: int, text: str) -> Any:  # noqa: ANN401 (any JSON)
    try:
        return json.loads(text, object_pairs_hook=_unique)
    except (RecursionError, ValueError) as error:
        raise _no_object(path, number, text, f" ({error})") from error


def _no_object(path: Path, number: int, line: str, why: str = "") -> ValueError:
    return ValueError(
        f"{path}:{number}: expected a JSON object on each line, got {line[:80]!r}{why}. "
        "Correct the line."
    )


def write_json_lines(path: Path, records: Iterable[Mapping[str, Any]]) -> None:
    """Write JSON objects, one per line, with numbers in full, and in ASCII.

    srsly rounds numbers to nine digits, and fails at lone surrogates.
    """
    with path.open("w", encoding="ascii", newline="\n") as file_:
        for record in records:
            file_.write(f"{json.dumps(record, separators=(',', ':'))}\n")


# Annotated texts


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

    lines (range): The numbers of its lines.
    spans (Optional[Sequence[TextSpan]]): Its entities. None: not annotated.
    cats (Optional[Mapping[str, float]]): The labels of the whole text, 0 or 1. None: not annotated.
    is_whole (bool): Whether labels that aren't in `cats` don't apply. If not, they're unknown.
    tokens (Optional[Sequence[str]]): Its tokens, if the file has them.
    answer (str): The annotator's answer, as Prodigy writes it: "accept" or another.
    group (str): What names the document that the text is from, or "".
    unread (Sequence[str]): Keys that look like annotation, and aren't read.
    flags (Mapping[str, bool]): Other keys or columns that have 0 or 1.
    is_rejected (bool): Whether its only label was rejected.
    """

    lines: range
    text: str
    spans: Optional[Sequence[TextSpan]] = None
    cats: Optional[Mapping[str, float]] = None
    is_whole: bool = True
    tokens: Optional[Sequence[str]] = None
    answer: str = ACCEPT
    group: str = ""
    unread: Sequence[str] = ()
    flags: Mapping[str, bool] = field(default_factory=dict)
    is_rejected: bool = False

    @property
    def line(self) -> int:
        """The number of its first line."""
        return self.lines.start


@dataclass
class _Annotation:
    """The annotation of a text, while it's read."""

    where: str
    separator: Optional[str] = None
    spans: Optional[list[TextSpan]] = None
    cats: Optional[dict[str, float]] = None
    is_whole: bool = True
    read: list[str] = field(default_factory=list)

    def add_label(self, label: str, share: float = 1.0) -> None:
        """Add a label of the text. Raises ValueError if it has another value already."""
        self.cats = {} if self.cats is None else self.cats
        if self.cats.setdefault(label, share) != share:
            raise ValueError(
                f"{self.where}: the label {label!r} is there with 0 and with 1. Correct the line."
            )

    def add_entities(self, value: Any, key: str) -> None:  # noqa: ANN401 (any JSON)
        """Add a list of entities, unless another key has some."""
        found = [span for item in value for span in _spans(item, self.where)]
        if not self.spans or set(found) == set(self.spans):
            self.spans = found
            self.read.append(key)

    def add_labels(self, value: Any, key: str) -> None:  # noqa: ANN401 (any JSON)
        """Add a label, or a list of labels."""
        if isinstance(value, dict) and isinstance(value.get("choices"), list):
            value = value["choices"]
        self.cats = {} if self.cats is None else self.cats
        items = value if isinstance(value, list) else [value]
        for item in items:
            label = _label(item, self.where, key)
            parts = label.split(self.separator) if self.separator else [label]
            for part in filter(None, map(clean, parts)):
                self.add_label(part)
        self.read.append(key)


def read_jsonl(
    path: Path, bad: BadLines, account: Account, group: Optional[str], separator: Optional[str]
) -> Iterator[AnnotatedText]:
    """Yield the texts of a file with a JSON object on each line, or a JSON array.

    `annotation` has the keys that are read. Exports of Prodigy, doccano and Label Studio, docs of
    spaCy (`Doc.to_json`), and training data of spaCy 2 are read, too.

    group (Optional[str]): The key of `group_of`.
    separator (Optional[str]): Separates the labels in a string.

    Errors, with file and line, are kept in `bad`.
    """
    for lines, value in json_values(path, account, bad):
        with bad.skipped():
            yield text_of_json(value, lines, f"{path}:{lines.start}", group, separator)


def text_of_json(
    value: Any,  # noqa: ANN401 (any JSON)
    lines: range,
    where: str,
    group: Optional[str] = None,
    separator: Optional[str] = None,
) -> AnnotatedText:
    """Read the text and the annotation of a JSON value. Raises ValueError with `where`."""
    record, unread = _of_tools(value, where)
    if not isinstance(record, dict):
        raise ValueError(
            f"{where}: expected a JSON object, got {json.dumps(value)[:80]!r}. Correct the line."
        )
    text = text_of(record, where)
    found = _annotation_of(record, where, separator)
    # How exports of binary decisions name the label that was accepted or rejected.
    answer = str(record.get(ANSWER, ACCEPT))
    is_rejected = answer == REJECT and not found.spans and isinstance(record.get("label"), str)
    if is_rejected:
        found.cats = dict.fromkeys(found.cats or (), 0.0)
        found.is_whole, answer = False, ACCEPT
    unread += unread_keys(record, found.read)
    return AnnotatedText(
        lines,
        text,
        found.spans,
        found.cats,
        found.is_whole,
        _tokens_of(record, text, where),
        answer,
        group_of(value, group),
        unread,
        flags_of(record, ("text", *found.read, *unread)),
        is_rejected,
    )


def labels_of(record: Mapping[str, Any], where: str) -> tuple[dict[str, float], list[str]]:
    """Return the labels of an object's text, and the keys that have them. Raises ValueError."""
    found = _Annotation(where)
    _add_labels(record, found)
    return found.cats or {}, found.read


def _annotation_of(record: Mapping[str, Any], where: str, separator: Optional[str]) -> _Annotation:
    found = _Annotation(where, separator)
    for key in ENTITY_KEYS:
        value = record.get(key)
        if isinstance(value, list) and any(isinstance(item, (dict, list)) for item in value):
            found.add_entities(value, key)
        elif value == []:
            found.spans = [] if found.spans is None else found.spans
            found.read.append(key)
        elif key == "spans" and value is not None and not isinstance(value, dict):
            _label(value, where, key)  # raises
    _add_labels(record, found)
    return found


def _add_labels(record: Mapping[str, Any], found: _Annotation) -> None:
    for key in LABEL_KEYS:
        value = record.get(key)
        if key in found.read and value != []:
            continue
        if key == "cats" and isinstance(value, dict):
            for label, share in value.items():
                if share is not None:  # otherwise, it's unknown
                    found.add_label(clean(label), _share(share, label, found.where))
            found.cats = found.cats or {}
            found.is_whole = not value
            found.read.append(key)
        elif value is not None and (key != "accept" or isinstance(value, list)):
            if not are_entities(value):
                found.add_labels(value, key)


def _tokens_of(record: Mapping[str, Any], text: str, where: str) -> Optional[list[str]]:
    """Return the tokens of a text: words, or objects as Prodigy and spaCy write them."""
    tokens = record.get("tokens")
    if not isinstance(tokens, list) or not tokens:
        return None
    words = []
    for token in tokens:
        if isinstance(token, dict):
            start, end = token.get("start"), token.get("end")
            is_placed = isinstance(start, int) and isinstance(end, int)
            token = token.get("text", text[start:end] if is_placed else None)
        if not isinstance(token, str):
            raise ValueError(
                f'{where}: expected words as "tokens", or objects with "start" and "end", got '
                f"{str(tokens)[:80]}. Correct the line, or leave them out."
            )
        words.append(token)
    return words


def _is_pair(value: Any) -> bool:  # noqa: ANN401 (any JSON)
    """Return whether a value is a text with its annotation, as in training data of spaCy 2."""
    return isinstance(value, (list, tuple)) and [type(item) for item in value] == [str, dict]


def _of_tools(value: Any, where: str) -> tuple[Any, list[str]]:  # noqa: ANN401 (any JSON)
    """Convert the objects of other tools to Prodigy's, and name what isn't read of them."""
    if _is_pair(value):
        return {"text": value[0], **value[1]}, []
    if not isinstance(value, dict):
        return value, []
    if "paragraphs" in value:
        raise ValueError(f"{where}: this is training data of spaCy 2. Use spacy convert instead.")
    tasks = value.get("annotations", value.get("completions"))
    if isinstance(value.get("data"), dict) and isinstance(tasks, list):
        return _of_label_studio(value, tasks, where)
    if "text" in value and isinstance(tasks, list) and are_entities(tasks):
        if any(isinstance(task, dict) and isinstance(task.get("label"), int) for task in tasks):
            raise ValueError(
                f"{where}: this is an old export of doccano, which has numbers in the place of "
                "labels. Export the project as JSONL with text labels."
            )
        others = {key: each for key, each in value.items() if key != "annotations"}
        return {"spans": tasks, **others}, []
    return value, []


def _of_label_studio(
    value: Mapping[str, Any], tasks: Sequence[Any], where: str
) -> tuple[dict[str, Any], list[str]]:
    """Return the text of a task, with its annotations, and name what isn't read."""
    data = value["data"]
    texts = [text for text in data.values() if isinstance(text, str)]
    if "text" not in data and len(texts) != 1:
        raise ValueError(
            f'{where}: expected the text as "data": {{"text": "a text"}}, got {len(texts)} texts '
            f"in {', '.join(data) or 'nothing'}. Rename the one that's annotated."
        )
    record = {"text": data.get("text", *texts[:1])}
    tasks = [task for task in tasks if isinstance(task, dict) and not task.get("was_cancelled")]
    results = [task.get("result") for task in tasks]
    if any(not isinstance(result, list) for result in results):
        raise ValueError(f"{where}: expected the results of an annotation. Correct the line.")
    if any(result != results[0] for result in results[1:]):
        raise ValueError(
            f"{where}: there are {len(results)} annotations that differ. Export one of them."
        )
    if not results:
        unread = ["predictions"] if value.get("predictions") else []
        return {**record, ANSWER: "skip"}, unread
    items = [item for item in results[0] or () if isinstance(item, dict)]
    values = [item["value"] for item in items if isinstance(item.get("value"), dict)]
    spans = [each for each in values if "start" in each]
    choices = [each for each in values if "start" not in each and "choices" in each]
    others = [
        str(item.get("type", "result"))
        for item in items
        if item.get("value") not in spans and item.get("value") not in choices
    ]
    labels = [label for each in choices for label in each["choices"]]
    annotation: dict[str, Any] = {"spans": spans} if spans or not choices else {}
    return {**record, **annotation, **({"labels": labels} if choices else {})}, others


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
        raise ValueError(f'{where}: expected a string as "text", got {text!r}. Correct the line.')
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f'{where}: expected as "text" what UTF-8 can write, got {text[error.start]!r} at '
            f"position {error.start}, which is half of a character. Correct the line."
        ) from error
    return text


def other_keys(record: Mapping[str, Any]) -> dict[str, Any]:
    """Return the keys of an object other than text and annotation, such as "id" and "meta"."""
    text_and_annotation = {"text", "tokens", *ENTITY_KEYS, *LABEL_KEYS, "ner_tags", ANSWER}
    return {key: value for key, value in record.items() if key not in text_and_annotation}


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


def _label(value: Any, where: str, key: str) -> str:  # noqa: ANN401 (any JSON)
    is_number = isinstance(value, int) and not isinstance(value, bool)
    if key in ("label", "labels", "accept") and (
        is_number or (isinstance(value, str) and clean(value))
    ):
        return clean(str(value))
    raise ValueError(
        f'{where}: expected as "{key}" something like {_EXAMPLES}; got {value!r}. Correct the line.'
    )


def _share(value: Any, label: str, where: str) -> float:  # noqa: ANN401 (any JSON)
    if isinstance(value, (bool, int, float)) and value in (0, 1):
        return float(value)
    advice = "Correct the line."
    if isinstance(value, float) and 0 < value < 1:
        advice = "spaCy's classifiers learn from 0 and 1 only: round it, or leave the label out."
    raise ValueError(
        f'{where}: expected true, false, 0 or 1 for each label of "cats", got {value!r} for '
        f"{label!r}. {advice}"
    )


def _spans(item: Any, where: str) -> list[TextSpan]:  # noqa: ANN401 (any JSON)
    """Read an entity, or an entity for each of its labels."""
    text, answer, fields = None, ACCEPT, item
    if isinstance(item, dict):
        start, end = (item.get(key, item.get(f"{key}_offset")) for key in ("start", "end"))
        fields = [start, end, item.get("label", item.get("labels"))]
        text, answer = item.get("text"), str(item.get(ANSWER, ACCEPT))
    if isinstance(fields, (list, tuple)) and len(fields) == 3:
        start, end, label = fields
        labels = label if isinstance(label, list) and label else [label]
        if (
            all(isinstance(at, int) and not isinstance(at, bool) for at in (start, end))
            and all(isinstance(label, str) and clean(label) for label in labels)
            and (text is None or isinstance(text, str))
        ):
            return [TextSpan(start, end, clean(label), text, answer) for label in labels]
    raise ValueError(
        f'{where}: expected an entity like {{"start": 0, "end": 4, "label": "X"}} or [0, 4, "X"], '
        f"got {item!r}. Correct the line."
    )


# CSV


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


class _Row(NamedTuple):
    lines: range
    fields: Sequence[str]


def _column_names(header: Sequence[str]) -> list[str]:
    """List the names of columns, without blanks around them, or quotes after a blank."""
    return [clean(name).strip('"') for name in header]


def read_csv(
    path: Path, layout: CsvLayout, bad: BadLines, account: Account, group: Optional[str] = None
) -> Iterator[AnnotatedText]:
    """Yield the texts of a CSV file with a header.

    group (Optional[str]): The column that names the document of a text. None: the first of
        GROUP_KEYS.

    Raises ValueError if the header lacks a column. The errors of rows, with file and line, are kept
    in `bad`: another number of fields, quotes that aren't closed, rows merged by a quote, and no
    label where each text needs one.
    """
    lines = [line for _, line in read_lines(path, account, bad)]
    first = lines[0] if lines else ""
    delimiter = layout.find_delimiter(first)
    rows = _csv_rows(path, lines, delimiter, bad) if delimiter else []
    bad.check()
    header = _column_names(rows[0].fields) if rows else []
    names = (layout.text_column, layout.label_column)
    if delimiter is None or not {*names} <= {*header} or len(rows[0].lines) > 1:
        raise ValueError(
            f"{path}:1: expected a header with the columns {names[0]!r} and {names[1]!r}, got "
            f"{first[:80]!r}. Add a header, or name the columns with --text-column and "
            "--label-column. A comma, tab, semicolon or | separates them."
        )
    account.mark("header", 1)
    for name in names:
        if header.count(name) > 1:
            raise ValueError(f"{path}:1: two columns are called {name!r}. Rename one of them.")
    text_at, label_at = map(header.index, names)
    known = {clean(row.fields[label_at]) for row in rows[1:] if len(row.fields) > label_at}
    unread = [name for name in header if name not in names and is_suspect(name)]
    for lines_of, fields in rows[1:]:
        if not any(map(str.strip, fields)):
            account.mark("blank", lines_of.start, lines_of.stop - 1)
            continue
        if _column_names(fields) == header:  # of a file that was joined to another
            account.mark("header", lines_of.start, lines_of.stop - 1)
            continue
        with bad.skipped():
            where = f"{path}:{lines_of.start}"
            if len(fields) != len(header):
                raise ValueError(
                    f"{where}: expected {len(header)} fields as in the header, got {len(fields)} "
                    f"in {str(fields)[:80]}. Correct the line. A field that has what stands "
                    "between fields is in quotes."
                )
            for at, field_ in enumerate(fields):
                _check_merged(field_, at, where, delimiter, len(header), label_at, known)
            cats = _labels_of_field(clean(fields[label_at]), layout, where)
            record = dict(zip(header, fields, strict=True))
            named = [name for name in unread if record[name]]
            yield AnnotatedText(
                lines_of,
                fields[text_at],
                cats=cats,
                group=group_of(record, group),
                unread=named,
                flags=flags_of(record, (*names, *unread)),
            )


def _csv_rows(path: Path, lines: Sequence[str], delimiter: str, bad: BadLines) -> list[_Row]:
    """Read the rows. Tables with tabs are often written without quoting, and are read so.

    They are if a line by itself isn't CSV, and if all lines have the same number of tabs.
    """
    csv.field_size_limit(_LONGEST_FIELD)
    if delimiter == "\t":
        full = [line for line in lines if line.strip()]
        if len({line.count("\t") for line in full}) == 1 and not all(map(_is_csv_line, full)):
            return [_Row(range(i, i + 1), line.split("\t")) for i, line in enumerate(lines, 1)]
    reader = csv.reader((f"{line}\n" for line in lines), delimiter=delimiter, strict=True)
    rows: list[_Row] = []
    while True:
        number = reader.line_num + 1
        with bad.skipped():
            try:
                fields = next(reader)
            except StopIteration:
                return rows
            except csv.Error as error:
                advice = 'double the quotes within a field ("")'
                if '\\"' in lines[number - 1]:
                    advice += ", and don't escape them (\\\")"
                raise ValueError(
                    f"{path}:{number}: a field begins with a quote that isn't closed, or is "
                    f"followed by more text ({error}). Correct the line: {advice}."
                ) from error
            rows.append(_Row(range(number, reader.line_num + 1), fields))


def _is_csv_line(line: str) -> bool:
    try:
        return len(list(csv.reader([line], delimiter="\t", strict=True))) == 1
    except csv.Error:
        return False


def _check_merged(
    text: str, at: int, where: str, delimiter: str, columns: int, label_at: int, known: set[str]
) -> None:
    """Raise ValueError if a field of several lines seems to be several rows, joined by a quote.

    Then one of its lines, as a row, has the label of another row. A field with a tab and a line
    break isn't one, either.

    at (int): The column of the field.
    """
    pieces = text.split("\n")
    if len(pieces) == 1 or delimiter not in text:
        return
    is_merged = delimiter == "\t"
    for number, piece in enumerate(pieces):
        fields = piece.split(delimiter)
        first = at if number == 0 else 0  # its first column
        last = at + 1 if number == len(pieces) - 1 else columns
        if first + len(fields) == last and first <= label_at < last and len(fields) > 1:
            is_merged |= clean(fields[label_at - first].strip('"')) in known
    if is_merged:
        raise ValueError(
            f"{where}: a field begins with a quote and goes on for {len(pieces)} lines, which look "
            f"like rows: {text[:80]!r}. Close the quote, or double it as the first character of a "
            'text (""").'
        )


def _labels_of_field(field_: str, layout: CsvLayout, where: str) -> dict[str, float]:
    """Return the labels in a field of CSV. Raises ValueError."""
    if re.fullmatch(r"\[.*\]|\{.*\}", field_, re.DOTALL):
        raise ValueError(
            f"{where}: the column {layout.label_column!r} has a list or an object, as Label Studio "
            f"writes entities and several labels: {field_[:60]!r}. Export JSON."
        )
    if "\n" in field_:
        raise ValueError(
            f"{where}: there are several lines in the column {layout.label_column!r}: "
            f"{field_[:60]!r}. Close the quote where it begins."
        )
    separator = layout.label_separator
    labels = field_.split(separator) if separator else [field_]
    cats = {clean(label): 1.0 for label in labels if clean(label)}
    if not cats and not separator:
        raise ValueError(
            f"{where}: expected a label in the column {layout.label_column!r}, got none. Correct "
            "the line, or give --label-separator if a text may have no label."
        )
    return cats
