"""Tags of entities: which may follow each other, and gold tags, against spaCy's own alignment."""

from collections.abc import Sequence
from itertools import pairwise

import numpy
import pytest
import spacy
from hypothesis import example, given
from hypothesis import strategies as st
from spacy.attrs import ENT_IOB, ENT_TYPE
from spacy.tokens import Doc, Span
from spacy.training import Example

from spacy_multihash.ner.biluo import MISSING, are_entities, entities_of, tag_names
from spacy_multihash.ner.gold import gold_tags, same_tokens
from tests.helpers.transition_training import KNOWN, LABELS, VOCAB, annotate, draw_text

NAMES = ["GPE", "ORG", "PERSON"]


def follows(before: str, after: str) -> bool:
    """Tell from the names of two tags whether one may follow the other."""
    if before[0] in "BI":
        return after in (f"I{before[1:]}", f"L{before[1:]}")
    return after[0] in "OBU"


def test_tags_are_named_kind_by_kind() -> None:
    assert tag_names(["A", "B"]) == ["O", "B-A", "B-B", "I-A", "I-B", "L-A", "L-B", "U-A", "U-B"]


@given(st.lists(st.lists(st.integers(-2, 5), max_size=3), max_size=3), st.booleans())
@example([[1], [3]], True)  # from the end of a doc to the beginning of the next
@example([[0, 4], [], [1, 2, 3]], True)
def test_tags_are_entities_if_they_follow_from_end_to_end_of_each_doc(
    docs: list[list[int]], all_known: bool
) -> None:
    if all_known:
        docs = [[max(0, min(tag, 4)) for tag in doc] for doc in docs]
    names = tag_names(NAMES[:1])
    expected = all(
        all(0 <= tag < 5 for tag in doc)
        and all(follows(*pair) for pair in pairwise(["O", *(names[tag] for tag in doc), "O"]))
        for doc in docs
    )
    flat = numpy.array([tag for doc in docs for tag in doc], dtype="int64")
    assert are_entities(flat, numpy.array([len(doc) for doc in docs], dtype="int64"), 5) == expected


def test_entities_are_read_off_tags() -> None:
    names = ["U-ORG", "O", "B-GPE", "I-GPE", "L-GPE", "B-PERSON", "L-PERSON", "U-GPE", "O"]
    numbers = {name: number for number, name in enumerate(tag_names(NAMES))}
    tags = numpy.array([numbers[name] for name in names])
    found = numpy.array(entities_of(tags, len(numbers))).T.tolist()
    assert found == [[0, 1, 1], [2, 5, 0], [5, 7, 2], [7, 8, 0]]


def by_alignment(examples: Sequence[Example], labels: Sequence[str]) -> list[int]:
    numbers = {None: MISSING, **{name: i for i, name in enumerate(tag_names(labels))}}
    return [numbers[name] for eg in examples for name in eg.get_aligned_ner()]


@st.composite
def reference_docs(draw: st.DrawFn) -> Doc:
    words, spaces = draw_text(draw, with_spaces=True)
    doc = Doc(VOCAB, words=words, spaces=spaces)
    annotate(draw, doc, [*LABELS, *KNOWN])
    return doc


@given(st.lists(reference_docs(), max_size=3))
def test_tags_are_those_of_spacys_alignment(references: list[Doc]) -> None:
    examples = [Example(Doc(VOCAB, words=[token.text for token in doc]), doc) for doc in references]
    found = gold_tags(examples, LABELS)
    assert found.dtype == "int64"
    assert found.tolist() == by_alignment(examples, LABELS)


def test_tokens_that_do_not_align_are_not_known_and_others_have_those_of_their_text() -> None:
    reference = Doc(VOCAB, words=["New York", "is", "old"], spaces=[True, True, False])
    reference.set_ents([Span(reference, 0, 1, label="B")])
    other, same_text = (
        Example(Doc(VOCAB, words=words), reference)
        for words in (["New", "York is", "old"], ["New", "York", "is", "old"])
    )
    assert not same_tokens(other.predicted, reference)
    assert gold_tags([other], LABELS).tolist() == by_alignment([other], LABELS)
    assert MISSING in gold_tags([other], LABELS)
    names = [tag_names(LABELS)[n] for n in gold_tags([same_text], LABELS)]
    assert names == ["B-B", "L-B", "O", "O"]


@pytest.mark.parametrize("words", [["Rome", "is", "old"], ["Rome", "is old"]])
def test_unknown_labels_are_refused_in_either_way(words: list[str]) -> None:
    reference = Doc(VOCAB, words=["Rome", "is", "old"])
    reference.set_ents([Span(reference, 0, 1, label="GPE")])
    examples = [Example(Doc(VOCAB, words=words), reference)]
    with pytest.raises(ValueError, match="does not have: GPE. It was initialized for: A, B, C"):
        gold_tags(examples, LABELS)


def test_references_may_have_different_vocabs() -> None:
    vocabs = [spacy.blank("en").vocab for _ in range(2)]
    examples = []
    for vocab, label in zip(vocabs, ("AAAA", "BBBB"), strict=True):
        doc = Doc(vocab, words=["Rome"], ents=[f"B-{label}"])
        examples.append(Example(Doc(vocab, words=["Rome"]), doc))
    labels = ["AAAA", "BBBB"]
    assert gold_tags(examples, labels).tolist() == by_alignment(examples, labels)
    with pytest.raises(ValueError, match="does not have: BBBB"):
        gold_tags(examples, ["AAAA"])


def test_entities_end_with_their_docs_whatever_the_next_begins_with() -> None:
    docs = [Doc(VOCAB, words=["a"], ents=["B-A"]) for _ in range(2)]
    docs[1].from_array([ENT_IOB, ENT_TYPE], numpy.array([[1, VOCAB.strings["A"]]], dtype="uint64"))
    assert docs[1].to_array(ENT_IOB).tolist() == [1]
    tags = gold_tags([Example(doc.copy(), doc) for doc in docs], LABELS)
    assert tags[:1].tolist() == by_alignment([Example(docs[0].copy(), docs[0])], LABELS)
