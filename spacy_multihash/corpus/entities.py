"""Entities of a corpus: which were seen in training, and docs with only some of them."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass
from typing import Callable

from spacy.tokens import Doc, Span


@dataclass(frozen=True)
class Matching:
    """What makes an entity the same as one of the training corpus.

    The report "Multi hash embeddings in spaCy" (section 4.2) counts a span as seen if it appears
    verbatim as an entity of the training set, whatever its label there: the default.

    ignore_case (bool): Compare the texts in lower case.
    match_label (bool): The label must be the same as well.
    """

    ignore_case: bool = False
    match_label: bool = False

    def key(self, span: Span) -> tuple[str, str]:
        """Return what is compared: the text of an entity, and its label or nothing."""
        text = span.text.lower() if self.ignore_case else span.text
        return text, span.label_ if self.match_label else ""


VERBATIM = Matching()


@dataclass(frozen=True)
class KnownEntities:
    """The entities of a training corpus, by how often they occur there.

    counts (Counter[tuple[str, str]]): The count of each key that `matching` makes.
    matching (Matching): What makes two entities the same.
    """

    counts: Counter[tuple[str, str]]
    matching: Matching = VERBATIM

    def count(self, span: Span) -> int:
        """Count how often a span occurs as an entity in the training corpus."""
        return self.counts[self.matching.key(span)]

    def has_seen(self, span: Span) -> bool:
        """Tell whether a span occurs as an entity in the training corpus."""
        return self.count(span) > 0


def known_entities(docs: Iterable[Doc], matching: Matching = VERBATIM) -> KnownEntities:
    """Count the entities of a training corpus, whose docs are read once and not kept.

    docs (Iterable[Doc]): The docs, with gold entities.
    matching (Matching): What makes two entities the same.
    RETURNS (KnownEntities): The entities and their counts.
    """
    counts = Counter(matching.key(ent) for doc in docs for ent in doc.ents)
    return KnownEntities(counts, matching)


def keep_entities(doc: Doc, is_kept: Callable[[Span], bool], *, mask: bool) -> Doc:
    """Return a doc with only some of its entities. It is a copy, unless all are kept.

    doc (Doc): The doc. Tokens whose annotation is missing stay so.
    is_kept (Callable[[Span], bool]): Whether an entity is kept.
    mask (bool): Whether the tokens of the other entities count as tokens without annotation, so
        that no score counts what is predicted there. Otherwise they are outside of entities.
    RETURNS (Doc): A copy, or the doc itself if all entities are kept.
    """
    kept, missing = [], [(t.i, t.i + 1) for t in doc if t.ent_iob == 0]
    for ent in doc.ents:
        if is_kept(ent):
            kept.append((ent.start, ent.end, ent.label))
        elif mask:
            missing.append((ent.start, ent.end))
    if len(kept) == len(doc.ents):
        return doc
    copy = doc.copy()
    copy.set_ents([Span(copy, *ent) for ent in kept], missing=[Span(copy, *m) for m in missing])
    return copy
