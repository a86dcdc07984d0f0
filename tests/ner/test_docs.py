"""Confidences beside docs: each entity has its own, whoever sets it and when."""

import numpy
import pytest
from numpy.testing import assert_array_equal
from spacy.tokens import Doc, Span
from spacy.vocab import Vocab

from spacy_multihash.ner.biluo import Entities
from spacy_multihash.ner.docs import confidences_of, constraints_of, set_confidences

LABELS = ["GPE", "PER"]
VOCAB = Vocab()


def make_doc(length: int, *entities: tuple[int, int, str]) -> Doc:
    doc = Doc(VOCAB, words=["a"] * length)
    doc.set_ents([Span(doc, start, end, label=label) for start, end, label in entities])
    return doc


@pytest.mark.parametrize("order", [[0, 1, 2, 3], [2, 0, 3, 1]])
def test_probabilities_go_to_the_docs_of_their_entities(order: list[int]) -> None:
    docs = [make_doc(length) for length in (0, 3, 0, 1, 4, 0)]
    rows = numpy.array([[0, 2, 0], [2, 3, 1], [3, 4, 1], [5, 8, 0]])[order]
    probabilities = numpy.array([0.5, 0.25, 1.0, 0.0], dtype="float32")[order]
    assert confidences_of(docs, Entities(*rows.T), probabilities, LABELS) == [
        {},
        {(0, 2, "GPE"): 0.5, (2, 3, "PER"): 0.25},
        {},
        {(0, 1, "PER"): 1.0},
        {(1, 4, "GPE"): 0.0},
        {},
    ]
    none = Entities(*numpy.zeros((3, 0), dtype="int64"))
    assert confidences_of(docs, none, probabilities[:0], LABELS) == [{}] * 6


def test_entities_get_their_own_scores_and_others_none() -> None:
    doc = make_doc(6, (0, 1, "PER"), (1, 2, "CITY"), (2, 4, "GPE"), (4, 5, "PER"))
    # Of the entities that there are: one, one with another end, and one with another label
    confidences = {(2, 4, "GPE"): 0.75, (0, 2, "PER"): 0.5, (4, 5, "GPE"): 0.25}
    set_confidences(doc, confidences, LABELS, "found")
    spans = doc.spans["found"]
    assert [(span.start, span.end, span.label_) for span in spans] == [
        (0, 1, "PER"),
        (2, 4, "GPE"),
        (4, 5, "PER"),
    ]
    assert spans.attrs["scores"].dtype == "float32"
    assert_array_equal(spans.attrs["scores"], [numpy.nan, 0.75, numpy.nan])
    doc.set_ents([])
    set_confidences(doc, confidences, LABELS, "found")
    assert len(doc.spans["found"]) == len(doc.spans["found"].attrs["scores"]) == 0


def test_docs_begin_sentences_whatever_is_set() -> None:
    docs = [make_doc(length) for length in (2, 0, 3)]
    for doc in (docs[0], docs[2]):
        doc[0].is_sent_start = False
    assert constraints_of(docs).starts.tolist() == [True, False, True, False, False]
