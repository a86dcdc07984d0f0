"""How true probabilities of entities are, and the temperature that makes them truer."""

import math
from collections.abc import Callable
from typing import Any

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
    expected_calibration_error,
    fit_temperature,
    is_at_edge,
    judge_entities,
    log_loss,
    quality_of,
    reliability,
)
from tests.helpers import worker_pipes  # noqa: F401 (it registers components)
from tests.helpers.corpora import make_docs
from tests.helpers.recognizers import trained

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
    ranges = reliability(p, right, bins)
    assert sum(of_range.entities for of_range in ranges) == len(entities)
    assert all(0 <= of_range.share <= 1 and of_range.entities for of_range in ranges)


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


@pytest.mark.parametrize("truth", [0.5, 1.0, 2.5])
def test_fitted_temperature_is_the_one_that_the_data_were_drawn_with(truth: float) -> None:
    rng = numpy.random.default_rng(0)
    logits = rng.normal(0, 3, 20_000)

    def probabilities(temperature: float) -> numpy.ndarray:
        return 1 / (1 + numpy.exp(-logits / temperature))

    right = rng.random(len(logits)) < probabilities(truth)
    assert_allclose(fit_temperature(probabilities, right), truth, rtol=0.05)


def test_temperature_of_a_model_that_is_always_right_is_the_lowest_which_is_no_result() -> None:
    right = numpy.ones(5, dtype=bool)
    fitted = fit_temperature(lambda t: numpy.full(5, 1 / (1 + math.exp(-1 / t))), right)
    assert LOWEST <= fitted < 2 * LOWEST
    assert all(map(is_at_edge, [fitted, 0.01, LOWEST, 0.0504, 19.9, HIGHEST, 100.0]))
    assert not any(map(is_at_edge, [0.06, 1.0, 19.0]))


@pytest.fixture(scope="module")
def nlp() -> Language:
    return trained("tagger_ner")


def examples_of(nlp: Language, spaces: str = "") -> list[Example]:
    return [Example(nlp.make_doc(f"{spaces}{doc.text}"), doc) for doc in make_docs()]


def test_entities_count_by_label(nlp: Language) -> None:
    judged = judge_entities(nlp, "tagger_ner", examples_of(nlp))
    assert sorted(judged.labels.tolist()) == ["GPE"] * 3 + ["PER"] * 4


def test_entities_on_tokens_that_do_not_align_do_not_count(nlp: Language) -> None:
    gold = Doc(nlp.vocab, words=["An", "na", "likes", "Oslo", "."], spaces=[False] + [True] * 4)
    gold.set_ents([Span(gold, 3, 4, label="GPE")], missing=[gold[1:2]], default="outside")
    predicted = Doc(nlp.vocab, words=["Anna", "likes", "Oslo", "."])
    judged = judge_entities(nlp, "tagger_ner", [Example(predicted, gold)])
    assert judged.labels.tolist() == ["GPE"]


def with_pipes(*names: str) -> Language:
    """Put components in front of a recognizer; the docs that one fails at are left out."""
    nlp = trained("tagger_ner")
    for name in reversed(names):
        nlp.add_pipe(name, first=True)
    nlp.set_error_handler(lambda *error: None)
    return nlp


@pytest.mark.parametrize(
    ("pipe", "number"), [("strips_spaces_for_tests", 7), ("fails_at_bob_for_tests", 2)]
)
def test_docs_that_a_component_made_are_judged_and_those_that_it_fails_at_are_left_out(
    pipe: str, number: int
) -> None:
    nlp = with_pipes(pipe)
    judged = judge_entities(nlp, "tagger_ner", examples_of(nlp, "  " * (number == 7)))
    assert len(judged.right) == number and judged.right.all()


def test_entities_that_other_components_set_do_not_count() -> None:
    nlp = trained("batch_ner")
    before = judge_entities(nlp, "batch_ner", examples_of(nlp))
    ruler: Any = nlp.add_pipe("entity_ruler", first=True)
    ruler.add_patterns([{"label": "PER", "pattern": "Bob"}])
    judged = judge_entities(nlp, "batch_ner", examples_of(nlp))
    set_by_ruler = sum(doc.text.count("Bob") for doc in make_docs())
    assert len(judged.right) == len(before.right) - set_by_ruler < len(before.right)


def judge_without_gold() -> None:
    nlp = trained("tagger_ner")
    judge_entities(nlp, "tagger_ner", [Example(nlp.make_doc("Anna"), nlp.make_doc("Anna"))])


def judge_made_and_left_out() -> None:
    nlp = with_pipes("strips_spaces_for_tests", "fails_at_bob_for_tests")
    judge_entities(nlp, "tagger_ner", examples_of(nlp, "  "))


def best_of(right: bool) -> None:
    judged = Judged("x", 1.0, numpy.full(3, right), numpy.full(3, "PER"), lambda _: numpy.ones(3))
    best_temperature(judged)


REFUSED: list[tuple[Callable[[], None], str]] = [
    (judge_without_gold, 'Component "tagger_ner" finds no entity'),
    (judge_made_and_left_out, "another doc than it was given, and left out [1-9]"),
    (lambda: best_of(True), "All 3 entities .* are right, .* a larger dev corpus"),
    (lambda: best_of(False), "None of the 3 entities .* are right, .* a larger dev corpus"),
]


@pytest.mark.parametrize(("do", "message"), REFUSED)
def test_refusals(do: Callable[[], None], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        do()
