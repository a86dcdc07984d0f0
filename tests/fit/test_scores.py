"""Scores with intervals."""

import numpy
import pytest
import spacy
from numpy.testing import assert_allclose
from spacy.language import Language
from spacy.scorer import Scorer
from spacy.tokens import Doc, Span
from spacy.training import Example

from spacy_multihash.corpus.evaluation import Scores, known_entities
from spacy_multihash.fit.report import score_rows
from spacy_multihash.fit.scores import (
    SplitScores,
    TextMistake,
    count_sentences,
    f1_interval,
    score_entities,
    score_texts,
    text_mistakes,
)
from tests.helpers.corpora import make_docs


def two_sentences(found: list[tuple[int, int, str]], *, starts: bool = True) -> Example:
    words = "Anna met Bob . He left Rome .".split()
    ents = ["B-PER", "O", "B-PER", "O", "O", "O", "B-GPE", "O"]
    vocab = spacy.blank("en").vocab
    sent_starts = [i in (0, 4) for i in range(8)] if starts else None
    gold = Doc(vocab, words=words, ents=ents, sent_starts=sent_starts)
    doc = Doc(vocab, words=words)
    doc.ents = [Span(doc, *ent) for ent in found]
    return Example(doc, gold)


def test_entities_are_counted_by_the_sentence_they_begin_in() -> None:
    example = two_sentences([(0, 1, "PER"), (2, 3, "GPE"), (5, 6, "PER"), (6, 7, "GPE")])
    assert count_sentences(example) == [(1, 1, 1), (1, 1, 0)]


def test_doc_without_sentences_is_counted_as_one() -> None:
    assert count_sentences(two_sentences([(0, 1, "PER")], starts=False)) == [(1, 0, 2)]


def test_missing_annotation_counts_neither_way() -> None:
    example = two_sentences([(0, 1, "GPE")])
    example.y.set_ents([], missing=[example.y[0:3]], default="unmodified")
    assert count_sentences(example) == [(0, 0, 0), (0, 0, 1)]


def test_interval_is_where_other_draws_would_be() -> None:
    rng = numpy.random.default_rng(1)

    def draw(units: int) -> numpy.ndarray:
        right = rng.random(units) < 0.7
        return numpy.stack([right, ~right, ~right], axis=1).astype(int)

    low, high = f1_interval([tuple(row) for row in draw(400).tolist()]) or (0.0, 0.0)
    others = [draw(400)[:, 0].mean() for _ in range(2000)]
    assert_allclose(high - low, numpy.subtract(*numpy.percentile(others, [97.5, 2.5])), rtol=0.15)
    assert low < 0.7 < high


@pytest.mark.parametrize("counts", [(0, 0, 0), (2, 0, 0)])
def test_interval_without_width_is_none(counts: tuple[int, int, int]) -> None:
    assert f1_interval([counts] * 3) is None
    perfect = SplitScores("texts", 3, {"all": Scores(6)}, None)
    assert score_rows({"dev": perfect})[0][-1] == "-"


def test_scores_of_entities_are_those_of_spacy() -> None:
    nlp = spacy.blank("en")
    ruler = nlp.add_pipe("entity_ruler")
    patterns = {"Anna": "PER", "Rome": "PER", "Oslo": "GPE"}
    ruler.add_patterns([{"label": v, "pattern": k} for k, v in patterns.items()])  # type: ignore[attr-defined]
    docs = make_docs()
    examples = [Example(nlp.make_doc(doc.text), doc) for doc in docs]
    scores = score_entities(nlp, examples, known_entities(docs[:2]))
    expected = Scorer.score_spans(examples, "ents")
    assert (scores.unit, scores.units) == ("documents", 4)
    assert scores.parts["all"].f == expected["ents_f"]
    assert {name: part.entities for name, part in scores.parts.items()} == {
        "all": 7,
        "seen": 6,
        "unseen": 1,
    }
    assert scores.interval and scores.interval[0] <= expected["ents_f"] <= scores.interval[1]


@pytest.mark.parametrize("exclusive", [True, False])
def test_scores_of_texts_are_those_of_spacy(exclusive: bool) -> None:
    nlp = spacy.blank("en")
    name = "textcat" if exclusive else "textcat_multilabel"
    pipe = nlp.add_pipe(name)
    docs = make_docs(3)
    for i, doc in enumerate(docs):
        doc.cats = {"A": float(i % 3 == 0), "B": float(i % 3 > 0), "C": float(not exclusive)}
    examples = [Example(nlp.make_doc(doc.text), doc) for doc in docs]
    nlp.initialize(lambda: examples)
    scores = score_texts(nlp, examples)
    expected = pipe.score(examples, threshold=0.0 if exclusive else 0.5)  # type: ignore[attr-defined]
    assert_allclose(scores.parts["all"].f, expected["cats_micro_f"])
    for label, of_label in scores.parts["all"].per_label.items():
        assert_allclose(of_label.f, expected["cats_f_per_type"][label]["f"])


def test_mistakes_of_texts_are_wrong_labels_the_most_confident_first() -> None:
    nlp = spacy.blank("en")
    scores = {
        "right": {"A": 0.9, "B": 0.1},
        "unsure": {"A": 0.4, "B": 0.6},
        "sure": {"A": 0.05, "B": 0.9},
    }

    @Language.component("scores_for_tests")
    def give(doc: Doc) -> Doc:
        doc.cats = scores[doc.text]
        return doc

    nlp.add_pipe("scores_for_tests")

    def mistakes_of(**gold: float) -> list[TextMistake]:
        examples = [Example(nlp.make_doc(text), nlp.make_doc(text)) for text in scores]
        for example in examples:
            example.y.cats = gold
        return text_mistakes(nlp, examples)

    assert mistakes_of(A=1.0, B=0.0) == [(0.9, ["A"], ["B"], "sure"), (0.6, ["A"], ["B"], "unsure")]
    assert mistakes_of(A=1.0, B=1.0) == [  # each lacks a label
        (0.95, ["A", "B"], ["B"], "sure"),
        (0.9, ["A", "B"], ["A"], "right"),
        (0.6, ["A", "B"], ["B"], "unsure"),
    ]
