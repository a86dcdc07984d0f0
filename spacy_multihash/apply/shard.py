"""What a worker does with a shard: read it, find what the pipeline finds, write it."""

import errno
import os
from collections import Counter, deque
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple, Optional, TypeVar, Union

from spacy.language import Language
from spacy.tokens import Doc, DocBin

from ..cluster.source import Source
from ..common.contexts import remembered, with_contexts
from ..common.files import replacing_file
from ..corpus.lines import write_json_lines
from ..corpus.shards import DOCS, JSON_LINES, read_bare_shard
from .probabilities import ask_probabilities, probabilities_of

ContextT = TypeVar("ContextT")
# The ending of an output shard, by its format.
ENDINGS = {"spacy": DOCS, "jsonl": JSON_LINES}
# A full disk, or a full share of it: no other shard could be written either.
_FULL = (errno.ENOSPC, errno.EDQUOT)
# Of the probabilities in JSON lines.
DIGITS = 6
# Nanoseconds of which file systems keep whole numbers as the times of files.
_TICKS = (1, 100, 1_000, 1_000_000_000)


@dataclass(frozen=True)
class Application:
    """What is done with each shard.

    source: The trained pipeline.
    format: "spacy" or "jsonl".
    batch_size: Number of docs that the pipeline takes at once. None is for its own.
    """

    source: Source[Language]
    format: str
    batch_size: Optional[int]


class Shard(NamedTuple):
    """A shard to read, and the file to write."""

    source: Path
    target: Path


class Applied(NamedTuple):
    """What was written: docs, tokens and entities."""

    docs: int
    tokens: int
    entities: int


def apply_shard(application: Application, shard: Shard) -> Union[Applied, OSError]:
    """Write a shard with what the pipeline finds, whole or not at all.

    Returns the error of a full disk, and does not raise it: trying again would not help.

    The file that is written has the time of the shard, by which `is_done` knows it. A document that
    a .spacy file has gives its text, or its words where their spaces are unknown; its annotation is
    left out.

    Raises ValueError for a damaged shard, for documents that cannot be stored, and for other files
    of the pipeline than where the command was started. Raises OSError where the shard cannot be
    read or written.
    """
    try:
        return _apply_shard(application, shard)
    except OSError as error:
        if error.errno in _FULL:
            return error
        raise


def _apply_shard(application: Application, shard: Shard) -> Applied:
    nlp = application.source.loaded_for_shard()
    if application.format == "jsonl":
        # A .spacy file has the probabilities that the pipeline's own settings ask for.
        ask_probabilities(nlp)
    contexts = deque[Mapping[str, Any]]()
    asked = remembered(read_bare_shard(shard.source, nlp), contexts)
    pairs = nlp.pipe(asked, as_tuples=True, batch_size=application.batch_size)
    counts = Counter[str]()
    changed = shard.source.stat().st_mtime_ns  # a change from here on is noticed by `is_done`
    with replacing_file(shard.target, tidy=False) as new:  # `Output.tidy` does it for all
        if application.format == "spacy":
            docs = (doc for doc, _ in _counted(pairs, counts))
            _stored(docs, shard.source).to_disk(new)
        else:
            counted = _counted(with_contexts(pairs, contexts, str(shard.source)), counts)
            write_json_lines(new, ({**_record_of(doc), **rest} for doc, rest in counted))
        os.utime(new, ns=(changed, changed))
    return Applied(counts["docs"], counts["tokens"], counts["entities"])


def is_done(shard: Shard) -> bool:
    """Tell whether a shard was written, and has not changed since it was read."""
    try:
        time = shard.target.stat().st_mtime_ns
        changed = shard.source.stat().st_mtime_ns
    except FileNotFoundError:
        return False
    return any(time == changed // tick * tick for tick in _TICKS)


def _stored(docs: Iterable[Doc], source: Path) -> DocBin:
    found = DocBin(store_user_data=True)
    for number, doc in enumerate(docs, start=1):
        try:
            found.add(doc)
        except (OverflowError, TypeError, ValueError) as error:
            raise ValueError(
                f"{source}: document {number} cannot be stored: its user_data, which has custom "
                f"attributes too, must be values that MessagePack knows ({error}). Use --format "
                "jsonl, which stores none of it."
            ) from error
    return found


def _counted(
    pairs: Iterable[tuple[Doc, ContextT]], counts: Counter[str]
) -> Iterator[tuple[Doc, ContextT]]:
    for doc, rest in pairs:
        counts.update(docs=1, tokens=len(doc), entities=len(doc.ents))
        yield doc, rest


def _record_of(doc: Doc) -> dict[str, Any]:
    """Make what a line of JSON has of a doc."""
    known = probabilities_of(doc)
    entities = []
    for ent in doc.ents:
        entity = {"start": ent.start_char, "end": ent.end_char, "label": ent.label_}
        if (probability := known.get((ent.start_char, ent.end_char, ent.label_))) is not None:
            entity["probability"] = round(probability, DIGITS)
        entities.append(entity)
    record: dict[str, Any] = {"text": doc.text, "entities": entities}
    if doc.cats:
        record["cats"] = {label: round(score, DIGITS) for label, score in doc.cats.items()}
    return record
