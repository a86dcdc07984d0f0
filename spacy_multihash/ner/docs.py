"""Docs and entities: what docs know before, what examples teach, and how results are set."""

from typing import List, Sequence, Set

import numpy
from spacy.attrs import ENT_IOB, ENT_TYPE, IS_SPACE, ORTH, SENT_START
from spacy.tokens import Doc, Span
from spacy.training import Example

from .biluo import MISSING, OUTSIDE, Constraints, Entities, tag_columns, tag_names, tag_numbers


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


def without_entities(constraints: Constraints, docs: List[Doc]) -> Constraints:
    """Take back that tokens of entities get no others; blocked ones still get none."""
    iob_and_type = numpy.concatenate([doc.to_array([ENT_IOB, ENT_TYPE]) for doc in docs])
    return constraints._replace(outside=(iob_and_type == (3, 0)).all(axis=1))


def present_entities(docs: List[Doc], labels: Sequence[str]) -> Entities:
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


def spans_of(docs: List[Doc], entities: Entities, labels: Sequence[str]) -> List[List[Span]]:
    """Make the spans of each doc from entities of the batch, which are in order."""
    lengths = numpy.array([len(doc) for doc in docs], dtype="int64")
    ends = lengths.cumsum()
    begins, bounds = ends - lengths, numpy.searchsorted(entities.starts, ends)
    doc_of = numpy.repeat(numpy.arange(len(docs)), numpy.diff(bounds, prepend=0))
    spans: List[List[Span]] = [[] for _ in docs]
    starts, stops = entities.starts - begins[doc_of], entities.ends - begins[doc_of]
    for i, start, end, label in zip(
        *(column.tolist() for column in (doc_of, starts, stops, entities.labels)), strict=True
    ):
        spans[i].append(Span(docs[i], start, end, label=labels[label]))
    return spans


def set_entities(doc: Doc, spans: List[Span]) -> None:
    """Set entities, leave those that a doc has, and set all other tokens to be outside."""
    if not doc.has_annotation("ENT_IOB"):
        doc.set_ents(spans)
        return
    doc.set_ents(spans, default="unmodified")
    (missing,) = numpy.nonzero(doc.to_array(ENT_IOB) == 0)
    outside = [doc[i : i + 1] for i in missing.tolist()]
    doc.set_ents([], outside=outside, default="unmodified")


# Of Token.ent_iob
_INSIDE, _OUTSIDE, _BEGINS = 1, 2, 3


def gold_tags(examples: Sequence[Example], labels: Sequence[str]) -> numpy.ndarray:
    """Return the tags of all predicted tokens, (N,) int64, `biluo.MISSING` where not known.

    As Example.get_aligned_ner has it: not known is what is missing in the reference, blocked there,
    or does not align. Where both docs have the same tokens, which is usual, tags are read off the
    reference, in less than a tenth of the time.

    Raises ValueError for entities with other labels.
    """
    names = tag_names(labels)
    numbers = {name: number for number, name in enumerate(names)}
    found: List[numpy.ndarray] = [numpy.zeros(0, dtype="int64")]
    for example in examples:
        if same_tokens(example.predicted, example.reference):
            found.append(_read_off(example.reference, labels))
        else:
            tags = example.get_aligned_ner()
            _check_labels({tag[2:] for tag in tags if tag is not None and tag != "O"}, labels)
            found.append(numpy.array(tag_numbers(tags, numbers), dtype="int64"))
    return numpy.concatenate(found)


def same_tokens(doc: Doc, other: Doc) -> bool:
    """Tell whether two docs have the same tokens, whatever the spaces between them."""
    return len(doc) == len(other) and bool((doc.to_array(ORTH) == other.to_array(ORTH)).all())


def _read_off(doc: Doc, labels: Sequence[str]) -> numpy.ndarray:
    """Return the tags of a doc's own entities, (len(doc),) int64."""
    iob, types, spaces = doc.to_array([ENT_IOB, ENT_TYPE, IS_SPACE]).T
    if not iob.any():  # no annotation at all, not even for whitespace
        return numpy.full(len(doc), MISSING)
    begins = iob == _BEGINS
    goes_on = numpy.append(iob[1:] == _INSIDE, False)
    inside = (types != 0) & (begins | (iob == _INSIDE))
    columns = tag_columns(1 + 4 * len(labels))
    first = numpy.where(goes_on, columns.B.start, columns.U.start)
    later = numpy.where(goes_on, columns.I.start, columns.L.start)
    tags = numpy.where(begins, first, later)
    tags[~inside] = MISSING
    tags[~inside & ((iob == _OUTSIDE) | (spaces == 1))] = OUTSIDE
    number_of = {doc.vocab.strings.add(label): number for number, label in enumerate(labels)}
    present = types[inside].tolist()
    _check_labels({doc.vocab.strings[t] for t in present if t not in number_of}, labels)
    tags[inside] += numpy.array([number_of[t] for t in present], dtype="int64")
    return tags


def _check_labels(found: Set[str], labels: Sequence[str]) -> None:
    unknown = sorted(found - set(labels))
    if unknown:
        raise ValueError(
            "The examples have entities with labels that the component does not have: "
            f"{', '.join(unknown)}. It was initialized for: {', '.join(labels)}. Initialize it "
            "with all labels of the training data."
        )
