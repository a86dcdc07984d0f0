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

from spacy_multihash.inspection.unknown import UnknownSymbols, features_of
from spacy_multihash.ner.biluo import Entities
from spacy_multihash.ner.entities import (
    confidences_of,
    constraints_of,
    score_spans,
    set_confidences,
    upstream_of,
)
from tests.helpers.corpora import make_docs
from tests.helpers.recognizers import CONFIGS, trained

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


# Recognizers that are asked about entities, with what they listen to

KEY = (0, 1, "PER")


def listening() -> Language:
    """Train a batch_ner that listens to a tok2vec, behind another one that nobody hears."""
    fix_random_seed(0)
    nlp = spacy.blank("en")
    nlp.add_pipe("tok2vec", "unheard")
    nlp.add_pipe("tok2vec")
    listener = {"@architectures": "spacy.Tok2VecListener.v1", "width": 96, "upstream": "tok2vec"}
    nlp.add_pipe("batch_ner", config={"model": {"hidden_width": 8, "tok2vec": listener}})
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


def test_what_stands_in_for_docs_is_asked_about() -> None:
    nlp = listening()
    doc = nlp.make_doc("Anna met Bob in Rome .")
    features = features_of(nlp.get_pipe("tok2vec").model, nlp.vocab)  # type: ignore[attr-defined]
    everywhere = dict.fromkeys(features.values(), numpy.arange(len(doc)))
    docs: Any = [UnknownSymbols(doc, {}), UnknownSymbols(doc, everywhere)]
    found = score_spans(nlp, "batch_ner", docs, [[KEY], [KEY]])
    assert found[0] == pytest.approx(score_spans(nlp, "batch_ner", [doc.copy()], [[KEY]])[0])
    assert found[1] < found[0] - 0.1
    assert doc.tensor.size == 0
