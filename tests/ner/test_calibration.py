"""How true probabilities of entities are, and the temperature that makes them truer."""

import math

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example

from spacy_multihash.ner.calibration import (
    HIGHEST,
    LOWEST,
    Judged,
    best_temperature,
    compare,
    expected_calibration_error,
    fit_temperature,
    is_at_edge,
    judge_entities,
    log_loss,
    quality_of,
    reliability,
)
from spacy_multihash.ner.settings import check_temperature
from tests.helpers import worker_pipes  # noqa: F401 (it registers components)
from tests.helpers.corpora import make_docs
from tests.helpers.recognizers import CONFIGS, trained, wrong_docs

ENTITIES = st.lists(st.tuples(st.floats(0, 1), st.booleans()), min_size=1, max_size=50)


def by_loop(entities: list[tuple[float, bool]], bins: int) -> float:
    """The expected calibration error, range by range (Guo et al. 2017, eq. 3)."""
    error = 0.0
    for b in range(bins):
        inside = [(p, y) for p, y in entities if min(int(p * bins), bins - 1) == b]
        if inside:
            mean = sum(p for p, _ in inside) / len(inside)
            share = sum(y for _, y in inside) / len(inside)
            error += len(inside) / len(entities) * abs(mean - share)
    return error


@given(ENTITIES, st.integers(2, 20))
def test_error_is_the_mean_distance_over_ranges(
    entities: list[tuple[float, bool]], bins: int
) -> None:
    p, right = (numpy.array(column) for column in zip(*entities, strict=True))
    assert_allclose(expected_calibration_error(p, right, bins), by_loop(entities, bins), atol=1e-9)
    found = reliability(p, right, bins)
    assert sum(one.entities for one in found) == len(entities)
    assert all(0 <= one.share <= 1 and one.entities for one in found)


def test_log_loss_is_that_of_independent_entities_and_finite_at_the_edges() -> None:
    p, right = numpy.array([0.8, 0.3]), numpy.array([True, False])
    assert_allclose(log_loss(p, right), -(math.log(0.8) + math.log(0.7)) / 2)
    assert 10 < log_loss(numpy.array([0.0]), numpy.array([True])) < 20


def test_quality_has_precision_error_and_loss() -> None:
    p, right = numpy.array([0.9, 0.9, 0.4]), numpy.array([True, False, False])
    quality = quality_of(p, right)
    assert quality.entities == 3
    assert_allclose([quality.share, quality.error], [1 / 3, 0.4])
    assert quality.loss == log_loss(p, right)


def test_error_of_no_entities_is_not_a_number() -> None:
    nothing = numpy.zeros(0)
    assert math.isnan(expected_calibration_error(nothing, nothing.astype(bool)))


@pytest.mark.parametrize("truth", [0.5, 1.0, 2.5])
def test_fitted_temperature_is_the_one_that_the_data_were_drawn_with(truth: float) -> None:
    rng = numpy.random.default_rng(0)
    logits = rng.normal(0, 3, 20_000)

    def probabilities(temperature: float) -> numpy.ndarray:
        return 1 / (1 + numpy.exp(-logits / temperature))

    right = rng.random(len(logits)) < probabilities(truth)
    assert_allclose(fit_temperature(probabilities, right), truth, rtol=0.05)


def test_temperature_of_a_model_that_is_always_right_is_the_lowest() -> None:
    found = fit_temperature(
        lambda t: numpy.full(5, 1 / (1 + math.exp(-1 / t))), numpy.ones(5, dtype=bool)
    )
    assert LOWEST <= found < 2 * LOWEST
    assert found < HIGHEST


@pytest.mark.parametrize("value", [0, -1.0, math.inf, math.nan, "1", True, None])
def test_other_values_than_numbers_above_0_are_refused(value: object) -> None:
    with pytest.raises(ValueError, match='Component "x": temperature must be a number above 0'):
        check_temperature('Component "x"', value)


def test_temperatures_near_the_ends_of_the_range_are_no_results() -> None:
    at_edge = [0.01, LOWEST, 0.0504, 19.9, HIGHEST, 100.0]
    assert all(map(is_at_edge, at_edge))
    assert not any(map(is_at_edge, [0.06, 1.0, 19.0]))


@pytest.mark.parametrize("factory", CONFIGS)
def test_labels_of_both_sides_are_taken_for_others(factory: str) -> None:
    nlp = trained(factory)
    docs = make_docs()
    for doc in docs:  # of another corpus, with labels of its own and no names of places
        people = [ent for ent in doc.ents if ent.label_ == "PER"]
        doc.set_ents([])
        nlp.vocab.strings.add("person")
        doc.ents = [(doc.vocab.strings.add("person"), ent.start, ent.end) for ent in people]
    examples = [Example(nlp.make_doc(doc.text), doc) for doc in docs]
    found = judge_entities(nlp, factory, examples, {"PER": "human", "person": "human"})
    assert found.labels.tolist() == ["human"] * 4  # Rome and Oslo do not count
    assert found.right.all()
    assert found.probabilities(1.0).shape == (4,)


def test_labels_that_both_sides_share_count_as_they_are() -> None:
    nlp = trained("tagger_ner")
    examples = [Example(nlp.make_doc(doc.text), doc) for doc in make_docs()]
    found = judge_entities(nlp, "tagger_ner", examples)
    assert sorted(found.labels.tolist()) == ["GPE"] * 3 + ["PER"] * 4


def test_labels_of_which_none_counts_are_refused() -> None:
    nlp = trained("tagger_ner")
    examples = [Example(nlp.make_doc(doc.text), doc) for doc in make_docs()]
    with pytest.raises(ValueError, match=r'Component "tagger_ner" finds no entity'):
        judge_entities(nlp, "tagger_ner", examples, {"ORG": "ORG"})


def test_comparison_adds_up_over_labels_and_bins() -> None:
    nlp = trained("batch_ner")
    examples = [Example(nlp.make_doc(doc.text), doc) for doc in wrong_docs()]
    judged = judge_entities(nlp, "batch_ner", examples)
    found = compare(judged, best_temperature(judged))
    assert found.former == 1.0
    assert sum(old.entities for old, _ in found.labels.values()) == found.before.entities
    numpy.testing.assert_allclose(
        sum(one.share * one.entities for one in found.bins_after), judged.right.sum()
    )


def test_docs_that_a_component_fails_at_are_left_out() -> None:
    @Language.component("fails_at_anna_met")
    def fail(doc: Doc) -> Doc:
        if doc.text.startswith("Anna met"):
            raise ValueError("no")
        return doc

    nlp = trained("tagger_ner")
    nlp.add_pipe("fails_at_anna_met", first=True)
    nlp.set_error_handler(lambda *error: None)
    examples = [Example(nlp.make_doc(doc.text), doc) for doc in make_docs()]
    found = judge_entities(nlp, "tagger_ner", examples)
    assert len(found.right) == 4  # those of the first doc are not there
    assert found.right.all()


def test_entities_on_tokens_that_do_not_align_do_not_count() -> None:
    nlp = trained("tagger_ner")
    gold = Doc(nlp.vocab, words=["An", "na", "likes", "Oslo", "."], spaces=[False] + [True] * 4)
    gold.set_ents([Span(gold, 3, 4, label="GPE")], missing=[gold[1:2]], default="outside")
    predicted = Doc(nlp.vocab, words=["Anna", "likes", "Oslo", "."])
    found = judge_entities(nlp, "tagger_ner", [Example(predicted, gold)])
    assert found.labels.tolist() == ["GPE"]


@pytest.mark.parametrize(("right", "many"), [(True, "all"), (False, "none")])
def test_no_temperature_is_best_where_all_are_right_or_none(right: bool, many: str) -> None:
    judged = Judged("x", 1.0, numpy.full(3, right), numpy.full(3, "PER"), lambda _: numpy.ones(3))
    with pytest.raises(ValueError, match=f'"x": {many} of the 3 .* right, .* a larger dev corpus'):
        best_temperature(judged)


def with_spaces(nlp: Language) -> list[Example]:
    docs = make_docs()
    texts = [f"  {doc.text}" for doc in docs]
    return [Example(nlp.make_doc(text), doc) for text, doc in zip(texts, docs, strict=True)]


def test_docs_that_a_component_made_are_judged() -> None:
    nlp = trained("tagger_ner")
    nlp.add_pipe("strips_spaces_for_tests", first=True)
    found = judge_entities(nlp, "tagger_ner", with_spaces(nlp))
    assert len(found.right) == 7 and found.right.all()


def test_docs_that_a_component_made_beside_left_out_ones_are_refused() -> None:
    nlp = trained("tagger_ner")
    nlp.add_pipe("fails_at_bob_for_tests", first=True)
    nlp.add_pipe("strips_spaces_for_tests", first=True)
    nlp.set_error_handler(lambda *error: None)
    with pytest.raises(ValueError, match="another doc than it was given, and left out were [1-9]"):
        judge_entities(nlp, "tagger_ner", with_spaces(nlp))
