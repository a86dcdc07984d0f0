"""Tags of entities in files: which scheme they follow, and the same entities in IOB2."""

from collections.abc import Iterable, Sequence
from itertools import chain
from pathlib import Path
from typing import Literal, NamedTuple

from .conll import Record

Scheme = Literal["IOB1", "IOB2", "BILUO"]
# The names of BILUO's last and only token, there and in BIOES, and what they are in IOB2.
_IN_IOB2 = {"L": "I", "E": "I", "U": "B", "S": "B"}
# Follows each document: no entity reaches beyond its end.
_END: Iterable[tuple[str, bool, int]] = (("O", True, 0),)


class Found(NamedTuple):
    """The scheme of a file's tags.

    scheme (Scheme): "IOB2" is also called BIO, and "BILUO" stands for BIOES too.
    odd (Sequence[tuple[int, str]]): Line and tag of what does not follow the scheme: in IOB2, each
        I- tag that continues no entity.
    """

    scheme: Scheme
    odd: Sequence[tuple[int, str]]


def find_scheme(records: Sequence[Record], path: Path) -> Found:
    """Tell which scheme the tags of a file follow.

    In IOB2, B- opens each entity. In IOB1 it opens only those that directly follow another one of
    their label, and I- opens the others. In BILUO, L- or E- closes an entity, and U- or S- is one.

    records (Sequence[Record]): The file's documents.
    path (Path): The file, for messages.

    Raises ValueError, with file and line, for tags of BILUO that do not follow each other.
    """
    if {tag[0] for record in records for tag in record.tags} & set(_IN_IOB2):
        for record in records:
            _check_biluo(record, path)
        return Found("BILUO", [])
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
        return Found("IOB1", [])
    return Found("IOB2", odd)


def iob2_tags(record: Record, scheme: Scheme) -> list[str]:
    """Return the tags of a document in IOB2.

    record (Record): The document, its tags as they stand in the file.
    scheme (Scheme): The scheme of the file's tags.
    """
    if scheme == "BILUO":
        return [_IN_IOB2.get(tag[0], tag[0]) + tag[1:] for tag in record.tags]
    return to_iob2(record.tags, record.sent_starts)


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


def _check_biluo(record: Record, path: Path) -> None:
    before, line_before = "O", 0
    for tag, starts, line in chain(
        zip(record.tags, record.sent_starts, record.lines, strict=True), _END
    ):
        is_open = before[0] in "BI"
        continues = tag[0] in "ILE" and not starts and tag[2:] == before[2:]
        if is_open and not continues:
            raise ValueError(
                f"{path}:{line_before}: expected a tag I-, L- or E-{before[2:]} after {before!r}, "
                f"found {'the end of the sentence' if starts else repr(tag)}. The file has tags of "
                "BILUO or BIOES, where L- or E- closes each entity that B- opens. Correct the tags."
            )
        if tag[0] in "ILE" and not is_open:
            raise ValueError(
                f"{path}:{line}: expected B-, U-, S- or O where no entity is open, found {tag!r}. "
                "The file has tags of BILUO or BIOES. Correct the tag."
            )
        before, line_before = tag, line
