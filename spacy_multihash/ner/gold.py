"""Gold tags: what examples teach a recognizer."""

from collections.abc import Iterable, Sequence

import numpy
from spacy.attrs import ENT_IOB, ENT_TYPE, IS_SPACE, ORTH
from spacy.tokens import Doc, Span
from spacy.training import Example

from .biluo import MISSING, OUTSIDE, Entities, tag_columns, tag_names, tag_numbers
from .docs import IOB_BEGINS, IOB_INSIDE, IOB_OUTSIDE, EntityKey


def gold_labels(examples: Iterable[Example]) -> list[str]:
    """List the labels of the entities of references, in alphabetical order."""
    return sorted({ent.label_ for eg in examples for ent in eg.reference.ents})


def gold_tags(examples: Sequence[Example], labels: Sequence[str]) -> numpy.ndarray:
    """Return the tags of all predicted tokens, (N,) int64, `biluo.MISSING` where not known.

    They are those of Example.get_aligned_ner. A tag is not known where the reference has none or
    blocks the token, and where tokens do not align. Usually both docs have the same tokens. Then
    the tags are read off the reference, in less than a tenth of the time.

    Raises ValueError for entities with other labels.
    """
    names = tag_names(labels)
    numbers = {name: number for number, name in enumerate(names)}
    found: list[numpy.ndarray] = [numpy.zeros(0, dtype="int64")]
    for example in examples:
        if same_tokens(example.predicted, example.reference):
            found.append(_read_off(example.reference, labels))
        else:
            tags = example.get_aligned_ner()
            _check_labels({tag[2:] for tag in tags if tag is not None and tag != "O"}, labels)
            found.append(numpy.array(tag_numbers(tags, numbers), dtype="int64"))
    return numpy.concatenate(found)


def wrong_entities(examples: Sequence[Example], labels: Sequence[str], key: str) -> Entities:
    """List the entities that are known to be wrong: the spans of reference.spans[key], each once.

    They are by position in the batch of predicted docs. Spans with other labels are left out, as
    nothing predicts them, and so are those that do not align with the predicted tokens.

    Raises ValueError for an entity of a reference that is among its wrong ones.
    """
    numbers = {label: number for number, label in enumerate(labels)}
    found: list[tuple[int, int, int]] = []
    begin = 0
    for example in examples:
        wrong = _aligned(example, example.reference.spans.get(key, []))
        both = wrong & _aligned(example, example.reference.ents) if wrong else set()
        if both:
            raise ValueError(
                "An example has the same entity as right and as known to be wrong, in "
                f"reference.ents and in reference.spans[{key!r}]: {_describe(example, both)}. Take "
                "it out of one of them."
            )
        found += sorted(
            (begin + start, begin + end, numbers[label])
            for start, end, label in wrong
            if label in numbers
        )
        begin += len(example.predicted)
    return Entities(*numpy.array(found, dtype="int64").reshape(-1, 3).T)


def _aligned(example: Example, spans: Iterable[Span]) -> set[EntityKey]:
    aligned = example.get_aligned_spans_y2x(spans, allow_overlap=True)
    return {(span.start, span.end, span.label_) for span in aligned}


def _describe(example: Example, keys: set[EntityKey]) -> str:
    doc = example.predicted
    return ", ".join(f"{doc[i:j].text!r} ({label})" for i, j, label in sorted(keys))


def same_tokens(doc: Doc, other: Doc) -> bool:
    """Tell whether two docs have the same tokens, whatever spaces are between them."""
    return len(doc) == len(other) and bool((doc.to_array(ORTH) == other.to_array(ORTH)).all())


def _read_off(doc: Doc, labels: Sequence[str]) -> numpy.ndarray:
    """Return the tags of a doc's own entities, (len(doc),) int64."""
    iob, types, spaces = doc.to_array([ENT_IOB, ENT_TYPE, IS_SPACE]).T
    if not iob.any():  # no annotation at all, not even for whitespace
        return numpy.full(len(doc), MISSING)
    begins = iob == IOB_BEGINS
    goes_on = numpy.append(iob[1:] == IOB_INSIDE, False)
    inside = (types != 0) & (begins | (iob == IOB_INSIDE))
    columns = tag_columns(1 + 4 * len(labels))
    first = numpy.where(goes_on, columns.B.start, columns.U.start)
    later = numpy.where(goes_on, columns.I.start, columns.L.start)
    tags = numpy.where(begins, first, later)
    tags[~inside] = MISSING
    tags[~inside & ((iob == IOB_OUTSIDE) | (spaces == 1))] = OUTSIDE
    number_of = {doc.vocab.strings.add(label): number for number, label in enumerate(labels)}
    present = types[inside].tolist()
    _check_labels({doc.vocab.strings[t] for t in present if t not in number_of}, labels)
    tags[inside] += numpy.array([number_of[t] for t in present], dtype="int64")
    return tags


def _check_labels(found: set[str], labels: Sequence[str]) -> None:
    unknown = sorted(found - set(labels))
    if unknown:
        raise ValueError(
            "The examples have entities with labels that the component does not have: "
            f"{', '.join(unknown)}. It was initialized for: {', '.join(labels)}. Add the others "
            "with add_label, or initialize it with all labels of the training data."
        )
