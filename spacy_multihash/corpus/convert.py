"""Files in common formats as docs with entities or labels."""

import re
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Literal, NamedTuple, Optional, Union

from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.util import filter_spans

from .conll import (
    DOCSTART,
    Layout,
    Record,
    Scheme,
    cut_records,
    find_scheme,
    has_tokens,
    iob2_tags,
    is_comment,
    is_tag,
    read_conll,
    read_tagged_json,
    tagged_doc,
)
from .texts import (
    ACCEPT,
    REJECT,
    AnnotatedText,
    BadLines,
    CsvLayout,
    TextSpan,
    json_values,
    read_csv,
    read_jsonl,
    read_lines,
)

Format = Literal["conll", "jsonl", "csv"]

_SUFFIXES: dict[str, Format] = {
    **dict.fromkeys((".conll", ".conll2002", ".conll2003", ".iob", ".iob2", ".bio"), "conll"),
    **dict.fromkeys((".json", ".jsonl", ".ndjson"), "jsonl"),
    ".csv": "csv",
}

_INDEX = re.compile(r"[0-9]+([-.][0-9]+)?")

NO_WORDS = "text without words"
NOT_ACCEPTED = f'text whose "answer" is not "{ACCEPT}"'
NOT_ANNOTATED = "text without annotation, not even an empty list"
NO_TEXT = "entity that has no words"
OUT_OF_TEXT = "entity that reaches beyond the text"
NOT_ALIGNED = "entity that does not align with tokens"
TRIMMED = "entity that begins or ends with whitespace"
OVERLAP = "entity that overlaps a longer or an earlier one"
WRONG_TEXT = "entity whose own text is another than that at its offsets"
REJECTED = "entity that was rejected"
UNSURE = f'entity whose "answer" is neither "{ACCEPT}" nor "{REJECT}"'
ODD_TAG = "I- tags without a B- before them, read as B-"
GLUED = "token with a blank in it"

# The key in doc.spans for rejected entities, for incorrect_spans_key of batch_ner.
INCORRECT_SPANS = "incorrect_spans"
# This many labels, each of a single text, suggest a wrong column.
_MANY_LABELS = 20
# A sentence with more tokens suggests missing blank lines.
_LONG_SENTENCE = 1000
# How offsets may count, besides characters, and how a hint describes it.
_OFFSETS = {
    "utf16": "count UTF-16 units, as JavaScript does",
    "inclusive": "end at the last character",
    "-1": "count from 1",
    "1": "are 1 too small",
    "utf8": "count bytes of UTF-8",
}
_UNITS = {"utf16": ("utf-16-le", 2), "utf8": ("utf-8", 1)}
_HINT_TEXTS = 200  # the texts to check for a hint


@dataclass(frozen=True)
class Reading:
    """How to read a file: the options of `convert`.

    format (Optional[Format]): The format. None: by suffix or first line.
    docs (Optional[str]): What becomes a doc, in a file with a token a line: "sentences",
        "documents", or a maximum number of tokens. None: "documents" if it starts with -DOCSTART-.
    labels (Optional[Sequence[str]]): The tag of each number in JSON.
    layout, csv_layout: The columns of a CoNLL file and of a CSV file.
    offsets (str): How the offsets of entities count, as in `in_characters`.
    group (Optional[str]): What names the document that a text is from: a key, or a column of CSV or
        CoNLL. None: the usual keys.
    """

    format: Optional[Format] = None
    docs: Optional[str] = None
    labels: Optional[Sequence[str]] = None
    layout: Layout = field(default_factory=Layout)
    csv_layout: CsvLayout = field(default_factory=CsvLayout)
    offsets: str = "characters"
    group: Optional[str] = None

    def __post_init__(self) -> None:
        """Check the settings that are strings."""
        in_characters("", 0, 0, self.offsets)
        rules = (None, "sentences", "documents")
        if self.docs not in rules and not re.fullmatch("[1-9][0-9]*", str(self.docs)):
            raise ValueError(
                f"--docs must be sentences, documents or a number of tokens, was: {self.docs}."
            )


def in_characters(text: str, start: int, end: int, offsets: str) -> tuple[int, int]:
    """Return the offsets of an entity in characters.

    offsets (str): How they count: in "characters", in "utf16" or "utf8" code units, "inclusive" for
        an end at the last character, or a number to add to both.

    Offsets outside the text, or within a character, become -1. Raises ValueError for other values.
    """
    if offsets == "characters":
        return start, end
    if offsets == "inclusive":
        return start, end + 1
    if offsets in _UNITS:
        encoding, size = _UNITS[offsets]
        encoded = text.encode(encoding)
        return _place(encoded, start * size, encoding), _place(encoded, end * size, encoding)
    if re.fullmatch("[-+]?[0-9]{1,9}", offsets):
        return start + int(offsets), end + int(offsets)
    raise ValueError(
        f"Expected as --offsets characters, {', '.join(_UNITS)}, inclusive, or a number to add to "
        f"offsets, was: {offsets!r}."
    )


def _place(encoded: bytes, at: int, encoding: str) -> int:
    try:
        return len(encoded[:at].decode(encoding)) if 0 <= at <= len(encoded) else -1
    except UnicodeDecodeError:  # within a character
        return -1


class Problem(NamedTuple):
    """A problem with a line of a file that can be read.

    what (str): The problem, the same for all such lines.
    detail (str): The text with the problem.
    """

    line: int
    what: str
    detail: str


@dataclass
class TaggedTokens:
    """A file with a token a line: its documents, and the scheme of its tags."""

    path: Path
    format: Format
    records: Sequence[Record]
    scheme: Scheme
    problems: list[Problem]

    def __len__(self) -> int:
        """Count the documents."""
        return len(self.records)

    def words(self, i: int) -> tuple[str, ...]:
        """Return the words of a document."""
        return tuple(self.records[i].words)

    def groups(self) -> list[str]:
        """Return what names the document of each item, or ""."""
        return [record.group for record in self.records]

    def make_doc(self, i: int, nlp: Language) -> Doc:
        """Make a doc of the words of a document, with spaces unknown."""
        record = self.records[i]
        tags = iob2_tags(record, self.scheme)
        return tagged_doc(nlp.vocab, record.words, tags, record.sent_starts)

    def hint(self, nlp: Language) -> str:
        """Say how to cut documents, if a sentence has very many tokens."""
        longest = 0
        for record in self.records:
            starts = [i for i, opens in enumerate(record.sent_starts) if opens]
            bounds = pairwise([*starts, len(record.words)])
            longest = max([longest, *(end - start for start, end in bounds)])
        if longest <= _LONG_SENTENCE:
            return ""
        return (
            f"A sentence has {longest:,} tokens: there's no blank line in it. Cut documents with, "
            "for example, --docs 100"
        )


@dataclass
class AnnotatedTexts:
    """A file of texts. `make_doc` adds to the problems.

    has_spans (bool): Whether docs have entities.
    labels (Sequence[str]): The labels of whole texts, each of which is in doc.cats.
    """

    path: Path
    format: Format
    texts: Sequence[AnnotatedText]
    has_spans: bool
    labels: Sequence[str]
    offsets: str
    problems: list[Problem]

    def __len__(self) -> int:
        """Count the texts."""
        return len(self.texts)

    def words(self, i: int) -> tuple[str, ...]:
        """Return the words of a text, before it's cut into tokens."""
        return tuple(self.texts[i].text.split())

    def groups(self) -> list[str]:
        """Return what names the document of each text, or ""."""
        return [text.group for text in self.texts]

    def make_doc(self, i: int, nlp: Language) -> Doc:
        """Make a doc of a text, with the entities that fall on tokens."""
        item = self.texts[i]
        if len(item.text) > nlp.max_length:
            raise ValueError(
                f"{self.path}:{item.line}: expected a text of at most {nlp.max_length:,} "
                f"characters, which is what spaCy takes, found {len(item.text):,}. Cut it."
            )
        doc = nlp.make_doc(item.text)
        if self.labels:
            doc.cats = {label: item.cats.get(label, 0.0) for label in self.labels}
        if self.has_spans:
            self._set_entities(doc, item)
        return doc

    def _set_entities(self, doc: Doc, item: AnnotatedText) -> None:
        """Set the entities that fall on tokens. Tokens of those that don't are missing."""
        spans, rejected = [], []
        missing: set[int] = set()
        for given in item.spans:
            if given.answer not in (ACCEPT, REJECT):
                detail = f"{given.label} ({given.start} to {given.end})"
                self.problems.append(Problem(item.line, UNSURE, detail))
                continue
            span, what, detail = self._find(doc, given)
            if what:
                self.problems.append(Problem(item.line, what, detail))
            if span is not None and given.answer == REJECT:
                rejected.append(span)
                self.problems.append(Problem(item.line, REJECTED, detail))
            elif what == NOT_ALIGNED and given.answer == ACCEPT:
                start, end = in_characters(doc.text, given.start, given.end, self.offsets)
                missing |= {t.i for t in doc if t.idx < end and start < t.idx + len(t)}
            elif span is not None:
                spans.append(span)
        kept = filter_spans(spans)
        for span in spans:
            if not any(span is other for other in kept):
                detail = f"{span.label_} {span.text!r} ({span.start_char} to {span.end_char})"
                self.problems.append(Problem(item.line, OVERLAP, detail))
        if rejected := [span for span in rejected if span not in kept]:
            doc.spans[INCORRECT_SPANS] = rejected
        missing -= {token.i for span in kept for token in span}
        doc.set_ents(kept, missing=[doc[i : i + 1] for i in sorted(missing)])

    def _find(self, doc: Doc, given: TextSpan) -> tuple[Optional[Span], str, str]:
        """Return the tokens of an entity or None, the problem or "", and details."""
        text, label = doc.text, given.label
        start, end = in_characters(text, given.start, given.end, self.offsets)
        if not 0 <= start < end <= len(text):
            what = OUT_OF_TEXT if given.start < given.end else NO_TEXT
            return None, what, f"{label} ({given.start} to {given.end} of {len(text)} characters)"
        there = text[start:end]
        words = there.strip()
        detail = f"{label} {there!r} ({given.start} to {given.end})"
        if given.text is not None and given.text.split() != there.split():
            return None, WRONG_TEXT, f"{detail}, and not {given.text!r}"
        if not words:
            return None, NO_TEXT, detail
        start = text.index(words, start)
        end = start + len(words)
        span = doc.char_span(start, end, label=label)
        if span is None:
            near = doc.char_span(start, end, alignment_mode="expand")
            return None, NOT_ALIGNED, f"{detail}, in {str(near)!r}"
        return span, "" if words == there else TRIMMED, detail

    def hint(self, nlp: Language) -> str:
        """Say which offsets would fit, if most entities don't align."""
        texts = [item for item in self.texts if item.spans][:_HINT_TEXTS]
        docs = [nlp.make_doc(item.text) for item in texts]
        spans = [(doc, span) for doc, item in zip(docs, texts, strict=True) for span in item.spans]

        def fitting(offsets: str) -> int:
            source = replace(self, offsets=offsets)
            return sum(source._find(doc, span)[0] is not None for doc, span in spans)

        fit = {offsets: fitting(offsets) for offsets in ("characters", *_OFFSETS)}
        best = max(_OFFSETS, key=lambda offsets: fit[offsets])  # the first of equals
        if 2 * fit["characters"] >= len(spans) or fit[best] <= fit["characters"]:
            return ""
        return (
            f"{fit[best]:,} of {len(spans):,} entities would fit, {fit['characters']:,} do now, if "
            f"their offsets {_OFFSETS[best]}: try --offsets {best}"
        )


# A file that was read, and whose documents become docs later.
Source = Union[TaggedTokens, AnnotatedTexts]


def read_source(path: Path, reading: Reading) -> Source:
    """Read a file.

    Raises ValueError, with file and line, if the file can't be read, has no documents or no
    annotations, if labels of texts look like something else, or if nothing has the group.
    """
    source = _read_source(path, reading)
    if reading.group is not None and not any(source.groups()):
        raise ValueError(
            f"{path}: expected {reading.group!r} as --group, found it nowhere. Name a key of "
            "JSON, a column of CSV, or the number of a column or the key of comments of CoNLL."
        )
    return source


def _read_source(path: Path, reading: Reading) -> Source:
    format_ = reading.format or guess_format(path, reading)
    if format_ == "conll":
        documents = {"sentences": False, "documents": True}.get(str(reading.docs))
        records = list(read_conll(path, reading.layout, documents=documents, group=reading.group))
        if records and _reads_index(path, reading.layout, records):
            raise ValueError(
                f"{path}:{records[0].lines[0]}: expected tokens in the first column, found numbers "
                f"alone, {records[0].words[0]!r} and others. Name the column of tokens "
                "with --token-column."
            )
        return _tagged_tokens(path, format_, records, reading)
    if format_ == "jsonl" and has_tagged_tokens(path):
        return _tagged_tokens(
            path, format_, read_tagged_json(path, reading.labels, reading.group), reading
        )
    return _annotated_texts(path, format_, reading)


def guess_format(path: Path, reading: Reading) -> Format:
    """Guess the format of a file by its suffix, or else by its first line that isn't blank.

    Raises ValueError if neither fits a format.
    """
    suffix = (path.with_suffix("") if path.suffix == ".gz" else path).suffix.lower()
    if suffix in _SUFFIXES:
        return _SUFFIXES[suffix]
    layout = reading.layout
    for _, line in read_lines(path):
        if re.match(r'\s*\{\s*"', line) or line.strip() == "{":
            return "jsonl"
        if reading.csv_layout.find_delimiter(line):
            return "csv"
        if not line.strip() or is_comment(line):
            continue
        fields = layout.split(line)
        if fields[0] == DOCSTART or any(map(is_tag, fields[1:])):
            return "conll"
        if layout.split_piped(line):
            return "conll"
        if line.lstrip().startswith("["):
            return "jsonl"
        break
    raise ValueError(
        f"Cannot tell the format of {path}: expected a suffix such as .conll, .jsonl or .csv, or a "
        "first line with a token and its tag, a JSON object, or a header. Name the format "
        "with --format."
    )


def has_tagged_tokens(path: Path) -> bool:
    """Return whether the first JSON value of a file is an object with "tokens", and no text."""
    return has_tokens(next((value for _, value in json_values(path, BadLines())), None))


def _reads_index(path: Path, layout: Layout, records: Sequence[Record]) -> bool:
    """Return whether the first column numbers the tokens, and another column has them.

    As in CoNLL-U, 3-4 stands for two tokens, and 5.1 for a token between two others.
    """
    words = (word for record in records for word in record.words)
    if layout.token_column != 1 or not all(map(_INDEX.fullmatch, words)):
        return False
    line = next(line for number, line in read_lines(path) if number == records[0].lines[0])
    return len(layout.split(line)) > 2


def _tagged_tokens(
    path: Path, format_: Format, records: Sequence[Record], reading: Reading
) -> TaggedTokens:
    """Cut documents, and note odd tags and tokens."""
    if not records:
        raise ValueError(f"{path}: expected tagged tokens, found none. Give another file.")
    if reading.docs and reading.docs.isdecimal():
        records = list(cut_records(records, int(reading.docs)))
    scheme, odd = find_scheme(records, path)
    problems = [Problem(line, ODD_TAG, repr(tag)) for line, tag in odd]
    tokens = [(line, word) for r in records for line, word in zip(r.lines, r.words, strict=True)]
    glued = [Problem(line, GLUED, repr(word)) for line, word in tokens if " " in word]
    if 2 * len(glued) > len(tokens):
        problems += glued
    return TaggedTokens(path, format_, records, scheme, problems)


def _annotated_texts(path: Path, format_: Format, reading: Reading) -> AnnotatedTexts:
    """Read texts, and note texts without words or annotation, or that weren't accepted."""
    texts = (
        read_csv(path, reading.csv_layout, reading.group)
        if format_ == "csv"
        else read_jsonl(path, reading.group)
    )
    items, problems = [], list[Problem]()
    for text in texts:
        if text.answer != ACCEPT:
            problems.append(Problem(text.line, NOT_ACCEPTED, repr(text.answer)))
        elif not text.text.strip():
            problems.append(Problem(text.line, NO_WORDS, repr(text.text[:20])))
        else:
            items.append(text)
    has_spans = any(text.spans for text in items)
    labels = sorted({label for text in items for label in text.cats})
    _check_labels(path, labels, len(items))
    if not items:
        raise ValueError(f"{path}: expected texts, found none. Give another file.")
    if not has_spans and not labels:
        raise ValueError(
            f"{path}: expected entities or labels of texts, found none in {len(items):,} texts. "
            'Entities are "spans", "label", "labels" or "entities"; labels of texts are "cats", '
            '"label" or "accept".'
        )
    for text in items:
        if text.is_annotated:
            continue
        if not has_spans:
            raise ValueError(
                f'{path}:{text.line}: expected "cats", "label" or "labels" as other texts have, '
                'found none. Add "cats": {} if the text has no label.'
            )
        problems.append(Problem(text.line, NOT_ANNOTATED, repr(text.text[:40])))
    return AnnotatedTexts(path, format_, items, has_spans, labels, reading.offsets, problems)


def _check_labels(path: Path, labels: Sequence[str], texts: int) -> None:
    """Raise ValueError if labels of texts look like something else."""
    some = ", ".join(map(repr, labels[:3]))
    if labels and labels != ["O"] and all(map(is_tag, labels)):
        raise ValueError(
            f"{path}: expected labels of texts, found tags of tokens: {some}. Write a token and "
            "its tag on each line, as CoNLL, with blank lines between sentences."
        )
    if len(labels) >= _MANY_LABELS and len(labels) == texts:
        raise ValueError(
            f"{path}: found {len(labels):,} different labels in {texts:,} texts, such as {some}. "
            "Name the column that has the labels with --label-column."
        )


SHOWN_LINES = 3
# What happens to lines with these problems. Lines with any other problem are left out.
_FATES = {
    ODD_TAG: "",
    GLUED: "Read as one token",
    NOT_ANNOTATED: "Read as having no entities",
    TRIMMED: "Trimmed",
    REJECTED: f"Put into doc.spans[{INCORRECT_SPANS!r}], not doc.ents",
}


def summarize_problems(
    source: Source, shown: Optional[int] = SHOWN_LINES
) -> list[tuple[str, list[str]]]:
    """Count the problems of each kind, and list the first of them, or all, with their lines."""
    by_kind: dict[str, list[Problem]] = defaultdict(list)
    for problem in sorted(source.problems):
        by_kind[problem.what].append(problem)
    summary = []
    for kind, problems in by_kind.items():
        lines = [f"{source.path}:{p.line}: {p.detail}" for p in problems[:shown]]
        if len(problems) > len(lines):
            lines.append(f"and {len(problems) - len(lines):,} more (convert --verbose shows all)")
        count = f"{len(problems):,}"
        if isinstance(source, AnnotatedTexts) and kind.startswith("entity"):
            count += f" of {sum(len(text.spans) for text in source.texts):,}"
        title = ": ".join(filter(None, [_FATES.get(kind, "Left out"), kind]))
        summary.append((f"{title} ({count})", lines))
    return summary
