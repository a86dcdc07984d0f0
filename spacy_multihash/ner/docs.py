"""Entities of docs: those that are there before, what they rule out, and how new ones are set."""

from collections.abc import Sequence

import numpy
from spacy.attrs import ENT_IOB, ENT_TYPE, IS_SPACE, SENT_START
from spacy.tokens import Doc, Span

from .biluo import Constraints, Entities

# An entity of a doc: its tokens [start, end), and its label.
EntityKey = tuple[int, int, str]


def lengths_of(docs: Sequence[Doc]) -> numpy.ndarray:
    """Count the tokens of each doc, (B,) int64."""
    return numpy.array([len(doc) for doc in docs], dtype="int64")


def constraints_of(docs: list[Doc]) -> Constraints:
    """Read off docs what tags of their tokens cannot be, as spaCy's ner does.

    Whitespace begins no entity, sentences hold them, and tokens of entities that are there already,
    or are blocked, get no others.
    """
    known = numpy.concatenate([doc.to_array([SENT_START, IS_SPACE, ENT_IOB]) for doc in docs])
    starts = known[:, 0] == 1
    lengths = lengths_of(docs)
    starts[(lengths.cumsum() - lengths)[lengths > 0]] = True
    return Constraints(starts, known[:, 1] == 1, (known[:, 2] == 1) | (known[:, 2] == 3))


def without_entities(constraints: Constraints, docs: list[Doc]) -> Constraints:
    """Take back that tokens of entities get no others; blocked ones still get none."""
    iob_and_type = numpy.concatenate([doc.to_array([ENT_IOB, ENT_TYPE]) for doc in docs])
    return constraints._replace(outside=(iob_and_type == (3, 0)).all(axis=1))


def present_entities(docs: list[Doc], labels: Sequence[str]) -> Entities:
    """List the entities that docs have already, as far as they are of these labels."""
    numbers = {label: number for number, label in enumerate(labels)}
    found, begin = [], 0
    for doc in docs:
        found += [
            (begin + ent.start, begin + ent.end, numbers[ent.label_])
            for ent in doc.ents
            if ent.label_ in numbers
        ]
        begin += len(doc)
    return Entities(*numpy.array(found, dtype="int64").reshape(-1, 3).T)


def entity_keys(
    docs: Sequence[Doc], entities: Entities, labels: Sequence[str]
) -> list[tuple[int, EntityKey]]:
    """Tell of each entity of the batch in which doc it is, by number, and its key there."""
    lengths = lengths_of(docs)
    ends = lengths.cumsum()
    doc_of = numpy.searchsorted(ends, entities.starts, side="right")
    begins = (ends - lengths)[doc_of]
    starts, stops = entities.starts - begins, entities.ends - begins
    columns = (column.tolist() for column in (doc_of, starts, stops, entities.labels))
    return [(i, (start, end, labels[label])) for i, start, end, label in zip(*columns, strict=True)]


def spans_of(docs: Sequence[Doc], entities: Entities, labels: Sequence[str]) -> list[list[Span]]:
    """Make the spans of each doc from entities of the batch."""
    spans: list[list[Span]] = [[] for _ in docs]
    for i, (start, end, label) in entity_keys(docs, entities, labels):
        spans[i].append(Span(docs[i], start, end, label=label))
    return spans


def set_entities(doc: Doc, spans: list[Span]) -> None:
    """Set entities, leave those that a doc has, and set all other tokens to be outside."""
    if not doc.has_annotation("ENT_IOB"):
        doc.set_ents(spans)
        return
    doc.set_ents(spans, default="unmodified")
    (missing,) = numpy.nonzero(doc.to_array(ENT_IOB) == 0)
    outside = [doc[i : i + 1] for i in missing.tolist()]
    doc.set_ents([], outside=outside, default="unmodified")
