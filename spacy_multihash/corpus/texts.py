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

from ..common.lines import Account, clean, read_lines
from .annotation import (
    ACCEPT,
    ANSWER,
    ENTITY_KEYS,
    GROUP_KEYS,
    LABEL_KEYS,
    REJECT,
    answer_of,
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
# JSON values with the numbers of their lines.
JsonValues = Iterable[tuple[range, Any]]
# The maximum length of a CSV field. Python's own limit is too low for many texts.
_LONGEST_FIELD = 2**31 - 1


# JSON


def read_json_lines(account: Account) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number of each line that isn't blank, and its JSON object.

    Raises ValueError, with file and line, for any other line, unless the account keeps the errors.
    """
    for number, line in read_lines(account):
        if not line.strip():
            account.mark("blank", number)
            continue
        with account.line(number):
            value = _parsed(line)
            if not isinstance(value, dict):
                raise _no_object(line)
            yield number, value


def json_values(account: Account) -> Iterator[tuple[range, Any]]:
    """Yield the values of a file, one a line, or of its arrays, and the lines of each.

    Raises ValueError, with file and line, if arrays or objects of several lines can't be read.
    """
    lines = read_lines(account)
    number, first = 0, ""
    for number, first in lines:
        if first.strip():
            break
        account.mark("blank", number)
    if first.lstrip().startswith("[") or first.strip() == "{":
        rest = list(lines)
        text = "\n" * (number - 1) + "\n".join([first, *(line for _, line in rest)])
        try:
            values = list(_stream(text))
        except (RecursionError, ValueError) as error:
            if first.strip() in ("[", "{"):  # no line is a value
                at = getattr(error, "lineno", number)
                why = _no_object(text.split("\n")[at - 1], error)
                raise ValueError(f"{account.at(at)}: {why}") from error
        else:
            account.mark("blank", 1, text.count("\n") + 1)
            yield from values
            return
        lines = iter(rest)
    for at, line in chain([(number, first)] if first.strip() else [], lines):
        if not line.strip():
            account.mark("blank", at)
            continue
        with account.line(at):
            value = _parsed(line)
            yield range(at, at + 1), value


def _stream(text: str) -> Iterator[tuple[range, Any]]:
    """Yield the values of a text, or for each array of them its items. Raises ValueError."""
    decoder, line, counted = json.JSONDecoder(object_pairs_hook=_unique), 1, 0

    def lines_of(start: int, end: int) -> range:
        nonlocal line, counted
        line += text.count("\n", counted, start)
        counted = start
        return range(line, line + text.count("\n", start, end) + 1)

    at = _after(" \t\r\n", text, 0)
    while at < len(text):
        value, end = decoder.raw_decode(text, at)
        if not isinstance(value, list) or _is_pair(value):
            yield lines_of(at, end), value
        else:
            at += 1
            for item in value:
                start = _after(" \t\r\n,", text, at)
                _, at = decoder.raw_decode(text, start)
                yield lines_of(start, at), item
        at = _after(" \t\r\n", text, end)


def _after(characters: str, text: str, at: int) -> int:
    while text[at : at + 1] and text[at] in characters:
        at += 1
    return at


def _unique(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    record = dict(pairs)
    if len(record) < len(pairs):
        twice = next(key for key, n in Counter(key for key, _ in pairs).items() if n > 1)
        raise ValueError(f"the key {json.dumps(twice)} is there twice")
    return record


def _parsed(text: str) -> Any:  # noqa: ANN401 (any JSON)
    try:
        return json.loads(text, object_pairs_hook=_unique)
    except (RecursionError, ValueError) as error:
        raise _no_object(text, error) from error


def _no_object(line: str, error: Optional[Exception] = None) -> ValueError:
    why = f" ({error})" if error else ""
    return ValueError(
        f"expected a JSON object on each line, got {line[:80]!r}{why}. Correct the line."
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


@dataclass
class AnnotatedText:
    """A text as read.

    lines (range): The numbers of its lines.
    spans (Optional[Sequence[TextSpan]]): Its entities. None: not annotated.
    cats (Optional[dict[str, float]]): The labels of the whole text, 0 or 1. None: not annotated.
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
    cats: Optional[dict[str, float]] = None
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

    def add_label(self, label: str, share: float = 1.0) -> None:
        """Add a label. Raises ValueError if it has another value already."""
        self.cats = {} if self.cats is None else self.cats
        if self.cats.setdefault(label, share) != share:
            raise ValueError(f"the label {label!r} is there with 0 and with 1. Correct the line.")


def read_texts(
    account: Account, values: JsonValues, group: Optional[str], separator: Optional[str]
) -> Iterator[AnnotatedText]:
    """Yield the texts of JSON objects.

    `annotation` has the keys that are read. Exports of Prodigy, doccano and Label Studio, docs of
    spaCy (`Doc.to_json`), and training data of spaCy 2 are read, too.

    group (Optional[str]): The key of `group_of`.
    separator (Optional[str]): Separates the labels in a string.
    """
    for lines, value in values:
        with account.line(lines.start):
            yield _text_of_json(value, lines, group, separator)


def _text_of_json(
    value: Any,  # noqa: ANN401 (any JSON)
    lines: range,
    group: Optional[str],
    separator: Optional[str],
) -> AnnotatedText:
    """Read the text and the annotation of a JSON value. Raises ValueError."""
    record, unread = _of_tools(value)
    item = AnnotatedText(lines, text_of(record), group=group_of(value, group))
    read = _add_entities(record, item)
    _add_labels(record, item, read, separator)
    item.answer = answer_of(record)
    # How exports of binary decisions name the label that was accepted or rejected.
    if item.answer == REJECT and not item.spans and isinstance(record.get("label"), str):
        item.cats = dict.fromkeys(item.cats or (), 0.0)
        item.is_whole, item.answer, item.is_rejected = False, ACCEPT, True
    item.tokens = _tokens_of(record, item.text)
    item.unread = [*unread, *unread_keys(record, read)]
    item.flags = flags_of(record, ("text", *read, *item.unread))
    return item


def labels_of(record: Mapping[str, Any]) -> tuple[Optional[dict[str, float]], bool, list[str]]:
    """Return `cats` and `is_whole` of an object's text, and the keys read. Raises ValueError."""
    item, read = AnnotatedText(range(0), ""), list[str]()
    _add_labels(record, item, read)
    return item.cats, item.is_whole, read


def _add_entities(record: Mapping[str, Any], item: AnnotatedText) -> list[str]:
    """Add the entities of the first key that has some. Returns the keys that have the same."""
    read = []
    for key in ENTITY_KEYS:
        value = record.get(key)
        if isinstance(value, list) and any(isinstance(each, (dict, list)) for each in value):
            spans = [span for each in value for span in _spans(each)]
            if not item.spans or set(spans) == set(item.spans):
                item.spans = spans
                read.append(key)
        elif value == []:
            item.spans = [] if item.spans is None else item.spans
            read.append(key)
        elif key == "spans" and value is not None and not isinstance(value, dict):
            _label(value, key)  # raises
    return read


def _add_labels(
    record: Mapping[str, Any],
    item: AnnotatedText,
    read: list[str],
    separator: Optional[str] = None,
) -> None:
    """Add the labels of a text, and the keys that have them to those that were read."""
    for key in LABEL_KEYS:
        value = record.get(key)
        if value is None or (key in read and value != []) or are_entities(value):
            continue
        if key == "accept" and not isinstance(value, list):
            continue
        item.cats = {} if item.cats is None else item.cats
        read.append(key)
        if key == "cats" and isinstance(value, dict):
            for label, share in value.items():
                if share is not None:  # otherwise, it's unknown
                    item.add_label(clean(label), _share(share, label))
            item.is_whole = not value
            continue
        if isinstance(value, dict) and isinstance(value.get("choices"), list):
            value = value["choices"]
        for each in _several(value, key):
            label = _label(each, key)
            for part in filter(None, map(clean, label.split(separator) if separator else [label])):
                item.add_label(part)


def _tokens_of(record: Mapping[str, Any], text: str) -> Optional[list[str]]:
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
                'expected words as "tokens", or objects with "start" and "end", got '
                f"{str(tokens)[:80]}. Correct the line, or leave them out."
            )
        words.append(token)
    return words


def _is_pair(value: Any) -> bool:  # noqa: ANN401 (any JSON)
    """Return whether a value is a text with its annotation, as in training data of spaCy 2."""
    is_two = isinstance(value, (list, tuple)) and len(value) == 2
    return is_two and isinstance(value[0], str) and isinstance(value[1], dict)


def _of_tools(value: Any) -> tuple[Any, list[str]]:  # noqa: ANN401 (any JSON)
    """Convert the objects of other tools to Prodigy's, and name what isn't read of them."""
    if _is_pair(value):
        text, annotation = value
        return {**annotation, "text": _only("text", text, annotation.get("text"))}, []
    if not isinstance(value, dict):
        return value, []
    if "paragraphs" in value:
        raise ValueError("this is training data of spaCy 2. Use spacy convert instead.")
    tasks = value.get("annotations", value.get("completions"))
    if isinstance(value.get("data"), dict) and isinstance(tasks, list):
        return _of_label_studio(value, tasks)
    if "text" in value and isinstance(tasks, list) and are_entities(tasks):
        if any(isinstance(task, dict) and isinstance(task.get("label"), int) for task in tasks):
            raise ValueError(
                "this is an old export of doccano, which has numbers in the place of labels. "
                "Export the project as JSONL with text labels."
            )
        others = {key: each for key, each in value.items() if key != "annotations"}
        return {"spans": tasks, **others}, []
    return value, []


def _of_label_studio(
    value: Mapping[str, Any], tasks: Sequence[Any]
) -> tuple[dict[str, Any], list[str]]:
    """Return the text of a task, with its annotations, and name what isn't read."""
    data = value["data"]
    texts = [text for text in data.values() if isinstance(text, str)]
    if "text" not in data and len(texts) != 1:
        raise ValueError(
            f'expected the text as "data": {{"text": "a text"}}, got {len(texts)} texts in '
            f"{', '.join(data) or 'nothing'}. Rename the one that's annotated."
        )
    record = {"text": data.get("text", *texts[:1])}
    tasks = [task for task in tasks if isinstance(task, dict) and not task.get("was_cancelled")]
    results = [task.get("result") for task in tasks]
    if any(not isinstance(result, list) for result in results):
        raise ValueError("expected the results of an annotation. Correct the line.")
    # Their ids differ, and maybe their order. Relations are between ids.
    done = [
        sorted(_value_of(item) for item in result if _type_of(item) != "relation")
        for result in results
    ]
    if any(result != done[0] for result in done[1:]):
        raise ValueError(f"there are {len(results)} annotations that differ. Export one of them.")
    if not results:
        return {**record, ANSWER: "skip"}, ["predictions"] * bool(value.get("predictions"))
    spans, choices, unread = list[Any](), list[Any](), list[str]()
    for item in filter(lambda item: isinstance(item, dict), results[0] or ()):
        each = item.get("value")
        kind = _type_of(item)
        has_labels = isinstance(each, dict) and ("labels" in each or kind.endswith("labels"))
        if has_labels and "start" in each and "choices" not in each:
            spans.append(each)
        elif isinstance(each, dict) and "choices" in each and "start" not in each:
            choices.append(each)
        else:
            unread.append(str(item.get("type", "result")))
    annotation = {"spans": spans} if spans or not choices else {}
    if choices:
        annotation["labels"] = [label for each in choices for label in each["choices"]]
    return {**record, **annotation}, unread


def _type_of(item: Any) -> str:  # noqa: ANN401 (any JSON)
    return str(item.get("type", "labels")) if isinstance(item, dict) else ""


def _value_of(item: Any) -> str:  # noqa: ANN401 (any JSON)
    value = item.get("value", item) if isinstance(item, dict) else item
    return json.dumps(value, sort_keys=True)


def text_of(record: Any) -> str:  # noqa: ANN401 (any JSON)
    """Return the text of an object. Raises ValueError if it has none that UTF-8 can encode."""
    if not isinstance(record, dict):
        raise ValueError(f"expected a JSON object, got {repr(record)[:80]}. Correct the line.")
    if "text" not in record:
        keys = " and ".join(", ".join(json.dumps(key) for key in record).rsplit(", ", 1))
        raise ValueError(f'no "text" in the line (it has {keys or "nothing"}). Add it.')
    text = record["text"]
    if not isinstance(text, str):
        raise ValueError(f'expected a string as "text", got {text!r}. Correct the line.')
    try:
        text.encode()
    except UnicodeEncodeError as error:
        raise ValueError(
            f'expected as "text" what UTF-8 can write, got {text[error.start]!r} at position '
            f"{error.start}, which is half of a character. Correct the line."
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
    values = (place[name] for name in names for place in places if name in place)
    return next((str(value) for value in values if isinstance(value, (str, int))), "")


def _several(value: Any, key: str) -> list[Any]:  # noqa: ANN401 (any JSON)
    """Return labels as a list. Raises ValueError for a number of each label, such as [0, 1, 0]."""
    labels = value if isinstance(value, list) else [value]
    if all(type(each) is int for each in labels) and len({*labels}) < len(labels):
        raise ValueError(
            f'expected the labels of a text as "{key}", got {str(value)[:80]}. If it has a number '
            'for each label, write "cats": {"X": 1, "Y": 0}.'
        )
    return labels


def _label(value: Any, key: str) -> str:  # noqa: ANN401 (any JSON)
    if key in ("label", "labels", "accept") and type(value) in (int, str) and clean(str(value)):
        return clean(str(value))
    raise ValueError(
        f'expected as "{key}" something like {_EXAMPLES}; got {value!r}. Correct the line.'
    )


def _share(value: Any, label: str) -> float:  # noqa: ANN401 (any JSON)
    if isinstance(value, (bool, int, float)) and value in (0, 1):
        return float(value)
    advice = "Correct the line."
    if isinstance(value, float) and 0 < value < 1:
        advice = "spaCy's classifiers learn from 0 and 1 only: round it, or leave the label out."
    raise ValueError(
        f'expected true, false, 0 or 1 for each label of "cats", got {value!r} for {label!r}. '
        f"{advice}"
    )


def _only(name: str, *values: Any) -> Any:  # noqa: ANN401 (any JSON)
    """Return the value that isn't None, if there is one. Raises ValueError for several."""
    given = [value for value in values if value is not None]
    if any(value != given[0] for value in given):
        shown = " and ".join(f"{value!r:.40}" for value in given)
        raise ValueError(f"the {name} is there twice, as {shown}. Correct the line.")
    return given[0] if given else None


def _spans(item: Any) -> list[TextSpan]:  # noqa: ANN401 (any JSON)
    """Read an entity, or an entity for each of its labels."""
    text, answer, fields = None, ACCEPT, item
    if isinstance(item, dict):
        start, end = (
            _only(key, *map(item.get, (key, f"{key}_offset"))) for key in ("start", "end")
        )
        given = ([x] if isinstance(x, str) else x for x in map(item.get, ("label", "labels")))
        fields = [start, end, _only("label", *given)]
        text, answer = item.get("text"), answer_of(item)
    if isinstance(fields, (list, tuple)) and len(fields) == 3:
        start, end, label = fields
        labels = label if isinstance(label, list) and label else [label]
        if (
            type(start) is type(end) is int
            and all(isinstance(label, str) and clean(label) for label in labels)
            and (text is None or isinstance(text, str))
        ):
            return [TextSpan(start, end, clean(label), text, answer) for label in labels]
    raise ValueError(
        f'expected an entity like {{"start": 0, "end": 4, "label": "X"}} or [0, 4, "X"], got '
        f"{item!r}. Correct the line."
    )


# CSV


def find_delimiter(header: str, columns: Sequence[str]) -> Optional[str]:
    """Return the delimiter that gives the header of a CSV file some columns, or None."""
    names = ({*_column_names(header.split(delimiter))} for delimiter in DELIMITERS)
    fit = (d for d, some in zip(DELIMITERS, names, strict=True) if {*columns} <= some)
    return next(fit, None)


class _Row(NamedTuple):
    lines: range
    fields: Sequence[str]


def _column_names(header: Sequence[str]) -> list[str]:
    """List the names of columns, without blanks around them, or quotes after a blank."""
    return [clean(name).strip('"') for name in header]


def read_csv(
    account: Account,
    columns: tuple[str, str],
    separator: Optional[str] = None,
    group: Optional[str] = None,
) -> Iterator[AnnotatedText]:
    """Yield the texts of a CSV file with a header.

    columns (tuple[str, str]): The names of the columns of texts and of labels, in the header.
    separator (Optional[str]): Separates the labels of a text, which may have any number of labels.
        None: each text has one label.
    group (Optional[str]): The column that names the document of a text. None: the first of
        GROUP_KEYS.

    Raises ValueError if the header lacks a column. Refuses rows with another number of fields,
    quotes that aren't closed, rows merged by a quote, and no label where each text needs one.
    """
    lines = [line for _, line in read_lines(account, keeps_ends=True)]  # of cells, too
    first = lines[0].rstrip("\r\n") if lines else ""
    delimiter = find_delimiter(first, columns)
    rows = _csv_rows(account, lines, delimiter) if delimiter else []
    account.check_errors()
    header = _column_names(rows[0].fields) if rows else []
    if delimiter is None or not {*columns} <= {*header} or len(rows[0].lines) > 1:
        raise ValueError(
            f"{account.at(1)}: expected a header with the columns {columns[0]!r} and "
            f"{columns[1]!r}, got {first[:80]!r}. Add a header, or name the columns with "
            "--text-column and --label-column. A comma, tab, semicolon or | separates them."
        )
    account.mark("header", 1)
    for name in (*columns, *(GROUP_KEYS if group is None else [group])):
        if header.count(name) > 1:
            raise ValueError(
                f"{account.at(1)}: two columns are called {name!r}. Rename one of them."
            )
    text_at, label_at = map(header.index, columns)
    known = {clean(row.fields[label_at]) for row in rows[1:] if len(row.fields) > label_at}
    unread = [name for name in header if name not in columns and is_suspect(name)]
    for of_row, fields in rows[1:]:
        # A file that was joined to another has its header in the middle.
        is_header = _column_names(fields) == header
        if is_header or not any(map(str.strip, fields)):
            account.mark("header" if is_header else "blank", of_row.start, of_row.stop - 1)
            continue
        with account.line(of_row.start):
            if len(fields) != len(header):
                raise ValueError(
                    f"expected {len(header)} fields as in the header, got {len(fields)} in "
                    f"{str(fields)[:80]}. Correct the line. A field that has what stands between "
                    "fields is in quotes."
                )
            for at, field_ in enumerate(fields):
                _check_merged(field_, at, delimiter, len(header), label_at, known)
            record = dict(zip(header, fields, strict=True))
            yield AnnotatedText(
                of_row,
                fields[text_at],
                cats=_labels_of_field(clean(fields[label_at]), columns[1], separator),
                group=group_of(record, group),
                unread=[name for name in unread if record[name]],
                flags=flags_of(record, (*columns, *unread)),
            )


def _csv_rows(account: Account, lines: Sequence[str], delimiter: str) -> list[_Row]:
    """Read the rows. Tables with tabs are often written without quoting, and are read so.

    They are if a line by itself isn't CSV, and if all lines have the same number of tabs.
    """
    csv.field_size_limit(_LONGEST_FIELD)
    if delimiter == "\t":
        full = [line for line in lines if line.strip()]
        if len({line.count("\t") for line in full}) == 1 and not all(map(_is_csv_line, full)):
            cells = (line.rstrip("\r\n").split("\t") for line in lines)
            return [_Row(range(i, i + 1), of_row) for i, of_row in enumerate(cells, start=1)]
    reader = csv.reader(lines, delimiter=delimiter, strict=True)
    rows: list[_Row] = []
    while True:
        number = reader.line_num + 1
        try:
            fields = next(reader)
        except StopIteration:
            return rows
        except csv.Error as error:
            advice = 'double the quotes within a field ("")'
            if '\\"' in lines[number - 1]:
                advice += ", and don't escape them (\\\")"
            account.refuse(
                number,
                "a field begins with a quote that isn't closed, or is followed by more text "
                f"({error}). Correct the line: {advice}.",
            )
        else:
            rows.append(_Row(range(number, reader.line_num + 1), fields))


def _is_csv_line(line: str) -> bool:
    try:
        return len(list(csv.reader([line], delimiter="\t", strict=True))) == 1
    except csv.Error:
        return False


def _check_merged(
    text: str, at: int, delimiter: str, columns: int, label_at: int, known: set[str]
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
            f"a field begins with a quote and goes on for {len(pieces)} lines, which look like "
            f"rows: {text[:80]!r}. Close the quote, or double it as the first character of a text "
            '(""").'
        )


def _labels_of_field(field_: str, name: str, separator: Optional[str]) -> dict[str, float]:
    column = f"the column {name!r}"
    if re.fullmatch(r"\[.*\]|\{.*\}", field_, re.DOTALL):
        raise ValueError(
            f"{column} has a list or an object, as Label Studio writes entities and several "
            f"labels: {field_[:60]!r}. Export JSON."
        )
    if "\n" in field_:
        raise ValueError(
            f"there are several lines in {column}: {field_[:60]!r}. Close the quote where it "
            "begins."
        )
    parts = map(clean, field_.split(separator) if separator else [field_])
    labels = dict.fromkeys(filter(None, parts), 1.0)
    if not labels and not separator:
        raise ValueError(
            f"expected a label in {column}, got none. Correct the line, or give --label-separator "
            "if a text may have no label."
        )
    return labels
