"""What the commands that make corpora share: lines of files, records, tags and docs."""

import gzip
import zlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import astuple, dataclass
from pathlib import Path
from typing import NamedTuple

from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab
from wasabi import msg


class Record(NamedTuple):
    """A document as read: for each token its word, its tag and whether it opens a sentence."""

    words: list[str]
    tags: list[str]
    sent_starts: list[bool]


def tagged_doc(
    vocab: Vocab,
    words: Sequence[str],
    tags: Sequence[str],
    sent_starts: Sequence[bool] | None = None,
) -> Doc:
    """Make a Doc of words and their entity tags.

    vocab (Vocab): The vocab of the Doc.
    words (Sequence[str]): One string for each token.
    tags (Sequence[str]): One IOB2 tag for each token: O, B-LABEL or I-LABEL.
    sent_starts (Sequence[bool] | None): Whether each token opens a sentence, None if unknown.
    """
    starts: list[bool | int | None] | None = None if sent_starts is None else [*sent_starts]
    # No `spaces`: spaCy's Corpus keeps the tokens of a Doc only if its spaces are unknown. It
    # tokenizes the text of any other Doc anew, and the gold tokens would be lost.
    return Doc(vocab, words=list(words), ents=list(tags), sent_starts=starts)


@dataclass
class LabelSummary:
    """The counts of one split of a corpus of labelled texts."""

    split: str
    docs: int = 0
    tokens: int = 0


def add_labelled(
    doc_bin: DocBin,
    summary: LabelSummary,
    nlp: Language,
    text: str,
    label: str,
    labels: Iterable[str],
) -> None:
    """Add a text with its label to the documents of a split, and count it.

    nlp (Language): A pipeline, whose tokenizer makes the tokens.
    label (str): The label of the text.
    labels (Iterable[str]): All labels. A document has a value for each of them.
    """
    doc = nlp.make_doc(text)
    doc.cats = {name: float(name == label) for name in labels}
    doc_bin.add(doc)
    summary.docs += 1
    summary.tokens += len(doc)


def show_summaries(summaries: list[LabelSummary]) -> None:
    """Print the counts of each split as a table."""
    rows = [(row[0], *(f"{n:,}" for n in row[1:])) for row in map(astuple, summaries)]
    msg.table(rows, header=("split", "docs", "tokens"), divider=True, aligns=("l", "r", "r"))


def read_lines(path: Path) -> Iterator[tuple[int, str]]:
    """Yield the number and the text of each line of a UTF-8 file, reading one line at a time.

    path (Path): The file, compressed if its name ends in .gz.
    """
    for number, raw in _read_bytes(path):
        try:
            # A byte order mark at the start of a file is no part of its first token.
            line = raw.decode("utf-8-sig" if number == 1 else "utf-8")
        except UnicodeDecodeError as error:
            raise ValueError(
                f"{path}:{number}: expected UTF-8, found byte 0x{raw[error.start]:02x} at "
                f"position {error.start} of the line. Convert the file to UTF-8, or use "
                "the file that project.yml names."
            ) from error
        yield number, line.rstrip("\r\n")


def _read_bytes(path: Path) -> Iterator[tuple[int, bytes]]:
    number = 0
    with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file_:
        try:
            for number, raw in enumerate(file_, start=1):
                yield number, raw
        except (EOFError, gzip.BadGzipFile, zlib.error) as error:
            raise ValueError(
                f"{path} is cut off or damaged after line {number} ({error}). Copy it again."
            ) from error


def to_iob2(tags: Sequence[str], sent_starts: Sequence[bool]) -> list[str]:
    """Return the tags with B- in place of each I- that continues no entity of its label."""
    fixed = []
    label_before = ""
    for tag, sent_start in zip(tags, sent_starts, strict=True):
        label = tag[2:]
        continues = label == label_before and not sent_start
        fixed.append(f"B-{label}" if tag[0] == "I" and not continues else tag)
        label_before = label
    return fixed
