"""What a worker does with a shard: read it, find what the pipeline finds, write it."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from pathlib import Path
from typing import Any, NamedTuple, Optional

import spacy
import srsly
from spacy.language import Language
from spacy.tokens import Doc, DocBin
from spacy.util import import_file

from ..common.files import replacing_file
from ..corpus.shards import DOCS, JSON_LINES, read_shard
from .manifest import digest_of
from .probabilities import ask_probabilities, probabilities_of

# The ending of an output shard, by its format.
ENDINGS = {"spacy": DOCS, "jsonl": JSON_LINES}
# Of the probabilities in JSON lines.
DIGITS = 6


@dataclass(frozen=True)
class Application:
    """What is done with each shard.

    model: Trained pipeline: a package's name, or a path.
    digest: That of the files of the pipeline. A worker that finds other files loads none.
    code: Python file with registered functions to import.
    format: "spacy" or "jsonl".
    batch_size: Number of docs that the pipeline takes at once. None is for its own.
    """

    model: str
    digest: str
    code: Optional[Path]
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


class _Loaded(NamedTuple):
    nlp: Language
    keys: Sequence[str]


def apply_shard(application: Application, shard: Shard) -> Applied:
    """Write a shard with what the pipeline finds, whole or not at all.

    The pipeline is loaded once for each process. A document that a .spacy file has gives its text,
    or its words where their spaces are unknown; its annotation is left out.

    Raises ValueError for a damaged shard, and for other files of the pipeline than where the
    command was started. Raises OSError where the shard cannot be read or written.
    """
    nlp, keys = _load(application)
    docs = nlp.pipe(
        (_without_annotation(doc, nlp) for doc in read_shard(shard.source, nlp)),
        batch_size=application.batch_size,
    )
    counts = Counter[str]()
    with replacing_file(shard.target) as new:
        if application.format == "spacy":
            DocBin(docs=_counted(docs, counts), store_user_data=True).to_disk(new)
        else:
            records = (_record_of(doc, keys) for doc in _counted(docs, counts))
            srsly.write_jsonl(new, records)
    return Applied(counts["docs"], counts["tokens"], counts["entities"])


@lru_cache(maxsize=1)
def _load(application: Application) -> _Loaded:
    if application.code is not None:
        import_file("python_code", application.code)
    nlp = spacy.load(application.model)
    if digest_of(nlp.path) != application.digest:
        raise ValueError(
            f"The pipeline {application.model} has other files here, at {nlp.path}, than where the "
            "command was started. Copy or install the same one."
        )
    # A .spacy file has the probabilities that the pipeline's own settings ask for.
    return _Loaded(nlp, ask_probabilities(nlp) if application.format == "jsonl" else [])


def _without_annotation(doc: Doc, nlp: Language) -> Doc:
    if doc.has_unknown_spaces:
        return Doc(nlp.vocab, [token.text for token in doc])
    return nlp.make_doc(doc.text)


def _counted(docs: Iterable[Doc], counts: Counter[str]) -> Iterator[Doc]:
    for doc in docs:
        counts.update(docs=1, tokens=len(doc), entities=len(doc.ents))
        yield doc


def _record_of(doc: Doc, keys: Sequence[str]) -> dict[str, Any]:
    """Make what a line of JSON has of a doc; keys as in `probabilities_of`."""
    known = probabilities_of(doc, keys)
    entities = []
    for ent in doc.ents:
        entity = {"start": ent.start_char, "end": ent.end_char, "label": ent.label_}
        if (probability := known.get((ent.start, ent.end, ent.label_))) is not None:
            entity["probability"] = round(probability, DIGITS)
        entities.append(entity)
    record: dict[str, Any] = {"text": doc.text, "entities": entities}
    if doc.cats:
        record["cats"] = {label: round(score, DIGITS) for label, score in doc.cats.items()}
    return record
