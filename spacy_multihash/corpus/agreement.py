"""What two pipelines of one kind find in the same texts: how much of it is the same."""

from collections.abc import Iterable, Sequence
from typing import Optional

import numpy
from spacy.attrs import DEP, HEAD, IDX, LEMMA, LENGTH, MORPH, POS, SENT_START, TAG
from spacy.tokens import Doc, Span

# What tokens have, by the names that spaCy's attributes have.
_ATTRS = {
    "TAG": TAG,
    "POS": POS,
    "MORPH": MORPH,
    "LEMMA": LEMMA,
    "DEP": DEP,
    "HEAD": HEAD,
    "SENT_START": SENT_START,
}
# Where tokens begin, and how many characters they have.
_CUT = [IDX, LENGTH]


def entities_kept(before: Sequence[Doc], after: Sequence[Doc]) -> Optional[float]:
    """Return the share of entities that are found again, with the same extent and label.

    before, after (Sequence[Doc]): The same docs, annotated by two pipelines.

    Returns None if no entities were found before.
    """
    found, still = _entities(before), _entities(after)
    return len(found & still) / len(found) if found else None


def spans_kept(before: Sequence[Doc], after: Sequence[Doc]) -> dict[str, float]:
    """Return the share of spans that are found again, with extent and label, by group.

    Groups without spans before are left out.

    before, after (Sequence[Doc]): The same docs, annotated by two pipelines.
    """
    kept = {}
    for key in dict.fromkeys(key for doc in before for key in doc.spans):
        found, still = (
            _spans(doc.spans[key] if key in doc.spans else () for doc in docs)
            for docs in (before, after)
        )
        if found:
            kept[key] = len(found & still) / len(found)
    return kept


def attributes_kept(before: Sequence[Doc], after: Sequence[Doc]) -> dict[str, float]:
    """Return the share of tokens that have the same value as before, by attribute.

    Attributes that no doc has are left out. A token that is cut otherwise has not kept its values.

    before, after (Sequence[Doc]): The same docs, annotated by two pipelines.
    """
    num_tokens = sum(map(len, before))
    kept = {}
    for name, attr in _ATTRS.items():
        if any(doc.has_annotation(name) for doc in before if len(doc)):
            pairs = zip(before, after, strict=True)
            same = sum(_same_values(one, two, attr) for one, two in pairs)
            kept[name] = same / num_tokens
    return kept


def largest_change(before: Sequence[Doc], after: Sequence[Doc]) -> Optional[float]:
    """Return by how much the score of a text's class changed at most; None without classes."""
    changes = [
        abs(two.cats[label] - score)
        for one, two in zip(before, after, strict=True)
        for label, score in one.cats.items()
    ]
    return max(changes, default=None)


def _same_values(one: Doc, two: Doc, attr: int) -> int:
    """Count the tokens of a doc that another one has too, with the same value."""
    values, others = one.to_array(attr), two.to_array(attr)
    if numpy.array_equal(one.to_array(_CUT), two.to_array(_CUT)):
        return int((values == others).sum())
    places = {(token.idx, len(token)): token.i for token in two}
    pairs = [(token, places.get((token.idx, len(token)))) for token in one]
    if attr == HEAD:  # heads are numbered from the token on, over tokens that are cut otherwise
        return sum(token.head.idx == two[i].head.idx for token, i in pairs if i is not None)
    return sum(bool(values[token.i] == others[i]) for token, i in pairs if i is not None)


def _entities(docs: Sequence[Doc]) -> set[tuple[int, int, int, str]]:
    return _spans(doc.ents for doc in docs)


def _spans(groups: Iterable[Iterable[Span]]) -> set[tuple[int, int, int, str]]:
    """Return all spans as number of the doc, first character, end and label."""
    return {
        (number, span.start_char, span.end_char, span.label_)
        for number, spans in enumerate(groups)
        for span in spans
    }
