"""Files in the style of CoNLL: a token a line, with its tag, and blank lines between sentences.

Tags follow IOB1, IOB2 (also called BIO) or BILUO (also called BIOES and BMES). spaCy's .iob files
have a sentence a line, its tokens as word|tag. Data sets of Hugging Face have objects
{"tokens": [...], "ner_tags": [...]}.
"""

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import chain, pairwise
from pathlib import Path
from typing import Any, Literal, Optional

from spacy.tokens import Doc
from spacy.vocab import Vocab

from .texts import GROUP_KEYS, BadLines, group_of, json_values, read_lines

DOCSTART = "-DOCSTART-"
Scheme = Literal["IOB1", "IOB2", "BILUO"]
# The keys for tags in JSON objects with "tokens".
_TAG_KEYS = ("ner_tags", "tags", "labels")
# The prefixes that BILUO, BIOES, BMES and BMEWO add to IOB2, and their equivalents in IOB2.
_IN_IOB2 = {"M": "I", "L": "I", "E": "I", "U": "B", "S": "B", "W": "B"}
_PREFIXES = "BILUESMW"
# Comments that name a document, or a sentence of it such as name-12, in the style of CoNLL-U.
_NEW_DOCUMENT = re.compile(r"#\s*newdoc\b(?:\s+id\s*=)?\s*(.*)")
_NAMED = re.compile(r"#\s*(\w+)\s*=\s*(.+)")
_SENTENCE_NUMBER = re.compile(r"[-_.:/][A-Za-z]*[0-9]+$")
# Added after each document, so that entities end with it.
_END: Iterable[tuple[str, bool, int]] = (("O", True, 0),)


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

    def split(self, line: str) -> list[str]:
        """Return the columns of a line."""
        if self.tag_column == -1:
            line = line.rstrip(" \t")  # no tag is empty
        if "\t" in line:
            return [column.strip(" ") for column in line.split("\t")]
        return re.split(" +", line.strip(" "))

    def split_piped(self, line: str) -> list[str]:
        """Return the tokens of a line of word|tag, or an empty list for other lines."""
        tokens = line.split()
        is_piped = self == Layout() and tokens and all(map(_is_piped, tokens))
        return tokens if is_piped else []


def is_tag(text: str) -> bool:
    """Return whether a text is O, or a prefix and a label."""
    return re.fullmatch(rf"O|[{_PREFIXES}]-\S+", text) is not None


def _is_piped(token: str) -> bool:
    word, _, tag = token.rpartition("|")
    return bool(word) and is_tag(tag)


@dataclass
class Record:
    """A document as read: the word, the tag as written, and the line of each token.

    group (str): What names the document that a sentence is from, or "".
    """

    words: list[str] = field(default_factory=list)
    tags: list[str] = field(default_factory=list)
    sent_starts: list[bool] = field(default_factory=list)
    lines: list[int] = field(default_factory=list)
    group: str = ""

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


def read_conll(
    path: Path, layout: Layout, *, documents: Optional[bool] = None, group: Optional[str] = None
) -> Iterator[Record]:
    """Yield the documents of a file, with their tags as written.

    A line before a sentence is a comment if it's # alone, or starts with # and a space or tab, and
    has no tag in the tag column. With tabs, it has other columns than the tokens before it.

    documents (Optional[bool]): Whether -DOCSTART- lines separate documents, or each sentence is a
        document. None: by -DOCSTART- lines if the file starts so.
    group (Optional[str]): What names the document of a sentence: the number of a column, or the key
        of comments such as # doc_id = news-12. None: comments of usual keys.

    Raises ValueError, with file and line, for a malformed line, or a token outside a document.
    """
    record, columns, groups = Record(), 0, _Groups(group)
    in_document = sentence_open = False
    bad = BadLines()
    for number, line in _token_lines(path, layout):
        where = f"{path}:{number}"
        if "\r" in line:
            raise ValueError(
                f"{where}: expected lines that end with a line feed, found a carriage return "
                "within one. Convert the line ends, for example with: tr '\\r' '\\n'"
            )
        is_blank = not line.strip(" \t")
        fields = layout.split(line)
        if is_blank or fields[0] == DOCSTART:
            sentence_open = False
            in_document = in_document or not is_blank
            if not (is_blank and (documents or (documents is None and in_document))):
                if record.words:
                    yield record
                record = Record()
            continue
        if not sentence_open and _is_comment(fields, line, layout, columns):
            groups.comment(line.strip())
            continue
        documents = in_document if documents is None else documents
        if documents and not in_document:
            raise ValueError(
                f"{where}: expected a line '{DOCSTART}' before the first token, found {line!r}. "
                "Make a document of each sentence, or add the lines that part the documents."
            )
        columns = columns or len(fields)
        with bad.skipped():
            word, tag = parse_line(line, layout, where, columns)
            record.group = record.group or groups.of(fields)
            record.add(word, tag, sent_start=not sentence_open, line=number)
        sentence_open = True
    bad.check()
    if record.words:
        yield record


def read_tagged_json(
    path: Path, labels: Optional[Sequence[str]] = None, group: Optional[str] = None
) -> list[Record]:
    """List the documents of a file of objects {"tokens": [...], "ner_tags": [...]}.

    The key may also be "tags" or "labels". Each object is a sentence.

    labels (Optional[Sequence[str]]): The tag of each number, such as O, B-PER, I-PER.
    group (Optional[str]): The key of `group_of`.

    Raises ValueError, with file and line, for anything else.
    """
    records, bad = [], BadLines()
    for line, value in json_values(path, bad):
        with bad.skipped():
            where = f"{path}:{line}"
            keys = [key for key in _TAG_KEYS if key in value] if has_tokens(value) else []
            tags = value[keys[0]] if keys else None
            if not isinstance(tags, list) or len(tags) != len(value["tokens"]):
                raise ValueError(
                    f'{where}: expected "tokens" and as many "ner_tags", found '
                    f"{str(value)[:80]}. Correct the line."
                )
            record = Record(group=group_of(value, group))
            for number, (word, tag) in enumerate(zip(value["tokens"], tags, strict=True)):
                tag = _named(tag, labels, where)
                if not is_tag(tag) or not word.strip():
                    raise ValueError(
                        f"{where}: expected a token and a tag such as O or B-PER, found {word!r} "
                        f"and {tag!r}. Correct the line."
                    )
                record.add(word, tag, sent_start=number == 0, line=line)
            if record.words:
                records.append(record)
    bad.check()
    return records


def has_tokens(value: Any) -> bool:  # noqa: ANN401 (any JSON)
    """Return whether a JSON value is an object with a list of words as "tokens", and no text."""
    words = value.get("tokens") if isinstance(value, dict) and "text" not in value else None
    return isinstance(words, list) and all(isinstance(word, str) for word in words)


def _named(tag: Any, labels: Optional[Sequence[str]], where: str) -> str:  # noqa: ANN401 (any JSON)
    """Return the tag of a number, or the tag itself."""
    if isinstance(tag, str):
        return tag
    if isinstance(tag, bool) or not isinstance(tag, int):
        raise ValueError(f"{where}: expected a tag, found {tag!r}. Correct the line.")
    if labels is None:
        raise ValueError(
            f"{where}: the tags are numbers, such as {tag}. Give their names in order: --labels "
            "O,B-PER,I-PER. In Python, dataset.features['ner_tags'].feature.names has them."
        )
    if not 0 <= tag < len(labels):
        raise ValueError(
            f"{where}: there is no tag {tag}, because --labels has {len(labels)} names. Give all."
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
        for start, end in pairwise([*starts, len(record.words)]):
            part = slice(start, end)
            sent_starts = [True, *record.sent_starts[part][1:]]
            words, tags, lines = record.words[part], record.tags[part], record.lines[part]
            yield Record(words, tags, sent_starts, lines, record.group)


def _token_lines(path: Path, layout: Layout) -> Iterator[tuple[int, str]]:
    """Yield the lines of a file, and a line for each token of a word|tag sentence."""
    columns = None  # of word|tag or word|part of speech|tag, if the file has them
    for i, (number, line) in enumerate(read_lines(path)):
        tokens = layout.split_piped(line) if i == 0 or columns else []
        if not tokens:
            yield number, line
            continue
        columns = columns or tokens[0].count("|") or 1
        yield from ((number, "\t".join(token.rsplit("|", columns))) for token in tokens)
        yield number, ""


def _is_comment(fields: Sequence[str], line: str, layout: Layout, columns: int) -> bool:
    if not is_comment(line) or ("\t" in line and len(fields) == columns):
        return False  # with tabs, it's a token # with a wrong tag
    tag = _column(fields, layout.tag_column)
    return tag is None or not is_tag(tag)


def is_comment(line: str) -> bool:
    """Return whether a line begins like a comment. So does a token #."""
    return line == "#" or line.startswith(("# ", "#\t"))


def parse_line(line: str, layout: Layout, where: str, columns: int) -> tuple[str, str]:
    """Return the word and the tag of a line with `columns` columns. where (str): FILE:LINE."""
    fields = layout.split(line)
    if len(fields) != columns:
        raise ValueError(
            f"{where}: expected {columns} columns as lines before, found {len(fields)} in "
            f"{line!r}. Correct the line."
        )
    if len(fields) == 1:
        raise ValueError(
            f"{where}: expected a token and its tag, found one column in {line!r}. Correct the "
            "line: a tab or spaces separate columns."
        )
    word, tag = (_column(fields, column) for column in (layout.token_column, layout.tag_column))
    if word is None or tag is None:
        column = layout.token_column if word is None else layout.tag_column
        what = "token" if word is None else "tag"
        raise ValueError(
            f"{where}: expected a {what} in {_name(column)}, but there are only {len(fields)} "
            f"columns in {line!r}. Name another column with --{what}-column."
        )
    if not word.strip():
        raise ValueError(
            f"{where}: expected a token in {_name(layout.token_column)}, found {word!r} in "
            f"{line!r}. Correct the line."
        )
    if not is_tag(tag):
        known = ", ".join(f"{prefix}-LABEL" for prefix in _PREFIXES)
        advice = "Correct the tag, or name another column with --tag-column."
        if re.fullmatch(r"[A-Za-z_]+", tag):
            advice = (
                "It has no prefix: name another column with --tag-column, or write "
                f"I-{tag} if the tags are IO."
            )
        raise ValueError(
            f"{where}: expected the tag O, or one of {known}, in {_name(layout.tag_column)}, "
            f"found {tag!r} in {line!r}. {advice}"
        )
    return word, tag


def _column(fields: Sequence[str], column: int) -> Optional[str]:
    """Return a column, or None if the line has fewer."""
    index = column - 1 if column > 0 else column
    return fields[index] if -len(fields) <= index < len(fields) else None


def _name(column: int) -> str:
    return {1: "the first column", -1: "the last column"}.get(column, f"column {column}")


def tagged_doc(
    vocab: Vocab,
    words: Sequence[str],
    tags: Sequence[str],
    sent_starts: Optional[Sequence[bool]] = None,
) -> Doc:
    """Make a Doc of words and their entity tags in IOB2: O, B-LABEL or I-LABEL.

    sent_starts (Optional[Sequence[bool]]): Whether each token opens a sentence. None: unknown.
    """
    starts: Optional[list[bool | int | None]] = None if sent_starts is None else [*sent_starts]
    # No `spaces`: spaCy's Corpus only keeps a Doc's tokens if its spaces are unknown. Otherwise it
    # tokenizes the text again, and the gold tokens would be lost.
    return Doc(vocab, words=list(words), ents=list(tags), sent_starts=starts)


def find_scheme(records: Sequence[Record], path: Path) -> tuple[Scheme, list[tuple[int, str]]]:
    """Find the scheme of a file's tags, and list the lines and tags that don't follow it.

    In IOB2, each I- tag that doesn't continue an entity is listed. "BILUO" includes BIOES.

    In IOB2, B- opens each entity. In IOB1, B- only opens an entity that directly follows an entity
    of the same label, and I- opens the others. In BILUO, L- or E- closes an entity, and U- or S- is
    a whole entity.

    Raises ValueError, with file and line, for invalid sequences of BILUO tags.
    """
    if {tag[0] for record in records for tag in record.tags} & set(_IN_IOB2):
        bad = BadLines()
        for record in records:
            with bad.skipped():
                _check_biluo(record, path)
        bad.check()
        return "BILUO", []
    odd: list[tuple[int, str]] = []
    opened_by_b = False
    for record in records:
        befores = ["O", *record.tags][:-1]
        for before, tag, starts, line in zip(
            befores, record.tags, record.sent_starts, record.lines, strict=True
        ):
            opens = starts or tag[2:] != before[2:]
            if opens and tag[0] == "I":
                odd.append((line, tag))
            opened_by_b |= opens and tag[0] == "B"
    if odd and not opened_by_b:
        return "IOB1", []
    return "IOB2", odd


def iob2_tags(record: Record, scheme: Scheme) -> list[str]:
    """Return the tags of a document in IOB2. scheme (Scheme): The scheme of its own tags."""
    if scheme == "BILUO":
        return [_IN_IOB2.get(tag[0], tag[0]) + tag[1:] for tag in record.tags]
    return to_iob2(record.tags, record.sent_starts)


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


def _check_biluo(record: Record, path: Path) -> None:
    before, line_before = "O", 0
    for tag, starts, line in chain(
        zip(record.tags, record.sent_starts, record.lines, strict=True), _END
    ):
        is_open = before[0] in "BIM"
        continues = tag[0] in "IMLE" and not starts and tag[2:] == before[2:]
        if is_open and not continues:
            raise ValueError(
                f"{path}:{line_before}: expected a tag I-, L- or E-{before[2:]} after {before!r}, "
                f"found {'the end of the sentence' if starts else repr(tag)}. The file has tags of "
                "BILUO or BIOES, where L- or E- closes each entity that B- opens. Correct the tags."
            )
        if tag[0] in "IMLE" and not is_open:
            raise ValueError(
                f"{path}:{line}: expected B-, U-, S- or O where no entity is open, found {tag!r}. "
                "The file has tags of BILUO or BIOES. Correct the tag."
            )
        before, line_before = tag, line
