"""Scores with intervals."""

import re
from collections.abc import Sequence

import numpy
import pytest
import spacy
from numpy.testing import assert_allclose
from spacy.language import Language
from spacy.scorer import Scorer
from spacy.tokens import Doc, Span
from spacy.training import Example

from spacy_multihash.corpus.evaluation import KnownEntities, Scores, known_entities, predict
from spacy_multihash.corpus.intervals import f1_interval
from spacy_multihash.corpus.statistics import find_repeats
from spacy_multihash.training.baseline import comparison_table, describe_difference
from spacy_multihash.training.loop import History
from spacy_multihash.training.report import Arm, score_rows
from spacy_multihash.training.scores import (
    SplitScores,
    count_sentences,
    expected_scores,
    score_folds,
    score_predicted,
)
from spacy_multihash.training.texts import TextMistake, score_texts, text_mistakes
from tests.helpers.corpora import make_docs
from tests.helpers.spacy_pipelines import add_rules

KNOWN = KnownEntities({("Anna", "")})


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
    counts = count_sentences(example, KNOWN)
    assert counts.sum(axis=1).tolist() == [[1, 1, 1], [1, 1, 0]]
    assert counts[:, 1].tolist() == [[1, 0, 0], [0, 0, 0]]  # Anna is in train


def test_missing_annotation_counts_neither_way() -> None:
    example = two_sentences([(0, 1, "GPE")])
    example.y.set_ents([], missing=[example.y[0:3]], default="unmodified")
    assert count_sentences(example, KNOWN).sum(axis=1).tolist() == [[0, 0, 0], [0, 0, 1]]


def test_folds_are_scored_together_by_region() -> None:
    rng = numpy.random.default_rng(0)
    counts = rng.integers(0, 4, (60, 2, 3))
    test = SplitScores("regions", 10, {"all": Scores(6)}, None, counts=[(1, 2, 3)])
    scores = score_folds(test, counts.tolist(), [i // 6 for i in range(60)])
    right, spurious, missed = counts.sum((0, 1))
    f1 = 2 * right / (2 * right + spurious + missed)
    assert scores.best is scores.expected and scores.best.f == pytest.approx(f1)
    assert scores.best.entities == right + missed and scores.folds == 5
    assert scores.parts == test.parts and scores.counts == test.counts
    low, high = scores.interval or (0.0, 0.0)
    narrow, wide = f1_interval(counts.reshape(10, 12, 3).sum(1)) or (0.0, 0.0)
    assert low < f1 < high and high - low > 0.9 * (wide - narrow)


def test_groups_of_names_are_units_and_need_no_weights() -> None:
    docs = make_docs(3)
    examples = [Example(doc.copy(), doc) for doc in docs]
    known, repeats = known_entities(docs[:2]), find_repeats(docs)
    groups = [7 * (i // 2) for i in range(12)]
    scores = score_predicted(examples, known, regions=groups, by="words", repeats=repeats)
    assert (scores.unit, scores.units, scores.expected) == ("groups", 6, None)


def arm(name: str, right: int) -> Arm:
    counts = [(1, 0, 0)] * right + [(0, 1, 1)] * (40 - right)
    part = Scores(40, right / 40, right / 40, right / 40)
    scores = {"dev": SplitScores("texts", 40, {"all": part}, f1_interval(counts), counts=counts)}
    return Arm(name, {"patience": name}, scores, History(7), 10**6, 1.0)


@pytest.mark.parametrize(
    ("ours", "said"),
    [
        (15, r"\+0.0 points, without an interval.*no win"),
        (30, r"\+37.5 points.*win for ours"),
        (16, r"\+2.5 points.*no win"),
        (5, "-25.0 points, 95 % interval .*win for spaCy"),
    ],
)
def test_comparison_says_who_wins(ours: int, said: str) -> None:
    arms = [arm("ours", ours), arm("spaCy", 15)]
    assert re.search(said, describe_difference(arms))
    table = comparison_table(arms)
    assert table.header == ("", "ours", "spaCy") and table.rows[0] == ("patience", "ours", "spaCy")
    assert ("training steps", "7", "7") in table.rows


def test_scores_of_entities_are_those_of_spacy() -> None:
    nlp = add_rules(spacy.blank("en"), {"Anna": "PER", "Rome": "PER", "Oslo": "GPE"})
    docs = make_docs()
    examples = [Example(nlp.make_doc(doc.text), doc) for doc in docs]
    predict(nlp, examples)
    scores = score_predicted(examples, known_entities(docs[:2]))
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

    def mistakes_of(**gold: float) -> Sequence[TextMistake]:
        examples = [Example(nlp.make_doc(text), nlp.make_doc(text)) for text in scores]
        for example in examples:
            example.y.cats = gold
        return text_mistakes(nlp, examples).mistakes

    assert mistakes_of(A=1.0, B=0.0) == [(0.9, ["A"], ["B"], "sure"), (0.6, ["A"], ["B"], "unsure")]
    assert mistakes_of(A=1.0, B=1.0) == [  # each lacks a label
        (0.95, ["A", "B"], ["B"], "sure"),
        (0.9, ["A", "B"], ["A"], "right"),
        (0.6, ["A", "B"], ["B"], "unsure"),
    ]


def test_expected_scores_are_those_of_a_test_set_with_that_share_of_seen_entities() -> None:
    seen, unseen = (9, 1, 1), (2, 3, 3)  # 10 and 5 entities of gold
    distant = numpy.array([[1, 4]] * 10)
    scores, interval = expected_scores(numpy.array([[unseen, seen]] * 12), distant)  # equal units
    # As many of both as if a quarter was seen: seen ones count 0.375 times, unseen ones 2.25 times.
    right, spurious, missed = (0.375 * a + 2.25 * b for a, b in zip(seen, unseen, strict=True))
    assert scores.entities == 12 * 15
    assert_allclose((right + missed, 0.375 * 10), (15, 0.25 * 15))
    assert_allclose((scores.p, scores.r), (right / (right + spurious), right / (right + missed)))
    assert_allclose(scores.f, 2 * right / (2 * right + spurious + missed))
    assert interval and scores.f and interval[0] < scores.f < interval[1]


def test_regions_are_units_if_there_are_enough() -> None:
    nlp = add_rules(spacy.blank("en"), {"Anna": "PER"})
    docs = make_docs(3)
    examples = [Example(nlp.make_doc(doc.text), doc) for doc in docs]
    known, repeats = known_entities(docs[:2]), find_repeats(docs)
    regions = [i // 2 for i in range(12)]
    predict(nlp, examples)
    scores = score_predicted(examples, known, regions=regions, repeats=repeats)
    assert (scores.unit, scores.units) == ("regions", 6)
    assert scores.best is scores.expected is not None
    assert [row[0] for row in score_rows({"test": scores})[:2]] == ["new texts", "test"]
    rows = score_rows({"dev": scores, "test": scores})
    assert [row[0] for row in rows if row[-1]] == ["new texts"]
    plain = score_predicted(examples, known, regions=[0] * 12)
    assert (plain.unit, plain.units, plain.expected) == ("documents", 12, None)
    assert plain.best.f == scores.parts["all"].f
