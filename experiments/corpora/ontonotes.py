"""Read OntoNotes 5 (LDC2013T19), in the CoNLL-2012 format, from a licensed copy.

The LDC's release has annotations in separate files, and no splits. The scripts of the CoNLL-2012
shared task make other files of it, which are read here: `*gold_conll` below the folders train,
development and test. They have one token on each line, with its word in column 4 and its entity in
column 11.
"""

import re
from collections.abc import Iterator
from pathlib import Path
from typing import Optional

from spacy_multihash.corpus.conll import Record
from spacy_multihash.corpus.lines import read_lines

FOLDERS = {"train": "train", "dev": "development", "test": "test"}
WORD_COLUMN = 3
ENTITY_COLUMN = 10
# It stands for each word until the scripts have filled in the licensed text.
PLACEHOLDER = "[WORD]"
ENTITY = re.compile(r"\((?P<label>[A-Z_]+)[*)]|\*\)?")


def read_splits(folder: Path) -> Iterator[tuple[str, Path, Iterator[Record]]]:
    """Yield the name, the folder and the documents of each split.

    folder (Path): A folder with train/, development/ and test/ somewhere below it.

    Raises FileNotFoundError if a split has no English file.
    """
    for split, name in FOLDERS.items():
        paths = sorted(
            path for path in folder.rglob("*gold_conll") if _is_english_of(path, folder, name)
        )
        if not paths:
            raise FileNotFoundError(
                f"{folder}: expected files {name}/**/english/**/*gold_conll of OntoNotes 5, found "
                "none. OntoNotes comes from the LDC (LDC2013T19), and the scripts of the "
                "CoNLL-2012 shared task convert it to this format. Name the folder that they wrote."
            )
        yield split, folder / name, (record for path in paths for record in read_records(path))


def _is_english_of(path: Path, folder: Path, name: str) -> bool:
    parts = path.relative_to(folder).parts
    return name in parts and "english" in parts


def read_records(path: Path) -> Iterator[Record]:
    """Yield the documents of a file, each of which `#begin document` opens.

    path (Path): A file in the CoNLL-2012 format.

    Raises ValueError for a malformed line, with its file and number, and for a file that is cut
    off.
    """
    record: Optional[Record] = None
    sentence_open = False
    label = where = ""
    for number, line in read_lines(path):
        where = f"{path}:{number}"
        is_token = bool(line.strip()) and not line.startswith("#")
        if label and not is_token:
            raise _malformed(where, f"the end of the entity {label}", "the end of its sentence")
        if line.startswith("#begin document"):
            if record is not None:
                raise _malformed(where, "a line '#end document' first", repr(line))
            record = Record()
        elif line.startswith("#end document"):
            if record is not None and record.words:
                yield record
            record = None
        elif is_token:
            if record is None:
                raise _malformed(where, "a line '#begin document' first", repr(line))
            word, entity = _parse_line(line, where)
            tag, label = _tag(entity, label, where)
            record.add(word, tag, sent_start=not sentence_open, line=number)
        sentence_open = is_token
    if record is not None:
        raise _malformed(where, "a line '#end document'", "the end of the file")


def _malformed(where: str, expected: str, found: str) -> ValueError:
    return ValueError(
        f"{where}: expected {expected}, found {found}. Use the file as the scripts wrote it."
    )


def _parse_line(line: str, where: str) -> tuple[str, str]:
    fields = line.split()
    if len(fields) <= ENTITY_COLUMN:
        expected = f"{ENTITY_COLUMN + 1} columns or more"
        raise _malformed(where, expected, f"{len(fields)} in {line!r}")
    word = fields[WORD_COLUMN]
    if word == PLACEHOLDER:
        raise ValueError(
            f"{where}: expected a word in column {WORD_COLUMN + 1}, found {PLACEHOLDER}. Run "
            "skeleton2conll of the shared task with your copy of LDC2013T19 first."
        )
    return word, fields[ENTITY_COLUMN]


def _tag(entity: str, label: str, where: str) -> tuple[str, str]:
    """Return the IOB2 tag of a column like `(ORG*`, `*`, `*)` or `(GPE)`, and the open label."""
    match = ENTITY.fullmatch(entity)
    opened = match["label"] if match else None
    if match is None or (opened and label) or (entity == "*)" and not label):
        expected = f"an entity like (ORG*, *, *) or (GPE) in column {ENTITY_COLUMN + 1}"
        raise _malformed(where, f"{expected}{', within ' + label if label else ''}", repr(entity))
    current = opened or label
    tag = f"{'B' if opened else 'I'}-{current}" if current else "O"
    return tag, "" if entity.endswith(")") else current
