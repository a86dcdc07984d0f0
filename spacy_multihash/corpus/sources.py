"""Files of annotated texts or tokens, read as sources of docs."""

import re
from collections import Counter, defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, fields
from functools import partial
from itertools import chain, islice, pairwise
from pathlib import Path
from typing import Any, Literal, Optional, Union

from spacy.language import Language
from spacy.tokens import Doc

from ..common.arguments import checked
from ..common.lines import INVISIBLE, Account, Problem, read_lines
from .alignment import ENTITIES_LEFT_OUT, OFFSETS, TRIMMED, Offsets, PlacedText
from .annotation import ACCEPT, NOT_ACCEPTED, is_tag, name_no_labels
from .conll import (
    DOCSTART,
    MISSING,
    NO_WORDS,
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
from .read import DOCS
from .texts import (
    AnnotatedText,
    JsonValues,
    find_delimiter,
    json_values,
    read_csv,
    read_texts,
)

Item = Union[Record, AnnotatedText]
Format = Literal["conll", "jsonl", "csv"]
SUFFIXES: dict[str, Format] = {
    **dict.fromkeys((".conll", ".conll2002", ".conll2003", ".iob", ".iob2", ".bio"), "conll"),
    **dict.fromkeys((".json", ".jsonl", ".ndjson"), "jsonl"),
    ".csv": "csv",
}
NAMES = {"conll": "CoNLL", "jsonl": "JSON lines", "tokens": "JSON lines of tokens", "csv": "CSV"}

NOT_ANNOTATED = "Missing annotation of entities, not even an empty list"
NO_LABELS = "Missing annotation of labels, not even an empty list"
ODD_TAG = "I- tags without a B- before them, read as B-"
GLUED = "Read as one token: token with a blank in it"

SHOWN_LINES = 3
# This many labels, each of a single text, suggest a wrong column.
_MANY_LABELS = 20
# Labels that don't apply are written with 0 to this many in all, and must be if texts have several.
_ZEROS, _MOST_ZEROS = 2 * 10**6, 20 * 10**6
_BYTES = 70  # in memory, of a label in doc.cats
# A sentence with more tokens suggests missing blank lines.
_LONG_SENTENCE = 1000
_HINT_TEXTS, _HINT_SPANS = 200, 2000  # to try offsets on
_GUESSED = 200  # lines, to tell the format
_SEPARATOR = re.compile(r"[^\w\s]+|\s*[,;/|#+&]\s*")
# What each option is for, and what a file of the right format lacks.
_USES = {
    "docs": ("CoNLL and JSON lines of tokens", ""),
    "labels": ("JSON lines of tokens whose tags are numbers", " with other tags"),
    **dict.fromkeys(("token_column", "tag_column"), ("CoNLL", "")),
    **dict.fromkeys(("text_column", "label_column"), ("CSV", "")),
    "label_separator": ("labels of texts in JSON lines and CSV", " without them"),
    "offsets": ("entities of JSON lines", " without them"),
}


@checked
@dataclass(frozen=True)
class Reading:
    r"""How to read files: the options of `convert`.

    Options that have no effect on any of the files are refused.

    format (Optional[Format]): Format of the files. Default: by their suffix, or their first lines.
    group (Optional[str]): What names the document of a text, so that a split keeps its texts
        together: a key of JSON, a column of CSV, the number of a column or the key of comments of
        CoNLL. Default: keys such as doc_id, and comments such as newdoc.
    docs (Optional[str]): CoNLL and JSON of tokens: what becomes a doc: sentences, documents
        (separated by -DOCSTART- lines), or a maximum number of tokens. Default: documents if the
        file starts with a -DOCSTART- line and has several, otherwise sentences.
    labels (Optional[Sequence[str]]): JSON of "tokens" and "ner_tags": the tag of each number.
    token_column (Optional[int]): CoNLL: column of tokens, from 1, or from -1 at the end. Default:
        1.
    tag_column (Optional[int]): CoNLL: column of tags, from 1, or from -1 at the end. Default: -1.
    text_column (Optional[str]): CSV: name of the column of texts. Default: text.
    label_column (Optional[str]): CSV: name of the column of labels. Default: label.
    label_separator (Optional[str]): Separator between the labels of a text. Default: one label per
        text.
    offsets (Optional[str]): JSON: how offsets count: characters, utf16, utf8, inclusive (ends are
        the last character), from-1, newlines (\r\n is one character), or a number to add.
        Default: characters.

    Raises ValueError for settings that can't be.
    """

    format: Optional[Format] = None
    group: Optional[str] = None
    docs: Optional[str] = None
    labels: Optional[Sequence[str]] = None
    token_column: Optional[int] = None
    tag_column: Optional[int] = None
    text_column: Optional[str] = None
    label_column: Optional[str] = None
    label_separator: Optional[str] = None
    offsets: Optional[str] = None

    def __post_init__(self) -> None:
        """Check the settings that are strings, and the columns."""
        for each in fields(self):
            if getattr(self, each.name) == "":
                raise ValueError(f"--{each.name.replace('_', '-')} is empty. Leave it out.")
        if self.columns[0] == self.columns[1]:
            raise ValueError(f"Texts and labels are both in {self.columns[0]!r}: name another.")
        _ = self.counting
        rules = (None, "sentences", "documents")
        if self.docs not in rules and not re.fullmatch("[1-9][0-9]*", self.docs):
            raise ValueError(
                f"--docs must be sentences, documents or a number of tokens, got {self.docs}."
            )
        _ = self.layout

    @property
    def layout(self) -> Layout:
        """The columns of a CoNLL file."""
        first = 1 if self.token_column is None else self.token_column
        return Layout(first, -1 if self.tag_column is None else self.tag_column)

    @property
    def counting(self) -> Offsets:
        """How offsets count."""
        return Offsets.parse(self.offsets or "characters")

    @property
    def columns(self) -> tuple[str, str]:
        """The columns of a CSV file."""
        return self.text_column or "text", self.label_column or "label"

    def check_applies(self, sources: "Sequence[Source]") -> None:
        """Raise ValueError for options that no file has a use for."""
        used = {"format", "group"}.union(*(source.uses for source in sources))
        for each in fields(self):
            if each.name not in used and getattr(self, each.name) is not None:
                purpose, lacking = _USES[each.name]
                kinds = " and ".join(dict.fromkeys(NAMES[source.kind] for source in sources))
                raise ValueError(
                    f"--{each.name.replace('_', '-')} is for {purpose}, and "
                    f"{sources[0].account.path} is {kinds}{lacking}. Leave it out."
                )


@dataclass
class Source:
    """A file that was read, or texts in memory.

    account (Account): What became of its lines. `make_doc` adds problems.
    kind (str): A key of NAMES.
    items (Sequence[Item]): The documents or texts, which become docs.
    has_entities (bool): Whether docs have entities.
    uses (Sequence[str]): The options of `Reading` that have an effect on it.
    make_doc (Callable[[Any, Language], Doc]): Makes the doc of an item.
    scheme (Optional[Scheme]): The scheme of tags. None for texts.
    """

    account: Account
    kind: str
    items: Sequence[Item]
    has_entities: bool
    uses: Sequence[str]
    make_doc: Callable[[Any, Language], Doc]
    scheme: Optional[Scheme] = None


def read_source(path: Path, reading: Reading) -> Source:
    """Read a file. Each of its lines is written, left out and named, or no item.

    Raises ValueError, with file and line, if the file can't be read, has no documents or no
    annotations, if labels of texts look like something else, or if nothing has the group.
    """
    if not path.is_file():
        what = "a folder" if path.is_dir() else "a pipe or a device"
        raise ValueError(f"Expected a file, which is read more than once: {path} is {what}.")
    if path.suffix == DOCS:
        raise ValueError(f"{path} is of spaCy's own format already: fit and spacy train read it.")
    kind, account = reading.format or guess_format(path, reading), Account(path, keeps_errors=True)
    if kind == "conll":
        documents = {"sentences": False, "documents": True}.get(str(reading.docs))
        records = read_conll(account, reading.layout, documents=documents, group=reading.group)
        return _checked(_tagged_tokens(account, kind, records, reading), reading)
    if kind == "jsonl":
        return _source_of_json(account, json_values(account), reading)
    texts = list(read_csv(account, reading.columns, reading.label_separator, reading.group))
    return _checked(_annotated_texts(account, kind, texts, reading), reading)


def read_values(values: Sequence[Any], reading: Reading) -> Source:
    """Read JSON objects in memory, as those of a file. Raises the errors of `read_source`."""
    account = Account(Path("texts"), keeps_errors=True)
    account.read(len(values))
    numbered = ((range(i, i + 1), value) for i, value in enumerate(values, start=1))
    return _source_of_json(account, numbered, reading)


def _source_of_json(account: Account, values: JsonValues, reading: Reading) -> Source:
    values = iter(values)
    first = list(islice(values, _GUESSED))
    values = chain(first, values)
    if _are_tagged_tokens([value for _, value in first]):
        records, has_numbers = read_tagged_json(account, values, reading.labels, reading.group)
        source = _tagged_tokens(account, "tokens", records, reading, has_numbers)
    else:
        texts = list(read_texts(account, values, reading.group, reading.label_separator))
        source = _annotated_texts(account, "jsonl", texts, reading)
    return _checked(source, reading)


def _checked(source: Source, reading: Reading) -> Source:
    if reading.group is not None and not any(item.group for item in source.items):
        raise ValueError(
            f"{source.account.path}: expected {reading.group!r} as --group, got none. Name a key "
            "of JSON, a column of CSV, or the number of a column or the key of comments of CoNLL."
        )
    source.account.check()
    return source


def guess_format(path: Path, reading: Reading) -> Format:
    """Guess the format of a file by its suffix, or else by most of its first lines.

    Raises ValueError if neither fits a format.
    """
    is_packed = path.suffix.lower() in (".gz", ".zip")
    suffix = (path.with_suffix("") if is_packed else path).suffix.lower()
    if suffix in SUFFIXES:
        return SUFFIXES[suffix]
    votes: Counter[str] = Counter()
    for number, line in read_lines(Account(path)):
        if not line.strip():
            continue
        if not votes and find_delimiter(line, reading.columns):
            return "csv"
        vote = _guess_line(line, reading.layout)
        if vote == "jsonl" and not votes and line.strip() in ("[", "{"):
            return "jsonl"
        if vote or not is_comment(line):
            votes[vote or ""] += 1
        if number == _GUESSED:
            break
    best: Format = "conll" if votes["conll"] > votes["jsonl"] else "jsonl"
    if 2 * votes[best] > votes.total():
        return best
    raise ValueError(
        f"Cannot tell the format of {path}: expected a suffix such as .conll, .jsonl or .csv, or "
        "lines with a token and its tag, with a JSON object, or a header. Name the format with "
        "--format."
    )


def _guess_line(line: str, layout: Layout) -> Optional[Format]:
    columns = layout.split(line)
    if columns[0] == DOCSTART or any(map(is_tag, columns[1:])) or layout.split_piped(line):
        return "conll"
    is_json = re.match(r'\s*(\[\s*)?\{\s*("|$)', line) or line.strip() == "["
    return "jsonl" if is_json else None


def _are_tagged_tokens(values: Sequence[Any]) -> bool:
    """Return whether most JSON values are objects with "tokens" and as many tags."""
    with_words = [
        isinstance(value, dict)
        and isinstance(value.get("tokens"), list)
        and (tags_key(value) is not None or "text" not in value)
        for value in values
    ]
    return any(with_words) and 2 * sum(with_words) >= len(values)


def _tagged_tokens(
    account: Account,
    kind: str,
    records: list[Record],
    reading: Reading,
    has_numbers: bool = False,
) -> Source:
    """Cut documents, and note odd tags and tokens."""
    path = account.path
    if not records:
        refused = [problem.detail for problem in account.problems if problem.kind == NOT_ACCEPTED]
        hint = f'No line is accepted: its "answer" is {refused[0]}. ' if refused else ""
        raise ValueError(f"{path}: expected tagged tokens, got none. {hint}Give another file.")
    if reading.docs and reading.docs.isdecimal():
        records = list(cut_records(records, int(reading.docs)))
    scheme, odd = find_scheme(records, account)
    for line, tag in odd:
        account.problem(line, ODD_TAG, repr(tag))
    glued = [
        Problem(line, GLUED, repr(word))
        for record in records
        for line, word in zip(record.lines, record.words, strict=True)
        if " " in word
    ]
    tags = Counter(tag for record in records for tag in record.tags)
    if 2 * len(glued) > tags.total():
        account.problems += glued
    _add_zeros(account, records)
    if not any(tag not in ("O", MISSING) for tag in tags):
        account.notes.append(
            f"All {tags.total():,} tags of {path} are {' or '.join(sorted(tags))}: it has no "
            "entities. Exports of annotation tools leave out layers of your own."
        )
    named = Counter({tag[2:]: tags[tag] for tag in tags if tag[0] in "BSU"})
    account.notes += [*name_no_labels(named, "entities"), *_length_notes(records)]
    uses = [
        "docs",
        *(["token_column", "tag_column"] if kind == "conll" else ["labels"] * has_numbers),
    ]
    return Source(
        account, kind, records, True, uses, partial(_doc_of_tokens, account, scheme), scheme
    )


def _length_notes(records: Sequence[Record]) -> Iterator[str]:
    """Say how to cut documents, if a sentence has very many tokens."""
    longest = 0
    for record in records:
        if len(record.words) > _LONG_SENTENCE:
            starts = [i for i, opens in enumerate(record.sent_starts) if opens]
            bounds = pairwise([*starts, len(record.words)])
            longest = max([longest, *(end - start for start, end in bounds)])
    if longest > _LONG_SENTENCE:
        yield (
            f"A sentence has {longest:,} tokens: there's no blank line in it. Cut documents with, "
            "for example, --docs 100"
        )


def _doc_of_tokens(account: Account, scheme: Scheme, record: Record, nlp: Language) -> Doc:
    """Make a doc of the words of a document. Spaces are unknown unless the file has a text."""
    try:
        return doc_of(record, scheme, nlp.vocab)
    except ValueError as error:
        raise ValueError(
            f"{account.at(record.line)}: the tokens don't spell the text "
            f"{str(record.text)[:60]!r}. Correct the line, or leave the text out."
        ) from error


def _annotated_texts(
    account: Account, kind: str, texts: Sequence[AnnotatedText], reading: Reading
) -> Source:
    """Note texts without words or annotation, or that weren't accepted.

    Raises ValueError if there are no texts or annotations, or if labels look like something else.
    """
    account.check_errors()
    path, items = account.path, _accepted(texts, account)
    has_entities = any(text.spans for text in items)
    labels = sorted({label for text in items for label in text.cats or ()})
    _check_labels(path, labels, len(items))
    if not items:
        lines = summarize(path, account.problems)
        shown = "\n".join(line for title, details in lines for line in (title, *details))
        raise ValueError(f"{path}: expected texts, got none. Give another file.\n{shown}".strip())
    if not has_entities and not labels:
        unread = dict.fromkeys(each.detail for each in account.problems if each.kind == UNREAD)
        named = " and ".join(unread)
        raise ValueError(
            f"{path}: expected entities or labels of texts, got none in {len(items):,} texts. "
            'Entities are "spans", "ents", "entities" or "label"; labels of texts are "cats", '
            '"label" or "accept".' + (f" {named} may be annotation: write it so." if named else "")
        )
    account.notes += _unread_notes(items)
    _note_missing(account, items, has_entities=has_entities, has_labels=bool(labels))
    account.notes += [*_entity_notes(items), *(_label_notes(items, labels) if labels else ())]
    _add_zeros(account, items)
    uses = ["offsets"] * has_entities + ["label_separator"] * bool(labels)
    if kind == "csv":
        uses = ["text_column", "label_column", "label_separator"]
    make_doc = partial(_doc_of_text, account, reading.counting if has_entities else None)
    return Source(account, kind, items, has_entities, uses, make_doc)


def _note_missing(
    account: Account, items: Sequence[AnnotatedText], *, has_entities: bool, has_labels: bool
) -> None:
    for text in items:
        if has_entities and text.spans is None:
            account.problem(text.line, NOT_ANNOTATED, repr(text.text[:40]))
        if has_labels and text.cats is None:
            if not has_entities:
                raise ValueError(
                    f'{account.at(text.line)}: expected "cats", "label" or "labels" as other texts '
                    "have, got none. If the label is unknown, leave the text out. If it has none, "
                    'add "cats": {}.'
                )
            account.problem(text.line, NO_LABELS, repr(text.text[:40]))


def _doc_of_text(
    account: Account, offsets: Optional[Offsets], item: AnnotatedText, nlp: Language
) -> Doc:
    """Make a doc of a text, with the entities that fall on tokens if there are offsets."""
    if len(item.text) > nlp.max_length:
        raise ValueError(
            f"{account.at(item.line)}: expected a text of at most {nlp.max_length:,} characters, "
            f"which is what spaCy takes, got {len(item.text):,}. Cut it."
        )
    placed = PlacedText(item, nlp)
    placed.doc.cats = item.cats or {}
    if offsets is not None and item.spans is not None:
        placed.set_entities(offsets)
    account.problems += placed.problems
    return placed.doc


def offsets_hint(
    account: Account, texts: Sequence[AnnotatedText], offsets: Offsets, nlp: Language
) -> str:
    """Say which offsets fit, if most entities don't: those that fit most of them exactly.

    An entity fits exactly if nothing has to be trimmed. If no offsets fit, note it.

    texts (Sequence[AnnotatedText]): Texts with entities.
    """
    placed = (PlacedText(item, nlp) for item in texts[:_HINT_TEXTS])
    all_spans = ((text, span) for text in placed for span in text.item.spans or ())
    spans = list(islice(all_spans, _HINT_SPANS))

    def fitting(offsets: Offsets) -> int:
        places = (text.find(span, offsets) for text, span in spans)
        return sum(place.span is not None and not place.kind for place in places)

    now = fitting(offsets)
    if 2 * now >= len(spans):
        return ""
    fit = {name: fitting(offsets) for name, (offsets, _) in OFFSETS.items()}
    most = max(fit.values())
    if 2 * most <= len(spans):
        account.notes.append(
            f"Only {now:,} of {len(spans):,} entities begin and end with a word: their offsets may "
            "belong to another text, such as before its blanks or entities of HTML were changed. "
            "Look at them, and correct the file."
        )
        return ""
    best = [name for name in fit if fit[name] == most]
    how = " or ".join(f"{OFFSETS[name][1]} (try --offsets {name})" for name in best)
    return (
        f"{most:,} of {len(spans):,} entities would fit exactly, {now:,} do now, if their offsets "
        f"{how}"
    )


def _entity_notes(items: Sequence[AnnotatedText]) -> list[str]:
    """Name labels of entities that may stand for none, or that are tags of tokens."""
    labels = Counter(span.label for text in items for span in text.spans or ())
    notes = name_no_labels(labels, "entities")
    if len(labels) > 1 and all(map(is_tag, labels)):
        notes.append(
            f"The labels of entities are tags of tokens, such as {min(labels)}. Join the tokens of "
            "an entity, and write its label without a prefix."
        )
    return notes


def _unread_notes(items: Sequence[AnnotatedText]) -> list[str]:
    """Name keys or columns that have 0 and 1 in all texts, as a column for each label has."""
    names = set(items[0].flags).intersection(*(item.flags for item in items))
    flags = sorted(name for name in names if len({item.flags[name] for item in items}) == 2)
    if not flags:
        return []
    return [
        f"Not read: {', '.join(flags[:3])}{' and others' * (len(flags) > 3)} are 0 or 1 in all "
        'texts. If they\'re labels, write them as "cats" of JSON lines: {"text": "a text", "cats": '
        f'{{"{flags[0]}": 1}}}}.'
    ]


def _accepted(texts: Sequence[AnnotatedText], account: Account) -> list[AnnotatedText]:
    """Leave out texts without words, and those that weren't accepted.

    If labels of texts were rejected, each label is a decision on this label alone.
    """
    items = []
    for text in texts:
        for name in text.unread:
            account.problem(text.line, UNREAD, repr(name))
        if text.answer != ACCEPT:
            account.problem(text.line, NOT_ACCEPTED, repr(text.answer))
        elif not INVISIBLE.sub("", text.text).strip():
            account.problem(text.line, NO_WORDS, repr(text.text[:20]))
        else:
            items.append(text)
            account.mark("written", text.lines.start, text.lines.stop - 1)
            continue
        account.mark("left out", text.lines.start, text.lines.stop - 1)
    if any(text.is_rejected for text in items):
        for text in items:
            if text.cats and len(text.cats) == 1:
                text.is_whole = False
    return items


def _check_labels(path: Path, labels: Sequence[str], texts: int) -> None:
    some = ", ".join(map(repr, labels[:3]))
    tags = [all(map(is_tag, label.split())) for label in labels]
    if labels and labels != ["O"] and all(tags):
        raise ValueError(
            f"{path}: expected labels of texts, got tags of tokens: {some}. Write a token and "
            "its tag on each line, as CoNLL, with blank lines between sentences."
        )
    if len(labels) >= _MANY_LABELS and len(labels) == texts:
        raise ValueError(
            f"{path}: {texts:,} texts have {len(labels):,} different labels, such as {some}. "
            "Name the column that has the labels with --label-column."
        )


def _label_notes(items: Sequence[AnnotatedText], labels: Sequence[str]) -> Iterator[str]:
    """Name labels that seem to be several, labels that all texts have, and labels never denied."""
    parts: defaultdict[str, list[str]] = defaultdict(list)
    for label in labels:
        for separator in set(_SEPARATOR.findall(label)):
            parts[separator].append(label)
    for separator, joined in parts.items():
        several = [x for x in joined if {part.strip() for part in x.split(separator)} <= {*labels}]
        if 2 * len(several) > len(joined):
            yield (
                f"{several[0]!r} seems to be {len(several[0].split(separator))} labels: to read "
                f"them so, give --label-separator {separator.strip()!r}."
            )
    positive = [{label for label, share in (x.cats or {}).items() if share} for x in items]
    yield from name_no_labels(Counter(label for labels in positive for label in labels), "texts")
    if labels and all(len(of_text) == len(labels) for of_text in positive):
        named = " and the label ".join(labels[:SHOWN_LINES])
        yield (
            f"All texts have the label {named}, so that there's nothing to learn. Add texts with "
            "other labels, or without it."
        )
    is_open = not any(x.is_whole or 0.0 in (x.cats or {}).values() for x in items if x.cats)
    if is_open and any(len(of_text) != 1 for of_text in positive):
        yield (
            'No label in "cats" is 0, so whether other labels apply is unknown, and textcat_'
            'multilabel learns nothing. List those that don\'t apply with 0, or use "labels".'
        )


def _add_zeros(account: Account, items: Sequence[Item]) -> None:
    """Add the labels that don't apply to texts, with 0, unless that's too many of them."""
    labels = sorted({label for item in items for label in item.cats or ()})
    whole = [item for item in items if item.is_whole and item.cats is not None]
    number = len(items) * len(labels)
    if number > _ZEROS and all(len(item.cats or ()) == 1 for item in whole):
        account.notes.append(
            f"Only the label of each text is written: {len(items):,} texts with {len(labels):,} "
            "labels would have too many zeros. textcat takes all others as 0; textcat_multilabel "
            "doesn't."
        )
        return
    if number > _MOST_ZEROS:
        raise ValueError(
            f"{account.path}: {len(items):,} texts with {len(labels):,} labels, any number each, "
            f"need about {number * _BYTES / 1e9:,.1f} GB in spaCy. Leave rare labels out, or split "
            "them among several classifiers."
        )
    for item in whole:
        item.cats = {**dict.fromkeys(labels, 0.0), **(item.cats or {})}


def summarize(
    path: Path, problems: Iterable[Problem], shown: Optional[int] = SHOWN_LINES, entities: int = 0
) -> list[tuple[str, list[str]]]:
    """Count the problems of each kind, and list the first of them, or all, with their lines."""
    by_kind: dict[str, list[Problem]] = defaultdict(list)
    for problem in problems:
        by_kind[problem.kind].append(problem)
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
