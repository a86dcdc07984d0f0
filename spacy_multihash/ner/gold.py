"""Gold tags: what examples teach a recognizer."""

from collections.abc import Iterable, Sequence
from typing import Optional

import numpy
from spacy.attrs import ENT_IOB, ENT_TYPE, IS_SPACE, ORTH
from spacy.strings import get_string_id
from spacy.tokens import Doc, Span
from spacy.training import Example

from .biluo import MISSING, OUTSIDE, Entities, as_entities, tag_columns, tag_names
from .entities import (
    IOB_BEGINS,
    IOB_INSIDE,
    IOB_OUTSIDE,
    EntityKey,
    key_of,
    lengths_of,
    token_attributes,
)


def gold_labels(examples: Iterable[Example]) -> list[str]:
    """List the labels of the entities of references, in alphabetical order."""
    return sorted({ent.label_ for eg in examples for ent in eg.reference.ents})


def gold_tags(examples: Sequence[Example], labels: Sequence[str]) -> numpy.ndarray:
    """Return the tags of all predicted tokens, (N,) int64, `biluo.MISSING` if unknown.

    Tags are as in Example.get_aligned_ner. A tag is unknown if the reference has no annotation,
    blocks the token, or doesn't align with it. Usually both docs have the same tokens. Then the
    tags are read from the references of the batch at once.

    Raises ValueError if entities have other labels.
    """
    lengths = lengths_of([example.predicted for example in examples])
    tags = numpy.full(lengths.sum(), MISSING)
    aligned = [same_tokens(example.predicted, example.reference) for example in examples]
    references = [eg.reference for eg, same in zip(examples, aligned, strict=True) if same]
    if references:
        tags[numpy.repeat(aligned, lengths)] = _read_off(references, labels)
    numbers: dict[Optional[str], int] = {name: i for i, name in enumerate(tag_names(labels))}
    for example, same, end in zip(examples, aligned, lengths.cumsum().tolist(), strict=True):
        if not same:
            names = example.get_aligned_ner()
            _check_labels({name[2:] for name in names if name is not None and name != "O"}, labels)
            tags[end - len(names) : end] = [numbers.get(name, MISSING) for name in names]
    return tags


def wrong_entities(examples: Sequence[Example], labels: Sequence[str], key: str) -> Entities:
    """List the entities that are known to be wrong: the unique spans of reference.spans[key].

    Positions are in the batch of predicted docs. Spans with other labels are ignored, because
    nothing predicts them, and so are spans that don't align with the predicted tokens.

    Raises ValueError if an entity of a reference is also known to be wrong.
    """
    numbers = {label: number for number, label in enumerate(labels)}
    entities: list[tuple[int, int, int]] = []
    begin = 0
    for example in examples:
        doc, spans = example.predicted, example.reference.spans.get(key, [])
        wrong = _aligned(example, spans, allow_overlap=True) if spans else set()
        if both := wrong and wrong & _aligned(example, example.reference.ents):
            named = ", ".join(f"{doc[i:j].text!r} ({label})" for i, j, label in sorted(both))
            raise ValueError(
                "An example has the same entity as right and as known to be wrong, in "
                f"reference.ents and in reference.spans[{key!r}]: {named}. Take "
                "it out of one of them."
            )
        rows = [(begin + i, begin + j, numbers[x]) for i, j, x in wrong if x in numbers]
        entities += sorted(rows)
        begin += len(doc)
    return as_entities(entities)


def _aligned(
    example: Example, spans: Iterable[Span], *, allow_overlap: bool = False
) -> set[EntityKey]:
    if not same_tokens(example.predicted, example.reference):
        spans = example.get_aligned_spans_y2x(spans, allow_overlap=allow_overlap)
    return {key_of(span) for span in spans if span.start < span.end}


def same_tokens(doc: Doc, other: Doc) -> bool:
    """Check if two docs have the same tokens, ignoring the spaces between them."""
    return len(doc) == len(other) and bool((doc.to_array(ORTH) == other.to_array(ORTH)).all())


def _read_off(docs: Sequence[Doc], labels: Sequence[str]) -> numpy.ndarray:
    """Return the tags of the docs' own entities, (N,) int64."""
    tokens, lengths = token_attributes(docs, [ENT_IOB, ENT_TYPE, IS_SPACE])
    iob, types, spaces = tokens.T
    ends, begins = lengths.cumsum(), iob == IOB_BEGINS
    goes_on = numpy.append(iob[1:] == IOB_INSIDE, False)
    goes_on[ends[lengths > 0] - 1] = False
    inside = (types != 0) & (begins | (iob == IOB_INSIDE))
    columns = tag_columns(1 + 4 * len(labels))
    first = numpy.where(goes_on, columns.B.start, columns.U.start)
    later = numpy.where(goes_on, columns.I.start, columns.L.start)
    tags = numpy.where(begins, first, later)
    tags[~inside] = MISSING
    tags[~inside & ((iob == IOB_OUTSIDE) | (spaces == 1))] = OUTSIDE
    # Docs without annotation: not even whitespace is known to be outside
    counts = numpy.append(0, numpy.cumsum(iob != 0))
    tags[numpy.repeat(counts[ends] == counts[ends - lengths], lengths)] = MISSING
    present, which = numpy.unique(types[inside], return_inverse=True)
    numbers = {get_string_id(label): number for number, label in enumerate(labels)}
    unknown = {key for key in present.tolist() if key not in numbers}
    if unknown:
        entities = (ent for doc in docs for ent in doc.ents)
        _check_labels({ent.label_ for ent in entities if ent.label in unknown}, labels)
    tags[inside] += numpy.array([numbers[key] for key in present.tolist()], dtype="int64")[which]
    return tags


def _check_labels(present: set[str], labels: Sequence[str]) -> None:
    unknown = sorted(present - set(labels))
    if unknown:
        raise ValueError(
            "The examples have entities with labels that the component does not have: "
            f"{', '.join(unknown)}. It was initialized for: {', '.join(labels)}. Add the others "
            "with add_label, or initialize it with all labels of the training data."
        )
