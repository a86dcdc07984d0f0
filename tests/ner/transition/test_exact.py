"""Probabilities beside docs: what doc.spans gets, and what becomes of doc.ents."""

import warnings
from collections.abc import Sequence
from typing import Any

import numpy
import pytest
import spacy
from numpy.testing import assert_array_equal
from spacy.language import Language
from spacy.tokens import Doc, Span

from spacy_multihash.ner.biluo import Entities
from spacy_multihash.ner.transition.component import BatchEntityRecognizer, Prediction
from tests.helpers.action_sequences import (
    Entity,
    Words,
    all_endings,
    entity_sums,
    make_doc,
    recognizer,
)
from tests.helpers.paths import SHARED

WORDS = [Words("abca"), Words(""), Words("cbab"), Words("aab")]
MEDIUM = SHARED / "pipelines" / "en_core_web_md-3.7.1"


def annotated(ner: BatchEntityRecognizer, docs: Sequence[Doc]) -> list[Doc]:
    return [*ner.pipe(docs, batch_size=3)]


def docs_of(nlp: Language) -> list[Doc]:
    return [make_doc(nlp, words) for words in WORDS]


def build(**settings: Any) -> tuple[Language, BatchEntityRecognizer]:
    return recognizer("AB", seed=13, settings={"spans_key": "found", **settings})


def scored(doc: Doc) -> dict[Entity, float]:
    spans = doc.spans["found"]
    keys = [(span.start, span.end, span.label_) for span in spans]
    return dict(zip(keys, spans.attrs["scores"].tolist(), strict=True))


def entities_of(doc: Doc) -> list[Entity]:
    return [(ent.start, ent.end, ent.label_) for ent in doc.ents]


@pytest.mark.parametrize("decoder", ["greedy", "best"])
@pytest.mark.parametrize("temperature", [0.5, 1.0])
def test_entities_get_their_probabilities(decoder: str, temperature: float) -> None:
    nlp, ner = build(decoder=decoder, temperature=temperature)
    docs = annotated(ner, docs_of(nlp))
    assert sum(len(doc.ents) for doc in docs) > 2
    for doc, bare in zip(docs, docs_of(nlp), strict=True):
        assert list(scored(doc)) == entities_of(doc)
        sums = entity_sums(all_endings(ner, bare, temperature))
        expected = [sums[key] for key in entities_of(doc)]
        assert doc.spans["found"].attrs["scores"].dtype == "float32"
        assert list(scored(doc).values()) == pytest.approx(expected, abs=1e-4)
        assert doc.spans["found"].attrs["left_out"] == pytest.approx(0, abs=1e-4)


def test_greedy_finds_the_same_entities_with_probabilities_and_without() -> None:
    nlp, ner = build(temperature=0.3)
    with_scores = [entities_of(doc) for doc in annotated(ner, docs_of(nlp))]
    ner.spans_key = None
    docs = annotated(ner, docs_of(nlp))
    assert [entities_of(doc) for doc in docs] == with_scores
    assert not any("found" in doc.spans for doc in docs)


def test_candidates_are_put_beside_the_entities() -> None:
    nlp, ner = build()
    plain = annotated(ner, docs_of(nlp))
    ner.candidates_above = 0.05
    for doc, before, bare in zip(annotated(ner, docs_of(nlp)), plain, docs_of(nlp), strict=True):
        assert entities_of(doc) == entities_of(before)
        sums = entity_sums(all_endings(ner, bare)) if len(doc) else {}
        expected = {key for key, value in sums.items() if value >= 0.05} | set(entities_of(doc))
        found = scored(doc)
        assert set(found) == expected and len(doc.spans["found"]) == len(expected)
        assert [key[:2] for key in found] == sorted(key[:2] for key in found)
        assert list(found.values()) == pytest.approx([sums[key] for key in found], abs=1e-4)


def test_entities_that_are_there_are_sure_and_others_are_asked_for_given_them() -> None:
    nlp, ner = build(candidates_above=0.01)
    doc = make_doc(nlp, Words("abcab"))
    doc.set_ents([Span(doc, 1, 3, label="B"), Span(doc, 3, 4, label="NEW")], default="missing")
    ner(doc)
    found = scored(doc)
    assert found[1, 3, "B"] == found[3, 4, "NEW"] == 1.0
    assert all(
        end <= 1 or start >= 4 for start, end, _ in set(found) - {(1, 3, "B"), (3, 4, "NEW")}
    )
    assert sum(value for (start, end, _), value in found.items() if start == 4) <= 1


def test_entities_set_by_others_meanwhile_have_no_score() -> None:
    nlp, ner = build()
    doc = make_doc(nlp, Words("abca"))
    prediction = ner.predict([doc])
    assert isinstance(prediction, Prediction)
    doc.set_ents([Span(doc, 0, 4, label="B")])
    none = Entities(*numpy.zeros((3, 0), dtype="int64"))
    ner.set_annotations([doc], prediction._replace(entities=none))
    assert entities_of(doc) == [(0, 4, "B")]
    assert_array_equal(doc.spans["found"].attrs["scores"], [numpy.nan])


def test_docs_without_tokens_have_no_spans() -> None:
    nlp, ner = build(candidates_above=0.5)
    for docs in ([make_doc(nlp, Words(""))], [make_doc(nlp, words) for words in WORDS]):
        empty = next(doc for doc in annotated(ner, docs) if not len(doc))
        assert scored(empty) == {}
        assert empty.spans["found"].attrs["left_out"] == 0


def test_spans_survive_saving() -> None:
    nlp, ner = build(candidates_above=0.05)
    (doc,) = annotated(ner, [make_doc(nlp, Words("abca"))])
    again = Doc(nlp.vocab).from_bytes(doc.to_bytes())
    assert_array_equal(again.spans["found"].attrs["scores"], doc.spans["found"].attrs["scores"])
    assert again.spans["found"].attrs["left_out"] == doc.spans["found"].attrs["left_out"]


@pytest.mark.parametrize("decoder", ["greedy", "best"])
def test_probabilities_are_asked_for_at_any_temperature(decoder: str) -> None:
    nlp, ner = build(decoder=decoder)
    found = ner.score_spans(docs_of(nlp))
    annotated_docs = annotated(ner, docs_of(nlp))
    keys = [(i, key) for i, doc in enumerate(annotated_docs) for key in entities_of(doc)]
    assert found.keys == keys
    for temperature in (0.5, 1.0, 4.0):
        sums = [
            entity_sums(all_endings(ner, doc, temperature)) if len(doc) else {}
            for doc in docs_of(nlp)
        ]
        expected = [sums[i][key] for i, key in keys]
        assert found.probabilities(temperature).tolist() == pytest.approx(expected, abs=1e-4)


def test_probabilities_are_asked_for_of_any_entities() -> None:
    nlp, ner = build()
    sums = [entity_sums(all_endings(ner, doc)) if len(doc) else {} for doc in docs_of(nlp)]
    keys = [list(of_doc) for of_doc in sums]  # found or not, in any order, one within another
    asked = ner.score_spans(docs_of(nlp), keys)
    assert asked.keys == [(i, key) for i, of_doc in enumerate(keys) for key in of_doc]
    expected = [value for of_doc in sums for value in of_doc.values()]
    assert asked.probabilities(1.0).tolist() == pytest.approx(expected, abs=1e-4)
    assert len(expected) > sum(len(doc.ents) for doc in annotated(ner, docs_of(nlp)))


def test_probabilities_are_asked_for_beside_an_entity_with_another_label() -> None:
    nlp, ner = build()
    docs = [make_doc(nlp, Words("abca")) for _ in range(2)]
    for doc in docs:
        doc.set_ents([Span(doc, 0, 1, "C")], default="missing")
    keys = [[(2, 3, "A")]]
    before = ner.score_spans(docs[:1], keys).probabilities(1.0)
    assert before > 0
    ner.score_spans(docs[1:])  # finds entities
    assert ner.score_spans(docs[:1], keys).probabilities(1.0) == before


@pytest.fixture(scope="module")
def medium() -> Language:
    if not MEDIUM.exists():
        pytest.skip("en_core_web_md is not there")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of the version that it was trained with
        return spacy.load(MEDIUM, exclude=["tagger", "parser", "attribute_ruler", "lemmatizer"])


TEXTS = [
    "Apple is looking at buying a U.K. startup for $1 billion, Tim Cook told Reuters on Monday.",
    "Angela Merkel met Barack Obama in Berlin in June 2013 to talk about the NSA.",
    "",
    "my cousin from Springfield lost twenty dollars at the casino lol",
]


@pytest.mark.parametrize("decoder", ["greedy", "best"])
def test_probabilities_of_a_pipeline_of_spacys(medium: Language, decoder: Any) -> None:
    ner: Any = medium.get_pipe("ner")
    ours = BatchEntityRecognizer(
        medium.vocab, ner.model, moves=ner.moves, spans_key="found", candidates_above=1e-4
    )
    ours.decoder = decoder
    with medium.select_pipes(disable=["ner"]):
        docs = [*medium.pipe(TEXTS)]
    expected = [*ner.pipe([doc.copy() for doc in docs])]
    for doc, other in zip(ours.pipe(docs), expected, strict=True):
        if decoder == "greedy":
            assert entities_of(doc) == entities_of(other)
        found = scored(doc)
        assert all(0 < value < 1 for value in found.values())
        assert len(found) > len(doc.ents) or not len(doc)
        # The entities that cover a token exclude each other
        for token in range(len(doc)):
            of_token = sum(v for (start, end, _), v in found.items() if start <= token < end)
            assert of_token < 1 + 1e-5
        assert 0 <= doc.spans["found"].attrs["left_out"] < 1e-3
        for ent in doc.ents:
            assert found[ent.start, ent.end, ent.label_] > 0.1 or decoder == "greedy"
