"""Two pipelines side by side."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy
import pytest
import spacy
from spacy.tokens import Doc, Span

from spacy_multihash.pipelines.compare import Agreement, Difference, compare, compare_docs

NLP = spacy.blank("en")


def agreement(one: Doc, other: Doc) -> Agreement:
    return compare_docs([(one, other)])


def shares(one: Doc, other: Doc) -> Mapping[str, float]:
    kinds = agreement(one, other).kinds
    return {kind: kept.share for kind, kept in kinds.items() if kind != "tokens"}


def make_doc(words: Sequence[str] = ("Anna", "met", "Bob"), **annotation: Any) -> Doc:
    return Doc(NLP.vocab, words=list(words), **annotation)


def test_tokens_that_are_cut_otherwise_have_not_kept_their_values() -> None:
    one = make_doc("abcd", tags=["A", "B", "C", "D"])
    two = make_doc(["a", "b c", "d"], tags=["A", "B", "E"])
    one.set_ents([Span(one, 1, 3, "X")])
    two.set_ents([Span(two, 1, 2, "X")])
    assert shares(one, two) == shares(two, one) == {"TAG": 1 / 4, "entities": 1}
    assert agreement(one, two).kinds["tokens"] == (4, 3, 2, 0.5)
    heads = make_doc("abcd", heads=[3, 3, 3, 3], deps=["x"] * 4)
    merged = make_doc(["a", "b c", "d"], heads=[2, 2, 2], deps=["x"] * 3)
    assert shares(heads, merged)["HEAD"] == 2 / 4


# Each changes one kind of annotation, and nothing else.
PARSE = {"heads": [1, 1, 1], "deps": ["x", "ROOT", "y"]}
CHANGES: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "TAG": ({"tags": ["A", "B", "C"]}, {"tags": ["A", "X", "C"]}),
    "POS": ({"pos": ["NOUN", "VERB", "NOUN"]}, {"pos": ["NOUN", "VERB", "ADJ"]}),
    "MORPH": ({"morphs": ["A=1", "", "B=2"]}, {"morphs": ["A=1", "", "B=3"]}),
    "LEMMA": ({"lemmas": ["a", "b", "c"]}, {"lemmas": ["a", "b", "d"]}),
    "DEP": (PARSE, {"deps": ["x", "ROOT", "z"]}),
    "HEAD": (PARSE, {"heads": [1, 1, 0]}),
    "SENT_START": ({"sent_starts": [True, False, False]}, {"sent_starts": [True, False, True]}),
    "entities": ({"ents": ["B-X", "O", "O"]}, {"ents": ["B-Y", "O", "O"]}),
}


@pytest.mark.parametrize("kind", CHANGES)
def test_change_of_each_kind_is_counted_and_named(kind: str) -> None:
    before, change = CHANGES[kind]
    done = agreement(make_doc(**before), make_doc(**{**before, **change}))
    assert {name for name, kept in done.kinds.items() if kept.share < 1} == {kind}
    assert done.different == 1
    assert [difference.kind for difference in done.differences] == [kind]


def test_ids_groups_classes_scores_and_custom_attributes_are_compared() -> None:
    one, two = make_doc(), make_doc()
    values = [(one, "X", "Q1", "a", 0.5, 0.9), (two, "Y", "Q2", "b", 0.7, 0.8)]
    for doc, label, kb_id, ent_id, score, share in values:
        doc.set_ents([Span(doc, 0, 1, "X", kb_id=kb_id, span_id=ent_id)])
        doc.spans["a"] = [Span(doc, 0, 2, label), Span(doc, 1, 2, "X")]
        doc.spans["a"].attrs["scores"] = numpy.array([0.5, score], dtype="float32")
        doc.cats = {"A": share, "B": 1 - share}
        user_data: dict[Any, Any] = doc.user_data
        user_data["._.", "note", None, None] = kb_id
        user_data["._.", "object", None, None] = object()
    two.spans["b"] = [Span(two, 0, 1, "X")]
    done = agreement(one, two)
    assert {kind: kept.share for kind, kept in done.kinds.items()} == {
        **{"tokens": 1, "entities": 1, "knowledge base ids": 0, "entity ids": 0, "classes": 1},
        **{"spans of a": 1 / 2, "spans of b": 0, "custom note": 0},
    }
    assert done.changes == pytest.approx({"Scores of classes": 0.1, "Scores of spans of a": 0.2})
    assert Difference("knowledge base ids", 1, "Anna", "Q1", "Q2") in done.differences
    assert "Scores of classes change by up to 0.1." in done.notes()


def test_annotations_that_only_the_second_pipeline_makes_are_differences() -> None:
    done = agreement(make_doc(), make_doc(ents=["B-X", "O", "O"]))
    assert done.kinds["entities"] == (0, 1, 0, 0.0)
    assert done.differences == [Difference("entities", 1, "Anna", "", "X")]


def test_the_first_differences_of_each_kind_are_named() -> None:
    docs = (make_doc("abcde", tags=list(tags)) for tags in ("ABCDE", "XXXXX"))
    done = agreement(*docs)
    assert done.different == 5
    shown = [(d.text, d.before, d.after) for d in done.differences]
    assert shown == [("a", "A", "X"), ("b", "B", "X"), ("c", "C", "X")]


def test_attributes_that_a_pipeline_does_not_set_are_left_out() -> None:
    docs = [NLP("Anna"), NLP("Anna met Bob"), NLP("")]
    assert {*compare_docs(zip(docs, docs, strict=True)).kinds} == {"tokens"}


def test_corpus_needs_documents() -> None:
    with pytest.raises(ValueError, match="no documents"):
        compare(NLP, NLP, [])
