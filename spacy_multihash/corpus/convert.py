"""Files in common formats as docs with entities or labels."""

import re
from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, fields, replace
from functools import cached_property
from itertools import islice, pairwise
from pathlib import Path
from typing import Any, Literal, Optional, Union

import spacy
from spacy.language import Language
from spacy.tokens import Doc, DocBin, Span
from spacy.util import filter_spans, get_words_and_spaces

from ..common.lines import INVISIBLE, Account, BadLines, Problem, read_lines
from ..common.outputs import check_file_output, check_writable
from ..common.progress import Progress, no_progress
from ..common.result import Result, Table, to_json
from .annotation import ACCEPT, REJECT, is_tag
from .conll import (
    DOCSTART,
    MISSING,
    UNREAD,
    Layout,
    Record,
    Scheme,
    cut_records,
    doc_of,
    find_scheme,
    is_comment,
    read_conll,
    read_tagged_json,
    tags_key,
)
from .read import write_corpora
from .shards import DOCS
from .splits import SPLITS, split_related
from .statistics import Contradictions, SplitCounts, label_rows
from .texts import (
    AnnotatedText,
    CsvLayout,
    TextSpan,
    json_values,
    read_csv,
    read_jsonl,
    text_of_json,
)

Format = Literal["conll", "jsonl", "csv"]
# What a path may be, and what stands for a file: lists of (text, annotation) or JSON objects.
Input = Union[str, Path, Sequence[Union[str, Path]], Sequence[Any]]

_SUFFIXES: dict[str, Format] = {
    **dict.fromkeys((".conll", ".conll2002", ".conll2003", ".iob", ".iob2", ".bio"), "conll"),
    **dict.fromkeys((".json", ".jsonl", ".ndjson"), "jsonl"),
    ".csv": "csv",
}
_NAMES = {"conll": "CoNLL", "jsonl": "JSON lines", "tokens": "JSON lines of tokens", "csv": "CSV"}

# Problems of texts and entities. Those of ENTITIES_LEFT_OUT have an entity each.
NO_WORDS = "Left out: text without words"
NOT_ACCEPTED = f'Left out: text whose "answer" is not "{ACCEPT}"'
NOT_ANNOTATED = "Missing annotation of entities, not even an empty list"
NO_LABELS = "Missing annotation of labels, not even an empty list"
NO_TEXT = "Left out: entity that has no words"
OUT_OF_TEXT = "Left out: entity that reaches beyond the text"
NOT_ALIGNED = "Left out: entity that does not align with tokens"
TRIMMED = "Trimmed: entity that begins or ends with whitespace"
OVERLAP = "Left out: entity that overlaps a longer or an earlier one"
WRONG_TEXT = "Left out: entity whose own text is another than that at its offsets"
INCORRECT_SPANS = "incorrect_spans"  # for incorrect_spans_key of batch_ner
REJECTED = f"Put into doc.spans[{INCORRECT_SPANS!r}], not doc.ents: entity that was rejected"
UNSURE = f'Left out: entity whose "answer" is neither "{ACCEPT}" nor "{REJECT}"'
ENTITIES_LEFT_OUT = (NO_TEXT, OUT_OF_TEXT, NOT_ALIGNED, OVERLAP, WRONG_TEXT, UNSURE, REJECTED)
ODD_TAG = "I- tags without a B- before them, read as B-"
GLUED = "Read as one token: token with a blank in it"
OTHER_TOKENS = "Cut anew: tokens that don't spell the text"
HIDDEN = "Invisible characters in a text, removed"
CONTRADICTS = "Same text as before, with other annotation"

SHOWN_LINES = 3
# This many labels, each of a single text, suggest a wrong column.
_MANY_LABELS = 20
# Labels that don't apply are written with 0 to this many in all, and must be if texts have several.
_ZEROS, _MOST_ZEROS = 2 * 10**6, 20 * 10**6
_BYTES = 70  # in memory, of a label in doc.cats
# A sentence with more tokens suggests missing blank lines.
_LONG_SENTENCE = 1000
# How offsets may count, besides characters, and how a hint describes it.
_OFFSETS = {
    "utf16": "count UTF-16 units, as JavaScript does",
    "inclusive": "end at the last character",
    "newlines": "count a line end \\r\\n as one character",
    "-1": "count from 1",
    "1": "are 1 too small",
    "2": "are 2 too small",
}
_HINT_TEXTS = 200  # the texts to check for a hint
_GUESSED = 200  # lines, to tell the format
_SEPARATOR = re.compile(r"[^\w\s]+|\s*[,;/|#+&]\s*")

_KIND_OPTIONS = {
    "conll": ("docs", "token_column", "tag_column", "group"),
    "tokens": ("docs", "labels", "group"),
    "jsonl": ("label_separator", "offsets", "group"),
    "csv": ("text_column", "label_column", "label_separator", "group"),
}


@dataclass(frozen=True)
class Reading:
    """How to read files: the options of `convert`. None: by default.

    Options that don't apply to any of the files are refused.

    format (Optional[Format]): The format. None: by suffix, or by the first lines.
    docs (Optional[str]): CoNLL and JSON of tokens: what becomes a doc, "sentences", "documents", or
        a maximum number of tokens. None: "documents" if -DOCSTART- lines separate them.
    labels (Optional[Sequence[str]]): JSON of tokens: the tag of each number.
    token_column, tag_column (Optional[int]): CoNLL: the columns, from 1, or from -1 at the end.
        None: the first and the last.
    text_column, label_column (Optional[str]): CSV: the names of the columns. None: text and label.
    label_separator (Optional[str]): CSV and JSON: separates the labels of a text.
    offsets (Optional[str]): JSON: how the offsets of entities count, as in `in_characters`.
    group (Optional[str]): What names the document that a text is from: a key, or a column of CSV or
        CoNLL. None: the usual keys.
    """

    format: Optional[Format] = None
    docs: Optional[str] = None
    labels: Optional[Sequence[str]] = None
    token_column: Optional[int] = None
    tag_column: Optional[int] = None
    text_column: Optional[str] = None
    label_column: Optional[str] = None
    label_separator: Optional[str] = None
    offsets: Optional[str] = None
    group: Optional[str] = None

    def __post_init__(self) -> None:
        """Check the settings that are strings, and the columns."""
        if self.offsets is not None:
            in_characters("", 0, 0, self.offsets)
        rules = (None, "sentences", "documents")
        if self.docs not in rules and not re.fullmatch("[1-9][0-9]*", str(self.docs)):
            raise ValueError(
                f"--docs must be sentences, documents or a number of tokens, was: {self.docs}."
            )
        _ = self.layout

    @property
    def layout(self) -> Layout:
        """The columns of a CoNLL file."""
        columns = (1 if self.token_column is None else self.token_column, self.tag_column)
        return Layout(columns[0], -1 if columns[1] is None else columns[1])

    @property
    def csv_layout(self) -> CsvLayout:
        """The columns of a CSV file."""
        names = (self.text_column or "text", self.label_column or "label")
        return CsvLayout(*names, self.label_separator)

    def check_applies(self, sources: Sequence["Source"]) -> None:
        """Raise ValueError for options that no file has a use for."""
        used = {name for source in sources for name in _KIND_OPTIONS[source.kind]}
        for each in fields(self):
            if each.name not in ("format", *used) and getattr(self, each.name) is not None:
                kinds = [
                    _NAMES[kind] for kind, names in _KIND_OPTIONS.items() if each.name in names
                ]
                found = " and ".join(dict.fromkeys(_NAMES[source.kind] for source in sources))
                raise ValueError(
                    f"--{each.name.replace('_', '-')} is for {', '.join(kinds)}, and "
                    f"{sources[0].path} is {found}. Leave it out."
                )


def in_characters(text: str, start: int, end: int, offsets: str) -> tuple[int, int]:
    r"""Return the offsets of an entity in characters.

    offsets (str): How they count: in "characters", in "utf16" code units, "inclusive" for an end at
        the last character, "newlines" for line ends \r\n that count as one character, or a number
        to add to both.

    Offsets outside the text, or within a character, become -1. Raises ValueError for other values.
    """
    if offsets == "characters":
        return start, end
    if offsets == "inclusive":
        return start, end + 1
    if offsets == "utf16":
        encoded = text.encode("utf-16-le")
        return _place(encoded, start * 2), _place(encoded, end * 2)
    if offsets == "newlines":
        units = [found.start() for found in re.finditer("\r\n|.", text, re.DOTALL)] + [len(text)]
        places = [units[at] if 0 <= at < len(units) else -1 for at in (start, end)]
        return places[0], places[1]
    if re.fullmatch("[-+]?[0-9]{1,9}", offsets):
        return start + int(offsets), end + int(offsets)
    raise ValueError(
        f"Expected as --offsets characters, utf16, inclusive, newlines, or a number to add to "
        f"offsets, was: {offsets!r}."
    )


def _place(encoded: bytes, at: int) -> int:
    try:
        return len(encoded[:at].decode("utf-16-le")) if 0 <= at <= len(encoded) else -1
    except UnicodeDecodeError:  # within a character
        return -1


# Sources: files that were read, and whose items become docs


@dataclass
class TaggedTokens:
    """A file with a token a line, or of JSON with tokens: its documents, and their scheme."""

    path: Path
    kind: str
    records: Sequence[Record]
    scheme: Scheme
    account: Account
    problems: list[Problem]
    notes: list[str]

    def __len__(self) -> int:
        """Count the documents."""
        return len(self.records)

    @property
    def has_entities(self) -> bool:
        """Whether order means something in a split."""
        return True

    @property
    def given(self) -> int:
        """The number of entities that the file gives: all are written."""
        return 0

    def line(self, i: int) -> int:
        """Return the first line of a document."""
        return self.records[i].lines[0]

    def words(self, i: int) -> tuple[str, ...]:
        """Return the words of a document."""
        return tuple(self.records[i].words)

    def groups(self) -> list[str]:
        """Return what names the document of each item, or ""."""
        return [record.group for record in self.records]

    def make_doc(self, i: int, nlp: Language) -> Doc:
        """Make a doc of the words of a document. Spaces are unknown unless the file has a text."""
        record = self.records[i]
        try:
            return doc_of(record, self.scheme, nlp.vocab)
        except ValueError as error:
            raise ValueError(
                f"{self.path}:{record.lines[0]}: the tokens don't spell the text "
                f"{str(record.text)[:60]!r}. Correct the line, or leave the text out."
            ) from error

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

    labels (Sequence[str]): The labels of whole texts.
    has_entities (bool): Whether docs have entities.
    with_zeros (bool): Whether docs have 0 for labels that don't apply.
    """

    path: Path
    kind: str
    texts: Sequence[AnnotatedText]
    has_entities: bool
    labels: Sequence[str]
    with_zeros: bool
    offsets: str
    account: Account
    problems: list[Problem]
    notes: list[str]

    def __len__(self) -> int:
        """Count the texts."""
        return len(self.texts)

    @property
    def given(self) -> int:
        """The number of entities that the file gives."""
        return sum(len(text.spans or ()) for text in self.texts)

    def line(self, i: int) -> int:
        """Return the first line of a text."""
        return self.texts[i].line

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
        doc, problems = _bare_doc(item, nlp)
        self.problems += problems
        if self.labels and item.cats is not None:
            is_whole = self.with_zeros and item.is_whole
            doc.cats = {**(dict.fromkeys(self.labels, 0.0) if is_whole else {}), **item.cats}
        if self.has_entities and item.spans is not None:
            self._set_entities(doc, item, item.spans)
        return doc

    def _set_entities(self, doc: Doc, item: AnnotatedText, given: Sequence[TextSpan]) -> None:
        """Set the entities that fall on tokens. Tokens of the others are missing."""
        spans, rejected = [], []
        missing: set[int] = set()
        for each in given:
            found = self._find(doc, item, each)
            span, what, detail = found.span, found.what, found.detail
            if each.answer not in (ACCEPT, REJECT):
                span, what = None, UNSURE
            elif each.answer == REJECT:
                what = REJECTED if span else what
                rejected += [span] if span else []
                span = None
            if what:
                self.problems.append(Problem(item.line, what, detail))
            if span is not None:
                spans.append(span)
                continue
            for start, end in found.places:
                missing |= {t.i for t in doc if t.idx < end and start < t.idx + len(t)}
        kept = filter_spans(spans)
        for span in spans:
            if not any(span is other for other in kept):
                detail = f"{span.label_} {span.text!r} ({span.start_char} to {span.end_char})"
                self.problems.append(Problem(item.line, OVERLAP, detail))
                missing |= {token.i for token in span}
        if rejected := [span for span in rejected if span not in kept]:
            doc.spans[INCORRECT_SPANS] = rejected
        missing -= {token.i for span in kept for token in span}
        doc.set_ents(kept, missing=[doc[i : i + 1] for i in sorted(missing)])

    def _find(self, doc: Doc, item: AnnotatedText, given: TextSpan) -> "_Found":
        """Find the tokens of an entity."""
        text, label = doc.text, given.label
        start, end = in_characters(item.text, given.start, given.end, self.offsets)
        if not 0 <= start < end <= len(item.text):
            what = OUT_OF_TEXT if given.start < given.end else NO_TEXT
            size = len(item.text)
            detail = f"{label} ({given.start} to {given.end} of {size} characters)"
            inside = [(max(0, start), min(end, size))] if max(0, start) < min(end, size) else []
            return _Found(None, what, detail, inside)
        if len(text) < len(item.text):  # invisible characters were removed
            start, end = (len(INVISIBLE.sub("", item.text[:at])) for at in (start, end))
        there = text[start:end]
        words = there.strip()
        detail = f"{label} {there!r} ({given.start} to {given.end})"
        if given.text is not None and _visible(given.text).split() != there.split():
            own = [found.span() for found in re.finditer(re.escape(given.text.strip()), text)]
            return _Found(
                None, WRONG_TEXT, f"{detail}, and not {given.text!r}", [(start, end), *own]
            )
        if not words:
            return _Found(None, NO_TEXT, detail, [])
        start = text.index(words, start)
        end = start + len(words)
        span = doc.char_span(start, end, label=label)
        if span is None:
            near = doc.char_span(start, end, alignment_mode="expand")
            return _Found(None, NOT_ALIGNED, f"{detail}, in {str(near)!r}", [(start, end)])
        return _Found(span, "" if words == there else TRIMMED, detail, [(start, end)])

    def hint(self, nlp: Language) -> str:
        """Say which offsets fit, if most entities don't align: those that fit most of them exactly.

        An entity fits exactly if nothing has to be trimmed.
        """
        texts = [item for item in self.texts if item.spans][:_HINT_TEXTS]
        docs = [_bare_doc(item, nlp)[0] for item in texts]
        spans = [
            (doc, item, span)
            for doc, item in zip(docs, texts, strict=True)
            for span in item.spans or ()
        ]

        def fitting(offsets: str) -> int:
            found = (replace(self, offsets=offsets)._find(*each) for each in spans)
            return sum(each.span is not None and not each.what for each in found)

        now = fitting(self.offsets)
        if 2 * now >= len(spans):
            return ""
        fit = {offsets: fitting(offsets) for offsets in ("characters", *_OFFSETS)}
        most = max(fit.values())
        if 2 * most <= len(spans):
            return ""
        best = [offsets for offsets in fit if fit[offsets] == most]
        how = " or ".join(
            f"{_OFFSETS.get(each, 'count characters')} (try --offsets {each})" for each in best
        )
        return (
            f"{most:,} of {len(spans):,} entities would fit exactly, {now:,} do now, if their "
            f"offsets {how}"
        )


@dataclass(frozen=True)
class _Found:
    """The tokens of an entity or None, the problem or "", details, and where it is in the text."""

    span: Optional[Span]
    what: str
    detail: str
    places: Sequence[tuple[int, int]]


def _visible(text: str) -> str:
    return INVISIBLE.sub("", text)


def _bare_doc(item: AnnotatedText, nlp: Language) -> tuple[Doc, list[Problem]]:
    """Make a doc of a text without invisible characters, with its own tokens if it has them."""
    text, problems = _visible(item.text), []
    if len(text) < len(item.text):
        problems.append(Problem(item.line, HIDDEN, repr(item.text[:40])))
    if item.tokens is not None:
        try:
            tokens = [token for token in map(_visible, item.tokens) if token]
            words, spaces = get_words_and_spaces(tokens, text)
            return Doc(nlp.vocab, words=words, spaces=spaces), problems
        except ValueError:
            problems.append(Problem(item.line, OTHER_TOKENS, repr(text[:40])))
    return nlp.make_doc(text), problems


Source = Union[TaggedTokens, AnnotatedTexts]


def read_source(path: Path, reading: Reading) -> Source:
    """Read a file. Each of its lines is written, left out and named, or no item.

    Raises ValueError, with file and line, if the file can't be read, has no documents or no
    annotations, if labels of texts look like something else, or if nothing has the group.
    """
    if not path.is_file():
        what = "is a folder" if path.is_dir() else "doesn't exist, or is a pipe or a device"
        raise ValueError(f"Expected a file, which is read more than once: {path} {what}.")
    source = _read_source(path, reading)
    if reading.group is not None and not any(source.groups()):
        raise ValueError(
            f"{path}: expected {reading.group!r} as --group, found it nowhere. Name a key of "
            "JSON, a column of CSV, or the number of a column or the key of comments of CoNLL."
        )
    source.account.check()
    return source


def _read_source(path: Path, reading: Reading) -> Source:
    format_, account = reading.format or guess_format(path, reading), Account(path)
    if format_ == "conll":
        documents = {"sentences": False, "documents": True}.get(str(reading.docs))
        tagged = read_conll(path, reading.layout, account, documents=documents, group=reading.group)
        return _tagged_tokens(path, "conll", account, reading, *tagged)
    if format_ == "jsonl" and has_tagged_tokens(path):
        tagged = read_tagged_json(path, account, reading.labels, reading.group)
        return _tagged_tokens(path, "tokens", account, reading, *tagged)
    bad = BadLines()
    if format_ == "csv":
        texts = list(read_csv(path, reading.csv_layout, bad, account, reading.group))
    else:
        texts = list(read_jsonl(path, bad, account, reading.group, reading.label_separator))
    bad.check()
    return _annotated_texts(path, format_, account, texts, reading)


def guess_format(path: Path, reading: Reading) -> Format:
    """Guess the format of a file by its suffix, or else by most of its first lines.

    Raises ValueError if neither fits a format.
    """
    suffix = (path.with_suffix("") if path.suffix == ".gz" else path).suffix.lower()
    if suffix in _SUFFIXES:
        return _SUFFIXES[suffix]
    votes: Counter[str] = Counter()
    for number, line in read_lines(path):
        if not line.strip():
            continue
        if not votes and reading.csv_layout.find_delimiter(line):
            return "csv"
        vote = _guess_line(line, reading.layout)
        if vote == "jsonl" and not votes and line.strip() in ("[", "{"):
            return "jsonl"
        if vote or not is_comment(line):
            votes[vote or ""] += 1
        if number == _GUESSED:
            break
    lines = votes.total()
    best: Format = "conll" if votes["conll"] > votes["jsonl"] else "jsonl"
    if 2 * votes[best] > lines:
        return best
    raise ValueError(
        f"Cannot tell the format of {path}: expected a suffix such as .conll, .jsonl or .csv, or "
        "lines with a token and its tag, with a JSON object, or a header. Name the format with "
        "--format."
    )


def _guess_line(line: str, layout: Layout) -> Optional[Format]:
    fields = layout.split(line)
    if fields[0] == DOCSTART or any(map(is_tag, fields[1:])) or layout.split_piped(line):
        return "conll"
    is_json = re.match(r'\s*(\[\s*)?\{\s*("|$)', line) or line.strip() == "["
    return "jsonl" if is_json else None


def has_tagged_tokens(path: Path) -> bool:
    """Return whether most JSON values of a file are objects with "tokens" and as many tags.

    The first values count.
    """
    first = islice(json_values(path, BadLines(), Account(path)), _GUESSED)
    values = [value for _, value in first]
    with_words = [
        isinstance(value, dict)
        and isinstance(value.get("tokens"), list)
        and (tags_key(value) is not None or "text" not in value)
        for value in values
    ]
    return any(with_words) and 2 * sum(with_words) >= len(values)


def _tagged_tokens(
    path: Path,
    kind: str,
    account: Account,
    reading: Reading,
    records: Sequence[Record],
    problems: Sequence[Problem],
    notes: Sequence[str],
) -> TaggedTokens:
    """Cut documents, and note odd tags and tokens."""
    if not records:
        raise ValueError(f"{path}: expected tagged tokens, found none. Give another file.")
    if reading.docs and reading.docs.isdecimal():
        records = list(cut_records(records, int(reading.docs)))
    scheme, odd = find_scheme(records, path)
    problems = [*problems, *(Problem(line, ODD_TAG, repr(tag)) for line, tag in odd)]
    tokens = [(line, word) for r in records for line, word in zip(r.lines, r.words, strict=True)]
    glued = [Problem(line, GLUED, repr(word)) for line, word in tokens if " " in word]
    if 2 * len(glued) > len(tokens):
        problems += glued
    labels = sorted({label for record in records for label in record.cats})
    for record in records if len(labels) * len(records) <= _ZEROS else ():
        if record.cats:
            record.cats = {**dict.fromkeys(labels, 0.0), **record.cats}
    tags = Counter(tag for record in records for tag in record.tags)
    notes = list(notes)
    if not any(tag not in ("O", MISSING) for tag in tags):
        notes.append(
            f"All {tags.total():,} tags of {path} are {' or '.join(sorted(tags))}: it has no "
            "entities. Exports of annotation tools leave out layers of your own."
        )
    return TaggedTokens(path, kind, records, scheme, account, problems, notes)


def _annotated_texts(
    path: Path, kind: str, account: Account, texts: Sequence[AnnotatedText], reading: Reading
) -> AnnotatedTexts:
    """Note texts without words or annotation, or that weren't accepted."""
    items, problems = _accepted(texts, account)
    has_entities = any(text.spans for text in items)
    labels = sorted({label for text in items for label in text.cats or ()})
    _check_labels(path, labels, len(items))
    if not items:
        lines = summarize(path, problems)
        shown = "\n".join(line for title, details in lines for line in (title, *details))
        raise ValueError(f"{path}: expected texts, found none. Give another file.\n{shown}".strip())
    if not has_entities and not labels:
        unread = dict.fromkeys(problem.detail for problem in problems if problem.what == UNREAD)
        named = " and ".join(unread)
        raise ValueError(
            f"{path}: expected entities or labels of texts, found none in {len(items):,} texts. "
            'Entities are "spans", "ents", "entities" or "label"; labels of texts are "cats", '
            '"label" or "accept".' + (f" {named} may be annotation: write it so." if named else "")
        )
    notes = []
    if has_entities:
        bare = [text for text in items if text.spans is None]
        problems += [Problem(text.line, NOT_ANNOTATED, repr(text.text[:40])) for text in bare]
    if labels:
        bare = [text for text in items if text.cats is None]
        if not has_entities and bare:
            raise ValueError(
                f'{path}:{bare[0].line}: expected "cats", "label" or "labels" as other texts have, '
                'found none. Add "cats": {} if the text has no label.'
            )
        problems += [Problem(text.line, NO_LABELS, repr(text.text[:40])) for text in bare]
        notes = _label_notes(items, labels)
    with_zeros = _writes_zeros(path, items, labels, notes)
    return AnnotatedTexts(
        path,
        kind,
        items,
        has_entities,
        labels,
        with_zeros,
        reading.offsets or "characters",
        account,
        problems,
        notes,
    )


def _accepted(
    texts: Sequence[AnnotatedText], account: Account
) -> tuple[list[AnnotatedText], list[Problem]]:
    """Leave out texts without words, and those that weren't accepted.

    If labels of texts were rejected, each label is a decision on this label alone.
    """
    items, problems = [], list[Problem]()
    for text in texts:
        problems += [Problem(text.line, UNREAD, repr(name)) for name in text.unread]
        if text.answer == ACCEPT and _visible(text.text).strip():
            items.append(text)
            continue
        is_bare = text.answer == ACCEPT
        detail = repr(text.text[:20] if is_bare else text.answer)
        problems.append(Problem(text.line, NO_WORDS if is_bare else NOT_ACCEPTED, detail))
        account.mark("left out", text.lines.start, text.lines.stop - 1)
    for text in items:
        account.mark("written", text.lines.start, text.lines.stop - 1)
    if any(text.is_rejected for text in items):
        items = [
            replace(text, is_whole=False) if text.cats and len(text.cats) == 1 else text
            for text in items
        ]
    return items, problems


def _check_labels(path: Path, labels: Sequence[str], texts: int) -> None:
    """Raise ValueError if labels of texts look like something else."""
    some = ", ".join(map(repr, labels[:3]))
    tags = [all(map(is_tag, label.split())) for label in labels]
    if labels and labels != ["O"] and all(tags):
        raise ValueError(
            f"{path}: expected labels of texts, found tags of tokens: {some}. Write a token and "
            "its tag on each line, as CoNLL, with blank lines between sentences."
        )
    if len(labels) >= _MANY_LABELS and len(labels) == texts:
        raise ValueError(
            f"{path}: found {len(labels):,} different labels in {texts:,} texts, such as {some}. "
            "Name the column that has the labels with --label-column."
        )


def _label_notes(items: Sequence[AnnotatedText], labels: Sequence[str]) -> list[str]:
    """Name labels that seem to be several, labels that all texts have, and labels never denied."""
    notes = []
    parts: defaultdict[str, list[str]] = defaultdict(list)
    for label in labels:
        for separator in {found.group() for found in _SEPARATOR.finditer(label)}:
            parts[separator].append(label)
    for separator, joined in parts.items():
        several = [x for x in joined if {part.strip() for part in x.split(separator)} <= {*labels}]
        if 2 * len(several) > len(joined):
            notes.append(
                f"{several[0]!r} seems to be {len(several[0].split(separator))} labels: to read "
                f"them so, give --label-separator {separator.strip()!r}."
            )
    positive = [{label for label, share in (x.cats or {}).items() if share} for x in items]
    if len(labels) == 1 and all(positive):
        notes.append(
            f"All texts have the label {labels[0]}, so that there's nothing to learn. Add texts "
            "with other labels, or without it."
        )
    is_open = not any(x.is_whole or 0.0 in (x.cats or {}).values() for x in items if x.cats)
    if is_open and any(len(of_text) != 1 for of_text in positive):
        notes.append(
            'No label in "cats" is 0, so whether other labels apply is unknown, and textcat_'
            'multilabel learns nothing. List those that don\'t apply with 0, or use "labels".'
        )
    return notes


def _writes_zeros(
    path: Path, items: Sequence[AnnotatedText], labels: Sequence[str], notes: list[str]
) -> bool:
    """Return whether labels that don't apply get a 0, unless that's too many of them."""
    number = len(items) * len(labels)
    if number <= _ZEROS:
        return True
    whole = [x for x in items if x.is_whole and x.cats is not None]
    if all(len(x.cats or ()) == 1 for x in whole):
        notes.append(
            f"Only the label of each text is written: {len(items):,} texts with {len(labels):,} "
            "labels would have too many zeros. textcat takes all others as 0; textcat_multilabel "
            "doesn't."
        )
        return False
    if number > _MOST_ZEROS:
        raise ValueError(
            f"{path}: {len(items):,} texts with {len(labels):,} labels, any number each, need "
            f"about {number * _BYTES / 1e9:,.1f} GB in spaCy. Leave rare labels out, or split them "
            "among several classifiers."
        )
    return True


# The verb


@dataclass(frozen=True)
class FileReport:
    """What became of a file.

    lines (Mapping[str, int]): All "lines", and those that were "written", "left out", "header",
        "comment" or "blank". They add up.
    entities (Mapping[str, int]): Of texts: the entities "given", "written" and "left out", which
        add up. Those that were rejected count as left out.
    problems (Sequence[Problem]): The problems of lines, in order.
    """

    path: Path
    kind: str
    scheme: Optional[str]
    lines: Mapping[str, int]
    entities: Mapping[str, int]
    problems: Sequence[Problem]
    notes: Sequence[str]

    def shown(self, number: Optional[int] = SHOWN_LINES) -> list[tuple[str, list[str]]]:
        """Return each kind of problem, with lines, and the notes. number: how many lines of each.

        None shows all.
        """
        found = summarize(self.path, self.problems, number, self.entities["given"])
        return [*found, *((note, []) for note in self.notes)]


@dataclass(frozen=True)
class Converted(Result):
    """Files as docs.

    bins (Mapping[str, DocBin]): The docs of each split, or of the only corpus.
    splits (Mapping[str, SplitCounts]): Their counts.
    files (Sequence[FileReport]): What became of each file.
    groups (Sequence[str]): What names the document of each doc, or "", in the order of the files.
    lang (str): The language of the tokenizer.
    verbose (bool): Whether all problems are listed, and not the first of each kind.
    """

    bins: Mapping[str, DocBin]
    splits: Mapping[str, SplitCounts]
    files: Sequence[FileReport]
    groups: Sequence[str]
    lang: str
    verbose: bool = False

    @cached_property
    def docs(self) -> dict[str, list[Doc]]:
        """The docs of each split, of one vocab."""
        vocab = spacy.blank(self.lang).vocab
        return {name: list(of_split.get_docs(vocab)) for name, of_split in self.bins.items()}

    def problems(self) -> list[tuple[str, list[str]]]:
        """Return the problems of lines, with a title for each kind, and notes without lines."""
        number = None if self.verbose else SHOWN_LINES
        return [pair for each in self.files for pair in each.shown(number)]

    def tables(self) -> list[Table]:
        """Return the table of documents, tokens and labels, and the table of lines."""
        splits = list(self.splits.values())
        rows = [
            ("documents", *(f"{split.docs:,}" for split in splits)),
            ("tokens", *(f"{split.tokens:,}" for split in splits)),
        ]
        if any(split.missing for split in splits) and any(split.labels for split in splits):
            missing = (f"{split.missing:,}" for split in splits)
            rows.append(("  without annotation of entities", *missing))
        for title, counters in (
            ("entities", [split.labels for split in splits]),
            ("labels of texts", [split.cats for split in splits]),
        ):
            if any(counters):
                rows.append((title, *(f"{counter.total():,}" for counter in counters)))
                rows += label_rows(counters)
        lines = [
            (each.path.name, *(f"{each.lines[fate]:,}" for fate in ("lines", *Account.FATES)))
            for each in self.files
        ]
        return [
            Table("Converted", ("", *self.splits), rows),
            Table("Lines of files", ("", "lines", *Account.FATES), lines),
        ]

    def notes(self) -> list[str]:
        """Return what each file is, and the problems of its lines."""
        notes = []
        for each in self.files:
            scheme = f" with {each.scheme} tags" if each.scheme else ""
            notes.append(f"{each.path} is {_NAMES[each.kind]}{scheme}")
        return [*notes, *("\n".join((title, *lines)) for title, lines in self.problems())]

    def to_json(self) -> dict[str, Any]:
        """Return the counts, and what became of each file."""
        return {
            "splits": {
                name: {
                    "docs": split.docs,
                    "tokens": split.tokens,
                    "missing": split.missing,
                    "entities": dict(split.labels),
                    "cats": dict(split.cats),
                }
                for name, split in self.splits.items()
            },
            "files": to_json(self.files),
        }


def convert(
    paths: Input,
    output: Union[str, Path, None] = None,
    *,
    reading: Optional[Reading] = None,
    lang: str = "xx",
    split: Union[str, Sequence[float], None] = None,
    seed: int = 0,
    force: bool = False,
    verbose: bool = False,
    progress: Progress = no_progress,
) -> Converted:
    """Convert files to docs: CoNLL, JSON lines, CSV, or texts with their annotation.

    Each line of a file is written, left out and named, or refused.

    paths (Input): A file or several, UTF-8, plain or .gz; or a list of texts, each as an object of
        JSON lines, or a text with its annotation, such as ("Anna left", {"entities": [(0, 4,
        "PER")]}).
    output (Optional): The .spacy file to write, or with `split` the folder for train.spacy and
        others. None: write nothing.
    reading (Optional[Reading]): How to read the files.
    lang (str): The language whose tokenizer cuts texts.
    split (Optional): The shares of train, dev and maybe test, such as [0.8, 0.1, 0.1].
    seed (int): Decides which document goes where.
    force (bool): Whether to replace `output`.
    verbose (bool): Whether the result lists all problems of lines.
    RETURNS (Converted): The docs, their counts, and what became of each line.

    Raises ValueError, ImportError or OSError, and writes nothing, if a file can't be read, if an
    option doesn't apply, if the output is in the way, or if no entities or labels are left.
    """
    output = None if output is None else Path(output)
    split = _shares_of(split) if isinstance(split, str) else split
    names = SPLITS[: len(split)] if split is not None else ()
    if output is not None:
        _check_output(output, names, force=force)
    if split is None and seed:
        raise ValueError("--seed is for --split. Leave it out.")
    nlp = spacy.blank(lang)
    reading = reading or Reading()
    sources = _read_all(paths, reading)
    items = [(source, i) for source in sources for i in range(len(source))]
    groups = [group for source in sources for group in source.groups()]
    parts: dict[str, Sequence[int]] = {output.stem if output else "docs": range(len(items))}
    if split is not None:
        if len(items) == 1:
            hint = sources[0].hint(nlp) if isinstance(sources[0], TaggedTokens) else ""
            raise ValueError(f"There is 1 document, which --split can't part. {hint}".strip())
        by_order = any(source.has_entities for source in sources)
        words = [source.words(i) for source, i in items]
        parts = dict(split_related(groups, words, split, seed, by_order=by_order).places)
    of_item = {i: name for name, places in parts.items() for i in places}
    counts, bins = {name: SplitCounts() for name in parts}, {name: DocBin() for name in parts}
    written, seen = Counter[int](), Contradictions()
    for number, (source, i) in enumerate(progress(items, desc="Converting", total=len(items))):
        doc, line = source.make_doc(i, nlp), source.line(i)
        written[id(source)] += len(doc.ents)
        if former := seen.add(doc, f"{source.path}:{line}"):
            detail = f"{former.text!r}, other annotation than in {former.first}"
            source.problems.append(Problem(line, CONTRADICTS, detail))
        counts[of_item[number]].add(doc)
        bins[of_item[number]].add(doc)
    files = [_report(source, written[id(source)], nlp, reading) for source in sources]
    converted = Converted(bins, counts, files, groups, lang, verbose)
    if not any(counter.labels or counter.cats or counter.denied for counter in counts.values()):
        lines = [line for title, details in converted.problems() for line in (title, *details)]
        raise ValueError("\n".join(["No entity is left.", *lines]))
    if output is not None:
        write_corpora(output.parent if split is None else output, bins)
    return converted


def _report(source: Source, written: int, nlp: Language, reading: Reading) -> FileReport:
    """Say what became of a file, whose docs have `written` entities.

    Raises ValueError if its entities fit other offsets, and most don't fit these.
    """
    given, hint = written, ""
    if isinstance(source, TaggedTokens):
        hint = source.hint(nlp)
    elif source.has_entities:
        given, hint = source.given, source.hint(nlp) if source.problems else ""
    report = FileReport(
        source.path,
        source.kind,
        source.scheme if isinstance(source, TaggedTokens) else None,
        source.account.counts(),
        {"given": given, "written": written, "left out": given - written},
        sorted(source.problems),
        [*source.notes, *filter(None, [hint])],
    )
    if hint and isinstance(source, AnnotatedTexts) and reading.offsets is None:
        shown = [line for title, lines in report.shown() for line in (title, *lines)]
        raise ValueError("\n".join([f"{source.path}: most entities don't align.", *shown]))
    return report


def _read_all(paths: Input, reading: Reading) -> list[Source]:
    """Read all files, or the list of texts."""
    if isinstance(paths, (str, Path)):
        paths = [paths]
    if not paths:
        raise ValueError("Expected files to convert, or a list of texts, found none.")
    if all(isinstance(path, (str, Path)) for path in paths):
        sources = [read_source(Path(path), reading) for path in paths]
    else:
        account, name = Account(Path("texts")), Path("texts")
        account.read(len(paths))
        bad, texts = BadLines(), []
        for i, value in enumerate(paths, start=1):
            with bad.skipped():
                value = _as_json(value)
                texts.append(text_of_json(value, range(i, i + 1), f"texts:{i}", reading.group))
        bad.check()
        sources = [_annotated_texts(name, "jsonl", account, texts, reading)]
    reading.check_applies(sources)
    return sources


def _as_json(value: Any) -> Any:  # noqa: ANN401 (any JSON)
    """Return a text with its spans, or with its annotation, as JSON would have it."""
    if isinstance(value, (tuple, list)) and len(value) == 2 and not isinstance(value[1], dict):
        text, annotation = value
        if isinstance(annotation, str):
            return {"text": text, "label": annotation}
        value = {"text": text, "label": [_listed(each) for each in annotation]}
    elif isinstance(value, tuple):
        value = list(value)
    if isinstance(value, list) and len(value) == 2:
        value = {"text": value[0], **value[1]}
    if isinstance(value, dict):
        return {key: [*map(_listed, x)] if isinstance(x, list) else x for key, x in value.items()}
    return value


def _listed(value: Any) -> Any:  # noqa: ANN401 (any JSON)
    return list(value) if isinstance(value, tuple) else value


def _shares_of(text: str) -> list[float]:
    try:
        return [float(share) for share in text.split(",")]
    except ValueError as error:
        raise ValueError(
            f"Expected numbers with commas between them as --split, such as 0.8,0.1,0.1, was: "
            f"{text!r}."
        ) from error


def _check_output(output: Path, names: Sequence[str], *, force: bool) -> None:
    """Check that a file, or a folder of splits, can be written, before reading a long file."""
    if not names:
        if output.suffix != DOCS or output.is_dir():
            raise ValueError(
                f"Expected as OUTPUT the name of a {DOCS} file, was: {output}. To write a folder "
                "with train, dev and test, give --split 0.8,0.1,0.1."
            )
        check_file_output(output, "OUTPUT", force=force)
        return
    if output.suffix == DOCS or output.is_file():
        raise ValueError(f"Expected a folder as OUTPUT with --split, was: {output}.")
    check_writable(output.resolve(), "OUTPUT")
    there = [name for name in SPLITS if (output / f"{name}{DOCS}").exists()]
    if there and not force:
        files = ", ".join(f"{name}{DOCS}" for name in there)
        raise ValueError(f"{output} has {files}. Give another OUTPUT, or --force to replace them.")
    left = sorted(set(there) - set(names))
    if left:
        # Documents of an old test set may be in the new training set.
        raise ValueError(
            f"{output / left[0]}{DOCS} is of another split, and would not be replaced. Delete "
            "it, or give another OUTPUT."
        )


def summarize(
    path: Path, problems: Iterable[Problem], shown: Optional[int] = SHOWN_LINES, entities: int = 0
) -> list[tuple[str, list[str]]]:
    """Count the problems of each kind, and list the first of them, or all, with their lines."""
    by_kind: dict[str, list[Problem]] = defaultdict(list)
    for problem in problems:
        by_kind[problem.what].append(problem)
    summary = []
    for kind, some in by_kind.items():
        lines = [f"{path}:{p.line}: {p.detail}" for p in some[:shown]]
        if len(some) > len(lines):
            lines.append(f"and {len(some) - len(lines):,} more (convert --verbose shows all)")
        count = f"{len(some):,}"
        if kind in ENTITIES_LEFT_OUT or kind == TRIMMED:
            count += f" of {entities:,}"
        summary.append((f"{kind} ({count})", lines))
    return summary
