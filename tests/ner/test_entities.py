"""Entities of docs: constraints, confidences beside docs, and recognizers that are asked."""

from typing import Any

import numpy
import pytest
import spacy
from numpy.testing import assert_allclose, assert_array_equal
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example
from spacy.vocab import Vocab
from thinc.api import fix_random_seed

from spacy_multihash.ner.biluo import Entities
from spacy_multihash.ner.entities import (
    CONSTRAINING,
    SpanProbabilities,
    constraints_of,
    score_spans,
    set_span_probabilities,
    span_probabilities,
    token_attributes,
    upstream_of,
)
from tests.helpers.corpora import make_docs
from tests.helpers.recognizers import CONFIGS, trained
from tests.helpers.sections import listener

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
    listed = [(Entities(*rows.T), probabilities)]
    assert span_probabilities(docs, LABELS, listed).scores == [
        {},
        {(0, 2, "GPE"): 0.5, (2, 3, "PER"): 0.25},
        {},
        {(0, 1, "PER"): 1.0},
        {(1, 4, "GPE"): 0.0},
        {},
    ]
    assert span_probabilities(docs, LABELS).scores == [{}] * 6


def test_entities_get_their_own_scores_and_others_none() -> None:
    doc = make_doc(6, (0, 1, "PER"), (1, 2, "CITY"), (2, 4, "GPE"), (4, 5, "PER"))
    # Of the entities that there are: one, one with another end, and one with another label
    scores = {(2, 4, "GPE"): 0.75, (0, 2, "PER"): 0.5, (4, 5, "GPE"): 0.25}
    probabilities = SpanProbabilities([scores], numpy.ones(1), numpy.ones((1, 2)))
    set_span_probabilities([doc], LABELS, "found", probabilities)
    spans = doc.spans["found"]
    listed = [(0, 1, "PER"), (0, 2, "PER"), (2, 4, "GPE"), (4, 5, "PER"), (4, 5, "GPE")]
    assert [(span.start, span.end, span.label_) for span in spans] == listed
    assert spans.attrs["scores"].dtype == "float32"
    assert_array_equal(spans.attrs["scores"], [numpy.nan, 0.5, 0.75, numpy.nan, 0.25])
    assert (spans.attrs["left_out"], spans.attrs["expected"]) == (1.0, {"GPE": 1.0, "PER": 1.0})


def test_docs_begin_sentences_whatever_is_set() -> None:
    docs = [make_doc(length) for length in (2, 0, 3)]
    for doc in (docs[0], docs[2]):
        doc[0].is_sent_start = False
    constraints = constraints_of(*token_attributes(docs, CONSTRAINING))
    assert constraints.starts.tolist() == [True, False, True, False, False]


# Recognizers that are asked about entities, with what they listen to

KEY = (0, 1, "PER")


def listening() -> Language:
    """Train a batch_ner that listens to a tok2vec, behind another one that nobody hears."""
    fix_random_seed(0)
    nlp = spacy.blank("en")
    nlp.add_pipe("tok2vec", "unheard")
    nlp.add_pipe("tok2vec")
    nlp.add_pipe("batch_ner", config={"model": {"hidden_width": 8, "tok2vec": listener(96)}})
    examples = [Example(nlp.make_doc(" ".join(t.text for t in d)), d) for d in make_docs()]
    sgd = nlp.initialize(lambda: examples)
    for _ in range(20):
        nlp.update(examples, sgd=sgd, losses={})
    return nlp


@pytest.mark.parametrize("factory", CONFIGS)
def test_probabilities_are_those_of_the_pipeline(factory: str) -> None:
    nlp = trained(factory)
    recognizer: Any = nlp.get_pipe(factory)
    recognizer.temperature = 2.0
    recognizer.spans_key = "found"
    docs = [nlp.make_doc(doc.text) for doc in make_docs()]
    expected = []
    keys = []
    for doc in nlp.pipe(doc.text for doc in docs):
        spans = doc.spans["found"]
        keys.append([(span.start, span.end, span.label_) for span in spans])
        expected += spans.attrs["scores"].tolist()
    assert len(expected) > 3
    found = score_spans(nlp, factory, docs, keys)
    assert found.dtype == "float64"
    assert_allclose(found, expected, rtol=1e-5)
    assert upstream_of(nlp, factory) == []
    assert not any(doc.ents or doc.spans for doc in docs)
    assert score_spans(nlp, factory, docs[:2], [[], []]).shape == (0,)


def test_what_a_recognizer_listens_to_is_asked_first() -> None:
    nlp = listening()
    assert upstream_of(nlp, "batch_ner") == [nlp.get_pipe("tok2vec")]
    doc = nlp.make_doc("Anna met Bob in Rome .")
    (known,) = score_spans(nlp, "batch_ner", [doc], [[KEY]])
    assert known > 0.5
    other = nlp.make_doc("xyz met Bob in Rome .")
    assert score_spans(nlp, "batch_ner", [other], [[KEY]]) < known
