"""What docs know of entities before they are tagged, and how new ones are set beside it."""

from typing import List

import numpy
from spacy.attrs import ENT_IOB, IS_SPACE, SENT_START
from spacy.tokens import Doc, Span

from .biluo import Constraints


def constraints_of(docs: List[Doc]) -> Constraints:
    """Read off docs what tags of their tokens cannot be, as spaCy's ner does.

    Whitespace begins no entity, sentences hold them, and tokens of entities that are there already,
    or are blocked, get no others.
    """
    known = numpy.concatenate([doc.to_array([SENT_START, IS_SPACE, ENT_IOB]) for doc in docs])
    starts = known[:, 0] == 1
    lengths = numpy.array([len(doc) for doc in docs])
    starts[(lengths.cumsum() - lengths)[lengths > 0]] = True
    return Constraints(starts, known[:, 1] == 1, (known[:, 2] == 1) | (known[:, 2] == 3))


def set_entities(doc: Doc, spans: List[Span]) -> None:
    """Set entities, leave those that a doc has, and set all other tokens to be outside."""
    if not doc.has_annotation("ENT_IOB"):
        doc.set_ents(spans)
        return
    doc.set_ents(spans, default="unmodified")
    (missing,) = numpy.nonzero(doc.to_array(ENT_IOB) == 0)
    outside = [doc[i : i + 1] for i in missing.tolist()]
    doc.set_ents([], outside=outside, default="unmodified")
