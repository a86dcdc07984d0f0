"""Explanations, of a recognizer whose log-odds are known sums."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy
import pytest
import spacy
from numpy.testing import assert_allclose
from spacy.attrs import NORM, SHAPE
from spacy.tokens import Doc

from spacy_multihash.corpus.spans import Entity
from spacy_multihash.inspection.effects import EVERYWHERE, IN_ENTITY, measure_effects
from spacy_multihash.inspection.explain import (
    MAX_LOG_ODDS,
    Explained,
    Explanation,
    Key,
    explain_entity,
    log_odds,
)
from spacy_multihash.inspection.mistakes import Mistake
from tests.helpers.corpora import make_docs

NLP = spacy.blank("en")
FEATURES = {"NORM": NORM, "SHAPE": SHAPE}
KEY = (2, 3, "GPE")
WORDS = ["in", "old", "Rome", "and", "Paris", "."]


def weight(doc: Doc, position: int, attr: int) -> float:
    """What a known symbol at a position counts for."""
    return 0.7 * (1 + position) / (2 if attr == SHAPE else 1) * (-1 if position == 3 else 1)


def sigmoid(odds: Any) -> Any:
    return 1 / (1 + numpy.exp(-numpy.asarray(odds, dtype="float64")))


Tempered = Callable[[float], numpy.ndarray]


def tempered(odds: Any) -> Tempered:
    """Give probabilities at any temperature."""
    return lambda factor: sigmoid(numpy.asarray(odds, dtype="float64") / factor)


def ask_sum(docs: Sequence[Doc], keys: Sequence[Sequence[Key]]) -> Tempered:
    """Give the sum of the weights of all known symbols as log-odds, less 0.1 for places."""
    found = []
    for doc, of_doc in zip(docs, keys, strict=True):
        known = numpy.isin(doc.to_array([NORM, SHAPE]), KNOWN)
        value = 2 + sum(
            weight(doc, i, attr) * known[i, column]
            for i in range(len(doc))
            for column, attr in enumerate((NORM, SHAPE))
        )
        found += [value - 0.1 * (label == "GPE") for _, _, label in of_doc]
    return tempered(found)


def make_doc(words: Sequence[str] = WORDS) -> Doc:
    return Doc(NLP.vocab, words=list(words))


KNOWN = numpy.unique(
    numpy.concatenate([doc.to_array([NORM, SHAPE]).ravel() for doc in (make_doc(), *make_docs())])
)
SUM = Explained(ask_sum, FEATURES, draws=1)


def by_known(odds: Callable[[int], float]) -> Explained:
    """A component whose log-odds depend on how many of the tokens 1 and 2 are known."""

    def ask(docs: Sequence[Doc], keys: Sequence[Sequence[Key]]) -> Tempered:
        numbers = [numpy.isin(doc.to_array(NORM)[1:3], KNOWN).sum() for doc in docs]
        return tempered([odds(number) for number in numbers for _ in keys[0]])

    return Explained(ask, {"NORM": NORM}, 1)


def explanation(explained: Explained, window: int = 1) -> Explanation:
    return explain_entity(explained, make_doc(), KEY, predicted=True, window=window)


def test_each_feature_counts_for_what_it_adds() -> None:
    doc = make_doc()
    found = explain_entity(SUM, doc, KEY, predicted=True, window=2)
    assert (found.text, found.label, found.start, found.end) == ("Rome", "GPE", 2, 3)
    assert found.predicted and found.features == ("NORM", "SHAPE")
    assert found.tokens == (0, 1, 2, 3, 4)
    assert found.words == ("in", "old", "Rome", "and", "Paris")
    expected = [[weight(doc, i, attr) for attr in (NORM, SHAPE)] for i in found.tokens]
    assert_allclose(found.by_feature, expected, rtol=1e-6)
    assert_allclose(found.by_token, numpy.sum(expected, axis=1), rtol=1e-6)
    assert found.together == pytest.approx(numpy.sum(expected))
    assert found.completeness == pytest.approx(1)
    (value,) = ask_sum([doc], [[KEY]])(1.0)
    assert found.probability == pytest.approx(value)
    assert sigmoid(found.log_odds) == pytest.approx(value)


def test_strongest_reasons_are_named_and_coloured_most() -> None:
    found = explanation(SUM)  # "and" speaks against the entity
    assert found.strength(found.by_token[-1]) == pytest.approx(0.6) and found.by_token[-1] < 0
    rome = Entity(2, 3, "GPE", "Rome")
    missed = Mistake("missed", 0, rome, None, explanation=found)
    spurious = Mistake("spurious", 0, None, rome, explanation=found)
    assert missed.why == "Why not GPE? and NORM -2.8 · and SHAPE -1.4"
    assert spurious.why.startswith("Why GPE? Rome NORM +2.1 · old NORM +1.4")


def test_a_window_ends_with_the_doc_and_may_be_empty() -> None:
    doc = make_doc()
    found = explain_entity(SUM, doc, (5, 6, "X"), predicted=False, window=2)
    assert found.tokens == (3, 4, 5) and not found.predicted
    found = explain_entity(SUM, doc, (1, 3, "X"), predicted=False, window=0)
    assert found.tokens == (1, 2)


def test_probabilities_next_to_0_and_1_have_log_odds() -> None:
    """What one token adds is told apart where all probabilities look alike."""
    odds = numpy.array([-1e4, -30, -0.5, 20, 30])
    assert_allclose(log_odds(sigmoid(odds.clip(-700)))[1:], odds[1:], rtol=1e-3)
    assert_allclose(log_odds(numpy.array([0.0, 1.0])), [-MAX_LOG_ODDS, MAX_LOG_ODDS])
    found = explanation(by_known(lambda number: 20 + 3 * number))
    assert_allclose(found.by_token, [3, 3, 0], atol=0.01)
    assert found.completeness == pytest.approx(1, abs=0.01)


def test_model_that_is_sure_is_explained_at_a_temperature() -> None:
    """Its probabilities are 1 in floating point, and its scores tell tokens apart."""
    explained = by_known(lambda number: 200 + 32 * number)
    found = explanation(explained)
    assert (found.factor, found.is_exact, found.probability) == (16, True, pytest.approx(1))
    assert_allclose(found.by_token, [2, 2, 0], atol=0.01)
    assert "divided by 16" in found.about
    of_corpus = measure_effects(explained, [(make_doc(), [KEY])])
    assert [effect.mean for effect in of_corpus.effects][0] == pytest.approx(4, abs=0.01)
    assert "divided by 16" in " ".join(of_corpus.notes())


def test_effects_that_no_temperature_shows_are_said_not_to_be_exact() -> None:
    ones = Explained(lambda docs, keys: lambda factor: numpy.ones(len(docs)), {"NORM": NORM}, 1)
    found = explanation(ones)
    assert not found.is_exact and "too sure" in found.about
    assert "too sure" in " ".join(measure_effects(ones, [(make_doc(), [KEY])]).notes())


def test_redundant_tokens_explain_less_than_all() -> None:
    """One of two known words is enough."""
    found = explanation(by_known(bool))
    assert (found.together, found.completeness) == (pytest.approx(1), pytest.approx(0))


def test_log_odds_of_several_unknown_symbols_are_averaged() -> None:
    """An unknown symbol counts for 0 or 1, by its number."""
    asked: list[float] = []

    def ask(docs: Sequence[Doc], keys: Sequence[Sequence[Key]]) -> Tempered:
        symbols = [doc.to_array(NORM)[2] for doc in docs]
        values = [1.0 if symbol in KNOWN else float(symbol % 2) for symbol in symbols]
        asked.extend(v for v, symbol in zip(values, symbols, strict=True) if symbol not in KNOWN)
        return tempered(values)

    found = explanation(Explained(ask, {"NORM": NORM}, 9), window=0)
    assert len(asked) == 27  # of the feature, of the token, and of all together
    assert 0 < sum(asked) < 27
    assert found.by_feature[0][0] == pytest.approx(1 - numpy.mean(asked[:9]))
    assert found.together == found.by_token[0] == found.by_feature[0][0]


def gold(docs: list[Doc]) -> list[tuple[Doc, list[Key]]]:
    return [(doc, [(e.start, e.end, e.label_) for e in doc.ents]) for doc in docs if doc.ents]


def test_effects_are_means_over_the_entities_of_a_label() -> None:
    effects = measure_effects(SUM, gold(make_docs())).effects
    keyed = {(each.label, each.feature, each.where): each for each in effects}
    assert len(keyed) == len(effects) and {label for label, *_ in keyed} == {"GPE", "PER", None}
    for feature, attr in FEATURES.items():
        for where in (EVERYWHERE, IN_ENTITY):
            values = []
            for doc in make_docs():
                own = {i for ent in doc.ents for i in range(ent.start, ent.end)}
                places = own if where == IN_ENTITY else range(len(doc))
                fall = sum(weight(doc, i, attr) for i in places)
                values += [fall for ent in doc.ents if ent.label_ == "PER"]
            each = keyed["PER", feature, where]
            assert each.entities == len(values) == 4
            assert each.mean == pytest.approx(numpy.mean(values))
            assert each.error == pytest.approx(numpy.std(values, ddof=1) / 2)


def test_many_docs_are_asked_about_in_batches() -> None:
    asked: list[Sequence[Doc]] = []

    def ask(docs: Sequence[Doc], keys: Sequence[Sequence[Key]]) -> Tempered:
        asked.append(docs)
        return ask_sum(docs, keys)

    many = measure_effects(Explained(ask, FEATURES, 3), gold(make_docs(30))).effects
    few = measure_effects(SUM, gold(make_docs())).effects
    assert max(map(len, asked)) <= 25 * 13 and sum(map(len, asked)) == 30 * 3 * (1 + 3 * 4)
    assert [each.mean for each in many] == pytest.approx([each.mean for each in few])


@pytest.mark.parametrize(("num_tokens", "expected"), [(3_000, 6), (15_000, 1), (50_000, 1)])
def test_long_docs_are_asked_about_a_few_at_a_time(num_tokens: int, expected: int) -> None:
    sizes = []

    def ask(docs: Sequence[Doc], keys: Sequence[Sequence[Key]]) -> Tempered:
        sizes.append(len(docs))
        return tempered(numpy.zeros(len(docs)))

    doc = make_doc(WORDS * (num_tokens // 6))
    found = explain_entity(Explained(ask, FEATURES, 1), doc, KEY, predicted=True, window=1)
    assert max(sizes) == expected and sum(sizes) == 1 + 3 * 3 + 1
    assert found.by_token == (0, 0, 0)
    assert found.together == 0 and found.completeness is None
