"""Probabilities beside docs: what doc.spans gets, and what becomes of doc.ents."""

from typing import Any

import pytest
from numpy.testing import assert_array_equal
from spacy.tokens import Doc, Span

from spacy_multihash import BatchEntityRecognizer
from tests.helpers.action_sequences import (
    Entity,
    Words,
    all_endings,
    entity_sums,
    make_doc,
    recognizer,
)

WORDS = [Words("abca"), Words(""), Words("cbab"), Words("aab")]


def build(**settings: Any) -> BatchEntityRecognizer:
    return recognizer("AB", seed=13, settings={"spans_key": "found", **settings})


def docs_of(ner: BatchEntityRecognizer) -> list[Doc]:
    return [make_doc(ner, words) for words in WORDS]


def annotated(ner: BatchEntityRecognizer) -> list[Doc]:
    return [*ner.pipe(docs_of(ner), batch_size=3)]


def sums_of(ner: BatchEntityRecognizer, temperature: float = 1.0) -> list[dict[Entity, float]]:
    return [
        entity_sums(all_endings(ner, doc, temperature)) if len(doc) else {} for doc in docs_of(ner)
    ]


def scored(doc: Doc) -> dict[Entity, float]:
    spans = doc.spans["found"]
    keys = [(span.start, span.end, span.label_) for span in spans]
    return dict(zip(keys, spans.attrs["scores"].tolist(), strict=True))


def entities_of(doc: Doc) -> list[Entity]:
    return [(ent.start, ent.end, ent.label_) for ent in doc.ents]


@pytest.mark.parametrize("temperature", [0.5, 1.0])
def test_entities_get_their_probabilities_also_when_they_are_saved(temperature: float) -> None:
    ner = build(temperature=temperature)
    docs = annotated(ner)
    assert sum(len(doc.ents) for doc in docs) > 2
    for doc, sums in zip(docs, sums_of(ner, temperature), strict=True):
        assert list(scored(doc)) == entities_of(doc)
        expected = [sums[key] for key in entities_of(doc)]
        spans = doc.spans["found"]
        assert spans.attrs["scores"].dtype == "float32"
        assert spans.attrs["scores"].tolist() == pytest.approx(expected, abs=1e-4)
        assert spans.attrs["left_out"] == pytest.approx(0, abs=1e-4)
        again = Doc(ner.vocab).from_bytes(doc.to_bytes())
        assert_array_equal(again.spans["found"].attrs["scores"], spans.attrs["scores"])
        assert again.spans["found"].attrs["left_out"] == spans.attrs["left_out"]


def test_greedy_finds_the_same_entities_with_probabilities_and_without() -> None:
    ner = build(temperature=0.3)
    with_scores = [entities_of(doc) for doc in annotated(ner)]
    ner.spans_key = None
    docs = annotated(ner)
    assert [entities_of(doc) for doc in docs] == with_scores
    assert not any("found" in doc.spans for doc in docs)


def test_candidates_are_put_beside_the_entities() -> None:
    ner = build()
    plain = annotated(ner)
    ner.candidates_above = 0.05
    for doc, before, sums in zip(annotated(ner), plain, sums_of(ner), strict=True):
        assert entities_of(doc) == entities_of(before)
        expected = {key for key, value in sums.items() if value >= 0.05} | set(entities_of(doc))
        scores = scored(doc)
        assert set(scores) == expected and len(doc.spans["found"]) == len(expected)
        assert [key[:2] for key in scores] == sorted(key[:2] for key in scores)
        assert list(scores.values()) == pytest.approx([sums[key] for key in scores], abs=1e-4)


def test_entities_that_are_there_are_sure_and_others_are_asked_for_given_them() -> None:
    ner = build(candidates_above=0.01)
    doc = make_doc(ner, Words("abcab"))
    doc.set_ents([Span(doc, 1, 3, label="B"), Span(doc, 3, 4, label="NEW")], default="missing")
    ner(doc)
    scores = scored(doc)
    assert scores.pop((1, 3, "B")) == scores.pop((3, 4, "NEW")) == 1.0
    assert doc.spans["found"].attrs["expected"]["NEW"] == pytest.approx(0, abs=1e-6)
    assert scores and all(end <= 1 or start >= 4 for start, end, _ in scores)
    assert sum(value for (start, _, _), value in scores.items() if start == 4) <= 1


def test_probabilities_are_asked_for_of_any_entities() -> None:
    ner = build()
    sums = sums_of(ner)
    keys = [list(of_doc) for of_doc in sums]  # found or not, in any order, one within another
    asked = ner.score_spans(docs_of(ner), keys)
    assert asked.keys == [(i, key) for i, of_doc in enumerate(keys) for key in of_doc]
    expected = [value for of_doc in sums for value in of_doc.values()]
    assert asked.probabilities(1.0).tolist() == pytest.approx(expected, abs=1e-4)
    assert len(expected) > sum(len(doc.ents) for doc in annotated(ner))


def test_probabilities_are_asked_for_beside_an_entity_with_another_label() -> None:
    ner = build()
    docs = [make_doc(ner, Words("abca")) for _ in range(2)]
    for doc in docs:
        doc.set_ents([Span(doc, 0, 1, "C")], default="missing")
    keys = [[(2, 3, "A")]]
    before = ner.score_spans(docs[:1], keys).probabilities(1.0)
    assert before > 0
    ner.score_spans(docs[1:])  # finds entities
    assert ner.score_spans(docs[:1], keys).probabilities(1.0) == before
