"""Entities written as text, and docs that have them."""

from typing import Optional

import spacy
from spacy.tokens import Doc, Span

from spacy_multihash.corpus.spans import Entity

NLP = spacy.blank("en")
WORDS = ["Anna", "Paz", "met", "Bob", "in", "New", "York", "."]


def entities(text: str) -> list[Entity]:
    """Read entities written as in "0-2 PER, 3-4 GPE"."""
    found = []
    for part in filter(None, text.split(", ")):
        extent, label = part.split(" ")
        start, end = map(int, extent.split("-"))
        found.append(Entity(start, end, label, " ".join(WORDS[start:end])))
    return found


def plain(entity: Optional[Entity]) -> str:
    """Write an entity as `entities` reads it."""
    return f"{entity.start}-{entity.end} {entity.label}" if entity else ""


def doc_of(words: list[str], ents: str = "", missing: str = "") -> Doc:
    """Make a doc with entities, and with tokens whose annotation is missing."""
    doc = Doc(NLP.vocab, words=words)
    spans = [Span(doc, e.start, e.end, label=e.label) for e in entities(ents)]
    doc.set_ents(spans, missing=[doc[e.start : e.end] for e in entities(missing)])
    return doc
