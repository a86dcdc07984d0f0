"""Files in the style of CoNLL: a token a line, with its tag, and blank lines between sentences.

Tags follow IOB1, IOB2 (also called BIO) or BILUO (also called BIOES and BMES). spaCy's .iob files
have a sentence a line, its tokens as word|tag. Data sets of Hugging Face have objects
{"tokens": [...], "ner_tags": [...]}.
"""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import pairwise
from typing import Any, Literal, Optional

from spacy.tokens import Doc
from spacy.util import get_words_and_spaces
from spacy.vocab import Vocab

from ..common.lines import INVISIBLE, Account, clean, read_lines
from .alignment import HIDDEN
from .annotation import (
    ACCEPT,
    GROUP_KEYS,
    MISSING_TAGS,
    NOT_ACCEPTED,
    TAG_KEYS,
    TAG_PREFIXES,
    answer_of,
    is_tag,
    unread_keys,
)
from .texts import JsonValues, group_of, labels_of, text_of

DOCSTART = "-DOCSTART-"
Scheme = Literal["IOB1", "IOB2", "BILUO"]
# The prefixes that BILUO, BIOES, BMES and BMEWO add to IOB2, and their equivalents in IOB2.
_IN_IOB2 = {"M": "I", "L": "I", "E": "I", "U": "B", "S": "B", "W": "B"}
MISSING = "-"  # how a record has a tag that's missing
# Comments that name a document, or a sentence of it such as name-12, in the style of CoNLL-U.
_NEW_DOCUMENT = re.compile(r"#\s*newdoc\b(?:\s+id\s*=)?\s*(.*)")
_NAMED = re.compile(r"#\s*(\w+)\s*=\s*(.+)")
_SENTENCE_NUMBER = re.compile(r"[-_.:/][A-Za-z]*[0-9]+$")
# A column that numbers tokens: as in CoNLL-U, 3-4 stands for two tokens, and 5.1 for one between.
_INDEX = re.compile(r"[0-9]+([-.][0-9]+)?")
_RANGE = re.compile(r"[0-9]+[-.][0-9]+")
# What ends a line elsewhere, but not here.
_BREAK = re.compile("[\r\v\f\x1c-\x1e\x85\u2028\u2029]")
_NAMES_OF_TOKENS = {"form", "text", "token", "tokens", "word", "words"}
_SAMPLE = 2000  # lines to try advice on

NOT_SEEN = "Left out: token of invisible characters alone"
UNSEEN = "Invisible characters in a token, removed"
RANGE = "Left out: line for several tokens, which follow it"
NO_WORDS = "Left out: text without words"
UNREAD = "Not read: a key or column that may be annotation"


@dataclass(frozen=True)
class Layout:
    """The columns of tokens and of tags, counted from 1, or from -1 at the end.

    Columns are separated by tabs if the line has any, otherwise by spaces.
    """

    token_column: int = 1
    tag_column: int = -1

    def __post_init__(self) -> None:
        """Check the columns."""
        if 0 in (self.token_column, self.tag_column):
            raise ValueError("Columns count from 1, or from -1 at the end, got 0.")
        if self.token_column == self.tag_column:
            raise ValueError(f"Tokens and tags are both in {_name(self.tag_column)}: name another.")

    def split(self, line: str) -> list[str]:
        """Return the columns of a line."""
        if self.tag_column == -1:
            line = line.rstrip(" \t")  # no tag is empty
        if "\t" in line:
            return [column.strip(" ") for column in line.split("\t")]
        return line.strip(" ").split(" ") if "  " not in line else re.split(" +", line.strip(" "))

    def split_piped(self, line: str) -> list[str]:
        """Return the tokens of a line of word|tag, or an empty list for other lines."""
        tokens = line.split() if "|" in line and self == Layout() else []
        return tokens if tokens and all(map(_is_piped, tokens)) else []

    def has_tag(self, line: str) -> bool:
        """Return whether a line is a token and its tag, or several as word|tag."""
        fields = self.split(line)
        is_token = len(fields) > 1 and self.tag_of(fields) is not None
        return is_token or bool(self.split_piped(line))

    def tag_of(self, fields: Sequence[str]) -> Optional[str]:
        """Return the tag in the columns of a line, "-" if it's missing, or None if it isn't one."""
        return read_tag(_column(fields, self.tag_column) or "")

    def lacking(self, fields: Sequence[str], columns: int) -> str:
        """Say what a line lacks that should have `columns` columns, a token and a tag."""
        word, tag = _column(fields, self.token_column), _column(fields, self.tag_column)
        line = " ".join(fields)
        if len(fields) != columns:
            return (
                f"expected {columns} columns as lines before, got {len(fields)} in {line!r}. "
                "Correct the line."
            )
        if columns == 1:
            return (
                f"expected a token and its tag, got one column in {line!r}. Correct the line: a "
                "tab or spaces separate columns."
            )
        for what, value, column in (
            ("token", word, self.token_column),
            ("tag", tag, self.tag_column),
        ):
            if value is None:
                return (
                    f"expected a {what} in {_name(column)}, but there are only {columns} columns "
                    f"in {line!r}. Name another column with --{what}-column."
                )
        if not (word or "").strip():
            return (
                f"expected a token in {_name(self.token_column)}, got {word!r} in {line!r}. "
                "Correct the line."
            )
        prefixed = ", ".join(f"{prefix}-LABEL" for prefix in TAG_PREFIXES)
        return (
            f"expected the tag O, or one of {prefixed}, or - if it's missing, in "
            f"{_name(self.tag_column)}, got {tag!r} in {line!r}. Correct the tag."
        )


@lru_cache(maxsize=4096)
def read_tag(text: str) -> Optional[str]:
    """Return a tag without what can't be seen, "-" if it's missing, or None if it isn't one."""
    tag = clean(text)
    return MISSING if tag in MISSING_TAGS else tag if is_tag(tag) else None


def _is_piped(token: str) -> bool:
    word, _, tag = token.rpartition("|")
    return bool(word) and is_tag(tag)


@dataclass
class Record:
    """A document as read: the word, the tag as written, and the line of each token.

    A tag is "-" if it's missing.

    group (str): What names the document that a sentence is from, or "".
    text (Optional[str]): The text that the words spell, if the file has it.
    cats, is_whole: As in `AnnotatedText`.
    """

    words: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    sent_starts: list[bool] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    group: str = ""
    text: Optional[str] = None
    cats: Optional[dict[str, float]] = None
    is_whole: bool = True

    @property
    def line(self) -> int:
        """The first line."""
        return self.lines[0]

    def add(self, word: str, tag: str, *, sent_start: bool, line: int) -> None:
        """Add a token."""
        self.words.append(word)
        self.tags.append(tag)
        self.sent_starts.append(sent_start)
        self.lines.append(line)


@dataclass
class _Groups:
    """Finds what names the document of each sentence: a comment, or a column.

    key (Optional[str]): The number of the column, or the key of comments. None: the usual comments.
    """

    key: Optional[str]
    number: int = 0
    document: str = ""
    sentence: str = ""

    def comment(self, line: str) -> None:
        """Read a comment."""
        if self.key is None and (new := _NEW_DOCUMENT.fullmatch(line)):
            self.number += 1
            self.document = new[1].strip() or f"document {self.number}"
        elif named := _NAMED.fullmatch(line):
            name, value = named[1], named[2].strip()
            if name in (GROUP_KEYS if self.key is None else (self.key,)):
                self.document = value
            elif self.key is None and name == "sent_id" and _SENTENCE_NUMBER.search(value):
                self.sentence = _SENTENCE_NUMBER.sub("", value)

    def of(self, fields: Sequence[str]) -> str:
        """Return the group of a sentence, by the columns of its first token."""
        if self.key is not None and self.key.lstrip("-").isdecimal():
            return _column(fields, int(self.key)) or ""
        return self.document or self.sentence


# The number and the text of a line, or of a token of word|tag, its columns, and its kind: "blank",
# "docstart", "comment", which may be a token, or "token".
_Row = tuple[int, str, Sequence[str], str]


def read_conll(
    account: Account,
    layout: Layout,
    *,
    documents: Optional[bool] = None,
    group: Optional[str] = None,
    exact: bool = False,
) -> list[Record]:
    """Read the documents of a file, with their tags as written.

    A line before a sentence is a comment if it's # alone, or starts with # and a space or tab, and
    has no tag in the tag column. With tabs, it has other columns than the tokens before it. The
    first line may name the columns. The tags - and _ are missing.

    account (Account): The file, and what becomes of its lines.
    documents (Optional[bool]): Whether -DOCSTART- lines separate documents, or each sentence is a
        document. None: by -DOCSTART- lines if the file starts so, and has several.
    group (Optional[str]): What names the document of a sentence: the number of a column, or the key
        of comments such as # doc_id = news-12. None: comments of usual keys.
    exact (bool): Whether to keep invisible characters in tokens.

    Raises ValueError, with file and line, for a malformed line, or a token outside a document.
    """
    rows = list(_rows(account, layout))
    tokens = [
        fields
        for _, _, fields, kind in rows
        if kind == "token" or (kind == "comment" and layout.tag_of(fields) is not None)
    ]
    is_header = _is_header(tokens, layout)
    account.notes += _column_notes(tokens[is_header:], layout, account)
    has_index = layout.token_column != 1 and all(_INDEX.fullmatch(f[0]) for f in tokens[is_header:])
    if documents is None and sum(row[-1] == "docstart" for row in rows) == 1:
        documents = False
        account.notes.append(
            f"There is one {DOCSTART} line, so each sentence becomes a document. To make one "
            "document of all, give --docs documents."
        )
    reader = _Reader(account, layout, _Groups(group), documents, exact=exact)
    for number, line, fields, kind in rows:
        if kind == "token" and not (is_header or has_index):
            reader.add(number, line, fields)
        elif kind in ("blank", "docstart"):
            reader.end(number, is_blank=kind == "blank")
        elif kind == "comment" and reader.is_comment(line, fields):
            account.mark("comment", number)
            reader.groups.comment(line.strip())
        elif is_header:
            is_header = False
            account.mark("header", number)
            account.notes.append(f"Line {number} names the columns, and is no token: {line!r}.")
        elif has_index and _RANGE.fullmatch(fields[0]):
            account.mark("left out", number)
            account.problem(number, RANGE, repr(line))
        else:
            reader.add(number, line, fields)
    records = reader.records
    account.check_errors(_advice(tokens, layout) if account.errors else "")
    words = [word for each in records for word in each.words]
    if words and len(tokens[0]) > 2 and _are_no_words(words):
        better = _better_layout(tokens, layout)
        raise ValueError(
            f"{account.at(records[0].line)}: expected tokens in {_name(layout.token_column)}, got "
            f"numbers or tags alone, {words[0]!r} and others. {better or 'Correct the lines.'}"
        )
    return records


@dataclass
class _Reader:
    """The documents of a file, while it's read. The arguments are those of `read_conll`."""

    account: Account
    layout: Layout
    groups: _Groups
    documents: Optional[bool]
    exact: bool
    records: list[Record] = field(default_factory=list)
    record: Record = field(default_factory=Record)
    columns: int = 0
    in_document: bool = False
    is_open: bool = False

    def end(self, number: int, *, is_blank: bool) -> None:
        """End a sentence at a blank line, or a document at a -DOCSTART- line."""
        self.account.mark("blank" if is_blank else "comment", number)
        self.is_open, self.in_document = False, self.in_document or not is_blank
        if not (is_blank and (self.in_document if self.documents is None else self.documents)):
            self.record = Record()

    def is_comment(self, line: str, fields: Sequence[str]) -> bool:
        """Return whether a line that begins like a comment is one, before a sentence."""
        is_token = "\t" in line and len(fields) == self.columns  # # with a wrong tag
        return not (self.is_open or is_token) and self.layout.tag_of(fields) is None

    def add(self, number: int, line: str, fields: Sequence[str]) -> None:
        """Add a token. Raises ValueError if it's outside a document."""
        if not self.columns:
            self._begin(number, line, fields)
        layout, record = self.layout, self.record
        given = _column(fields, layout.token_column) or ""
        tag = read_tag(_column(fields, layout.tag_column) or "")
        if not tag or len(fields) != self.columns or len(fields) < 2 or not given.strip():
            self.account.refuse(number, layout.lacking(fields, self.columns))
            return
        word = given if self.exact else clean(given)
        if word != given and word != given.strip():
            self.account.problem(number, UNSEEN if word else NOT_SEEN, repr(given))
        self.account.mark("written" if word else "left out", number)
        if not word:
            return
        if not record.words:
            self.records.append(record)
        if not record.group:
            record.group = self.groups.of(fields)
        record.words.append(word)
        record.tags.append(tag)
        record.sent_starts.append(not self.is_open)
        record.lines.append(number)
        self.is_open = True

    def _begin(self, number: int, line: str, fields: Sequence[str]) -> None:
        self.columns = len(fields)
        if self.documents is None:
            self.documents = self.in_document
        if self.documents and not self.in_document:
            raise ValueError(
                f"{self.account.at(number)}: expected a line '{DOCSTART}' before the first token, "
                f"got {line!r}. Make a document of each sentence, or add the lines that part the "
                "documents."
            )


def _has_several_lines(line: str, layout: Layout) -> bool:
    """Whether a line has another line end between tokens with tags, and not within one."""
    lines = [part for part in line.splitlines() if part.strip()]
    return "\r" in line or (len(lines) > 1 and all(map(layout.has_tag, lines)))


def _rows(account: Account, layout: Layout) -> Iterator[_Row]:
    """Yield the lines of a file, and a line for each token of a word|tag sentence."""
    pipes: Optional[int] = None  # in word|tag or word|part of speech|tag; 0 in other files
    for number, line in read_lines(account):
        if _BREAK.search(line) and _has_several_lines(line, layout):
            raise ValueError(
                f"{account.at(number)}: expected lines that end with a line feed, got another line "
                f"end within {line[:60]!r}. Replace it by a line feed."
            )
        fields = layout.split(line)
        kind = _kind_of(line, fields, layout)
        tokens = layout.split_piped(line) if pipes != 0 else []
        if pipes is None and kind == "token":
            pipes = tokens[0].count("|") if tokens else 0
        if tokens and pipes:
            for token in tokens:
                if any(is_tag(part) and part != "O" for part in token.split("|")[1:-1]):
                    account.refuse(
                        number, f"a token has several tags: {token!r}. Keep one of them."
                    )
                yield number, token, token.rsplit("|", pipes), "token"
            yield number, "", [""], "blank"
        elif pipes and kind == "token":
            account.refuse(
                number, f"expected word|tag as in lines before, got {line!r}. Correct the line."
            )
        else:
            yield number, line, fields, kind


def _kind_of(line: str, fields: Sequence[str], layout: Layout) -> str:
    if not fields[0] and not line.strip(" \t"):
        return "blank"
    if line[0] == "#" and is_comment(line):
        return "comment"
    if line.count("-") > 1:
        columns = (fields[0], _column(fields, layout.token_column) or "")
        if DOCSTART in map(str.upper, columns):
            return "docstart"
    return "token"


def is_comment(line: str) -> bool:
    """Return whether a line begins like a comment. So does a token #."""
    return line == "#" or line.startswith(("# ", "#\t"))


# Advice, tried on the file


def _is_header(tokens: Sequence[Sequence[str]], layout: Layout) -> bool:
    """Return whether the first line alone has no tag, but a name."""
    if len(tokens) < 2 or len(tokens[0]) != len(tokens[1]) or len(tokens[0]) < 2:
        return False
    name = _column(tokens[0], layout.tag_column) or ""
    is_name = re.fullmatch(r"[A-Za-z][\w .-]*", name) and not any(map(read_tag, tokens[0]))
    tags = {layout.tag_of(fields) for fields in tokens[1:_SAMPLE]}
    is_label = name.lower() in {tag[2:].lower() for tag in tags if tag}
    is_wrong_tag = re.match(rf"[{TAG_PREFIXES}][-_. ]|.*[-_. ][{TAG_PREFIXES}]$", name, re.I)
    of_tokens = (_column(tokens[0], layout.token_column) or "").lower()
    may_be_tag = of_tokens not in _NAMES_OF_TOKENS and (is_label or is_wrong_tag)
    return bool(is_name) and not (may_be_tag or None in tags or tags == {MISSING})


def _tag_columns(tokens: Sequence[Sequence[str]]) -> list[int]:
    """List the columns, from 1, that have tags in all of the first lines, and not only O."""
    columns = range(min(map(len, tokens), default=0))
    tags = [{read_tag(fields[i]) for fields in tokens} for i in columns]
    return [i + 1 for i in columns if None not in tags[i] and tags[i] - {"O", MISSING}]


def _are_no_words(words: Iterable[str]) -> bool:
    """Return whether words are numbers of tokens, or tags, alone."""
    some = set(words)
    return all(map(_INDEX.fullmatch, some)) or (
        all(map(read_tag, some)) and bool(some - {"O", *MISSING_TAGS})
    )


def _better_layout(tokens: Sequence[Sequence[str]], layout: Layout) -> str:
    """Say which columns have words and tags in all of the first lines, if others than these."""
    some = tokens[:_SAMPLE]
    width = min(map(len, some), default=0)
    given = (layout.token_column, layout.tag_column)
    now = [column if column > 0 else width + 1 + column for column in given]
    tags = _tag_columns(some)
    words = [
        i + 1
        for i in range(width)
        if i + 1 not in tags and not _are_no_words(fields[i] for fields in some)
    ]
    if not tags or not words:
        return ""
    best = [now[0] if now[0] in words else words[0], now[1] if now[1] in tags else tags[-1]]
    options = [
        f"--{name}-column {column}"
        for name, column, was in zip(("token", "tag"), best, now, strict=True)
        if column != was
    ]
    has = f"Column {best[1]} has tags in all lines, and column {best[0]} words"
    return f"{has}: give {' '.join(options)}." if options else ""


def _column_notes(tokens: Sequence[Sequence[str]], layout: Layout, account: Account) -> list[str]:
    """Name columns of tags that aren't read. Raises ValueError for several tokens on a line."""
    some = tokens[:_SAMPLE]
    others = _tag_columns(some)
    if not others or layout.tag_column != -1:
        return []
    width = len(tokens[0])
    even = all(len(f) % 2 == 0 and all(map(read_tag, f[1::2])) for f in some)
    if width >= 4 and even and not {*range(3, width + 1, 2)} & {*others}:
        raise ValueError(
            f"{account.path}: there are several tokens and tags on a line, such as "
            f"{' '.join(tokens[0])[:60]!r}. Write a token and its tag on each line, and a blank "
            "line after each sentence."
        )
    unread = [str(column) for column in others if column != width]
    if not unread:
        return []
    return [
        f"Tags are read from the last column only. Column {', '.join(unread)} may have tags, too: "
        f"for entities there, give --tag-column {unread[0]}."
    ]


def _advice(tokens: Sequence[Sequence[str]], layout: Layout) -> str:
    """Say what to do about lines without a tag, tried on the lines."""
    values = Counter(_column(fields, layout.tag_column) or "" for fields in tokens)
    wrong = [value for value in values if read_tag(value) is None]
    for what, fixed in (
        ("are in lower case: write them in upper case", str.upper),
        ("need a - after the prefix", lambda tag: re.sub(r"^(\w)[_:./]", r"\1-", tag)),
        ("have their prefix at the end", lambda tag: re.sub(r"^(\S+)-(\w)$", r"\2-\1", tag)),
    ):
        if wrong and all(read_tag(fixed(value)) for value in values):
            return f"The tags {what}, such as {fixed(wrong[0])}."
    if any(re.search(rf"-\S+[|,;]([{TAG_PREFIXES}]-|O$)", value) for value in wrong):
        return "A token has several tags, as of entities within entities. Keep one of them."
    labels = [value for value in values if value != "O"]
    is_io = "O" in values and all(re.fullmatch(r"[A-Za-z_]+", label) for label in labels)
    if is_io and 0 < len(labels) < len(tokens) / 2:
        return f"The tags have no prefix. If they are IO, write I-{labels[0]} for {labels[0]}."
    if better := _better_layout(tokens, layout):
        return better
    if all(len(re.findall(rf"(?<!\S)(?:O|[{TAG_PREFIXES}]-\S+)", " ".join(f))) > 1 for f in tokens):
        return (
            "Each line has several tags, as of a sentence. Write a token and its tag on each line, "
            "and a blank line after each sentence."
        )
    return ""


def read_tagged_json(
    account: Account,
    values: JsonValues,
    labels: Optional[Sequence[str]] = None,
    group: Optional[str] = None,
) -> tuple[list[Record], bool]:
    """Read the documents of objects {"tokens": [...], "ner_tags": [...]}.

    The key may also be "tags" or "labels". Each object is a sentence. It may have the "text" that
    the tokens spell, and labels of it. The tags -100 and null are missing.

    labels (Optional[Sequence[str]]): The tag of each number, such as O, B-PER, I-PER.
    group (Optional[str]): The key of `group_of`.
    RETURNS (tuple[list[Record], bool]): The documents, and whether any tag is a number.

    Raises ValueError, with file and line, for anything else.
    """
    records, has_numbers = [], False
    for lines, value in values:
        line = lines.start
        with account.line(line):
            key = tags_key(value)
            if key is None:
                raise ValueError(
                    f'expected "tokens" and as many "ner_tags", got {str(value)[:80]}. Correct '
                    "the line."
                )
            if (answer := answer_of(value)) != ACCEPT:
                account.mark("left out", line, lines.stop - 1)
                account.problem(line, NOT_ACCEPTED, repr(answer))
                continue
            given = None if value.get("text") is None else text_of(value)
            text = None if given is None else INVISIBLE.sub("", given)
            if given != text:
                account.problem(line, HIDDEN, repr(given)[:40])
            record = Record(group=group_of(value, group), text=text)
            for word, tag in zip(value["tokens"], value[key], strict=True):
                has_numbers |= type(tag) is int
                named = read_tag(_named(tag, labels))
                if named is None or not clean(word):
                    raise ValueError(
                        f"expected a token and a tag such as O or B-PER, got {word!r} and {tag!r}. "
                        "Correct the line."
                    )
                if clean(word) != word.strip():
                    account.problem(line, UNSEEN, repr(word))
                record.add(clean(word), named, sent_start=not record.words, line=line)
            others = {name: each for name, each in value.items() if name != key}
            record.cats, record.is_whole, read = labels_of(others)
            for name in unread_keys(value, (*read, key)):
                account.problem(line, UNREAD, repr(name))
            account.mark("written" if record.words else "left out", line, lines.stop - 1)
            if record.words:
                records.append(record)
            else:
                account.problem(line, NO_WORDS, "[]")
    account.check_errors()
    return records, has_numbers


def tags_key(value: Any) -> Optional[str]:  # noqa: ANN401 (any JSON)
    """Return the key of an object that has a tag for each of its "tokens", or None."""
    words = value.get("tokens") if isinstance(value, dict) else None
    if not isinstance(words, list) or not all(isinstance(word, str) for word in words):
        return None
    of_words = (key for key in TAG_KEYS if isinstance(value.get(key), list))
    return next((key for key in of_words if len(value[key]) == len(words)), None)


def _named(tag: Any, labels: Optional[Sequence[str]]) -> str:  # noqa: ANN401 (any JSON)
    """Return the tag of a number, or the tag itself, or "-" if it's missing."""
    if tag in (None, -100, *MISSING_TAGS):
        return MISSING
    if isinstance(tag, str):
        return tag
    if isinstance(tag, bool) or not isinstance(tag, int):
        raise ValueError(f"expected a tag, got {tag!r}. Correct the line.")
    if labels is None:
        raise ValueError(
            f"the tags are numbers, such as {tag}. Give their names in order: --labels "
            "O,B-PER,I-PER. In Python, dataset.features['ner_tags'].feature.names has them."
        )
    if not 0 <= tag < len(labels):
        raise ValueError(
            f"there is no tag {tag}, because --labels has {len(labels)} names. Give all."
        )
    return labels[tag]


def cut_records(records: Iterable[Record], size: int) -> Iterator[Record]:
    """Cut documents that have more tokens than `size`, but never within an entity."""
    for record in records:
        starts, possible = [0], 0  # the last place to cut
        for i in range(1, len(record.words) + 1):
            tag, before = record.tags[i : i + 1], record.tags[i - 1]
            if tag and tag[0][0] in "IMLE" and tag[0][2:] == before[2:]:
                continue
            if i - starts[-1] > size and possible > starts[-1]:
                starts.append(possible)
            possible = i
        if len(starts) == 1:
            yield record
            continue
        for start, end in pairwise([*starts, len(record.words)]):
            part = slice(start, end)
            sent_starts = [True, *record.sent_starts[part][1:]]
            words, tags, lines = record.words[part], record.tags[part], record.lines[part]
            yield Record(words, tags, sent_starts, lines, record.group)


def _column(fields: Sequence[str], column: int) -> Optional[str]:
    try:
        return fields[column - 1 if column > 0 else column]
    except IndexError:
        return None


def _name(column: int) -> str:
    return {1: "the first column", -1: "the last column"}.get(column, f"column {column}")


def doc_of(record: Record, scheme: Scheme, vocab: Vocab) -> Doc:
    """Make a Doc of a record, with the spaces of its text if it has one.

    Raises ValueError if the words don't spell the text.
    """
    tags = iob2_tags(record, scheme)
    if record.text is None:
        doc = tagged_doc(vocab, record.words, tags, record.sent_starts)
    else:
        words, spaces = get_words_and_spaces(record.words, record.text)
        given = iter(tags)  # words of whitespace were added
        ents = [next(given) if word.strip() else "O" for word in words]
        for i in range(1, len(ents) - 1):  # an entity goes on over whitespace
            if not words[i].strip() and ents[i + 1][:1] == "I":
                ents[i] = ents[i + 1]
        doc = Doc(vocab, words=words, spaces=spaces, ents=ents)
    doc.cats = record.cats or {}
    return doc


def tagged_doc(
    vocab: Vocab,
    words: Sequence[str],
    tags: Sequence[str],
    sent_starts: Optional[Sequence[bool]] = None,
) -> Doc:
    """Make a Doc of words and their entity tags in IOB2: O, B-LABEL, I-LABEL, or "" if missing.

    sent_starts (Optional[Sequence[bool]]): Whether each token opens a sentence. None: unknown.
    """
    starts: Optional[list[bool | int | None]] = None if sent_starts is None else [*sent_starts]
    # No `spaces`: spaCy's Corpus only keeps a Doc's tokens if its spaces are unknown. Otherwise it
    # tokenizes the text again, and the gold tokens would be lost.
    return Doc(vocab, words=list(words), ents=list(tags), sent_starts=starts)


def find_scheme(
    records: Sequence[Record], account: Account
) -> tuple[Scheme, list[tuple[int, str]]]:
    """Find the scheme of a file's tags, and list the lines and tags that don't follow it.

    In IOB2, each I- tag that doesn't continue an entity is listed. "BILUO" includes BIOES.

    In IOB2, B- opens each entity. In IOB1, B- only opens an entity that directly follows an entity
    of the same label, and I- opens the others. In BILUO, L- or E- closes an entity, and U- or S- is
    a whole entity.

    Raises ValueError, with file and line, for invalid sequences of BILUO tags.
    """
    if {tag[0] for record in records for tag in record.tags} & set(_IN_IOB2):
        for record in records:
            _check_biluo(record, account)
        account.check_errors()
        return "BILUO", []
    odd: list[tuple[int, str]] = []
    opened_by_b = False
    for record in records:
        label = ""
        for tag, starts, line in zip(record.tags, record.sent_starts, record.lines, strict=True):
            if tag == "O":
                label = ""
                continue
            before, label = label, tag[2:]
            if starts or label != before:
                if tag[0] == "I":
                    odd.append((line, tag))
                opened_by_b |= tag[0] == "B"
    if odd and not opened_by_b:
        return "IOB1", []
    return "IOB2", odd


def _check_biluo(record: Record, account: Account) -> None:
    """Refuse the first line whose tag doesn't follow the tag before it, if there's one."""
    before, line_before = "O", 0
    ends = zip([*record.tags, "O"], [*record.sent_starts, True], [*record.lines, 0], strict=True)
    for tag, starts, line in ends:
        is_open = before[0] in "BIM"
        goes_on = tag[0] in "IMLE"
        if MISSING not in (tag, before):
            if is_open and (not goes_on or starts or tag[2:] != before[2:]):
                account.refuse(
                    line_before,
                    f"expected a tag I-, L- or E-{before[2:]} after {before!r}, got "
                    f"{'the end of the sentence' if starts else repr(tag)}. The file has tags of "
                    "BILUO or BIOES, where L- or E- closes each entity that B- opens. Correct the "
                    "tags.",
                )
                return
            if goes_on and not is_open:
                account.refuse(
                    line,
                    f"expected B-, U-, S- or O where no entity is open, got {tag!r}. The file has "
                    "tags of BILUO or BIOES. Correct the tag.",
                )
                return
        before, line_before = tag, line


def iob2_tags(record: Record, scheme: Scheme) -> list[str]:
    """Return the tags of a document in IOB2, "" if missing. scheme (Scheme): That of its tags."""
    tags: Sequence[str] = record.tags
    if scheme == "BILUO":
        tags = [_IN_IOB2.get(tag[0], tag[0]) + tag[1:] for tag in tags]
    fixed = to_iob2(tags, record.sent_starts)
    return ["" if tag == MISSING else tag for tag in fixed] if MISSING in fixed else fixed


def to_iob2(tags: Sequence[str], sent_starts: Sequence[bool]) -> list[str]:
    """Return the tags with B- instead of each I- that doesn't continue an entity of its label."""
    fixed = []
    label_before = ""
    for tag, sent_start in zip(tags, sent_starts, strict=True):
        label = tag[2:]
        continues = label == label_before and not sent_start
        fixed.append(f"B-{label}" if tag[0] == "I" and not continues else tag)
        label_before = label
    return fixed
