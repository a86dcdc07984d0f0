"""How true probabilities of entities are, and the temperature that makes them truer."""

import math
import sys
from collections.abc import Callable
from pathlib import Path

import numpy
import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example

from spacy_multihash.ner.calibration import (
    LOWEST,
    Judged,
    best_temperature,
    calibrate,
    find_recognizer,
    fit_temperature,
    judge_entities,
    log_loss,
    quality_of,
    reliability,
)
from tests.helpers import worker_pipes  # noqa: F401 (it registers components)
from tests.helpers.corpora import make_docs, write_corpus
from tests.helpers.recognizers import CONFIGS, trained, wrong_docs
from tests.helpers.spacy_pipelines import add_rules

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
    quality = quality_of(p, right, bins)
    assert_allclose(quality.error, by_loop(entities, bins), atol=1e-9)
    assert_allclose([quality.share, quality.loss], [right.mean(), log_loss(p, right)])
    ranges = reliability(p, right, bins)
    assert sum(of_range.entities for of_range in ranges) == len(entities)
    assert all(0 <= of_range.share <= 1 and of_range.entities for of_range in ranges)


def test_log_loss_is_that_of_independent_entities_and_finite_at_the_edges() -> None:
    p, right = numpy.array([0.8, 0.3]), numpy.array([True, False])
    assert_allclose(log_loss(p, right), -(math.log(0.8) + math.log(0.7)) / 2)
    assert 10 < log_loss(numpy.array([0.0]), numpy.array([True])) < 20


@pytest.mark.parametrize("truth", [0.5, 1.0, 2.5])
def test_fitted_temperature_is_the_one_that_the_data_were_drawn_with(truth: float) -> None:
    rng = numpy.random.default_rng(0)
    logits = rng.normal(0, 3, 20_000)

    def probabilities(temperature: float) -> numpy.ndarray:
        return 1 / (1 + numpy.exp(-logits / temperature))

    right = rng.random(len(logits)) < probabilities(truth)
    assert_allclose(fit_temperature(probabilities, right), truth, rtol=0.05)


def test_temperature_of_a_model_that_is_always_right_is_the_lowest() -> None:
    right = numpy.ones(5, dtype=bool)
    fitted = fit_temperature(lambda t: numpy.full(5, 1 / (1 + math.exp(-1 / t))), right)
    assert LOWEST <= fitted < 2 * LOWEST


@pytest.fixture(scope="module")
def nlp() -> Language:
    return trained("tagger_ner")


def examples_of(nlp: Language, spaces: str = "") -> list[Example]:
    return [Example(nlp.make_doc(f"{spaces}{doc.text}"), doc) for doc in make_docs()]


def test_entities_on_tokens_that_do_not_align_do_not_count(nlp: Language) -> None:
    gold = Doc(nlp.vocab, words=["An", "na", "likes", "Oslo", "."], spaces=[False] + [True] * 4)
    gold.set_ents([Span(gold, 3, 4, label="GPE")], missing=[gold[1:2]], default="outside")
    predicted = Doc(nlp.vocab, words=["Anna", "likes", "Oslo", "."])
    judged = judge_entities(nlp, "tagger_ner", [Example(predicted, gold)])
    assert judged.labels.tolist() == ["GPE"]
    aligned = judge_entities(nlp, "tagger_ner", examples_of(nlp))
    assert sorted(aligned.labels.tolist()) == ["GPE"] * 3 + ["PER"] * 4


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
    add_rules(nlp, {"Bob": "PER"}, first=True)
    judged = judge_entities(nlp, "batch_ner", examples_of(nlp))
    set_by_ruler = sum(doc.text.count("Bob") for doc in make_docs())
    assert len(judged.right) == len(before.right) - set_by_ruler < len(before.right)


@pytest.mark.parametrize("factory", CONFIGS)
def test_pipeline_gets_the_temperature_of_the_lowest_loss(
    factory: str, recognizer: Callable[[str], Path], tmp_path: Path
) -> None:
    write_corpus(tmp_path / "dev.spacy", wrong_docs())
    done = calibrate(recognizer(factory), tmp_path / "dev.spacy", tmp_path / "out", bins=5)
    assert done.before.share == 0.75
    assert done.temperature > 1.2  # the pipeline is too sure
    assert done.after.loss < done.before.loss and done.after.error < done.before.error
    assert {"PER", "GPE"} <= {*done.labels}
    assert sum(c.before.entities for c in done.labels.values()) == done.before.entities
    former, nlp = spacy.load(recognizer(factory)), spacy.load(tmp_path / "out")
    for doc in make_docs():
        ents = [[(e.start, e.end, e.label_) for e in p(doc.text).ents] for p in (former, nlp)]
        assert ents[0] == ents[1]
    group = nlp(make_docs()[0].text).spans["entities"]
    assert all(0 < score <= 1 for score in group.attrs["scores"]) and len(group)
    again = calibrate(nlp, wrong_docs(), bins=5)
    assert again.former == done.temperature
    assert_allclose(again.before.loss, done.after.loss, rtol=1e-5)
    assert f"temperature = {done.temperature:.3f}, of {done.before.entities} entities" in str(done)


def test_only_the_plot_needs_matplotlib(nlp: Language, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    with pytest.raises(ModuleNotFoundError, match="matplotlib"):
        calibrate("not read", "not read", plot="plot.png")
    calibrate(nlp, wrong_docs())


def test_recognizer_is_the_only_one_or_the_one_named() -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("ner")
    for name, message in ((None, "no component of batch_ner or tagger_ner"), ("ner", "of none")):
        with pytest.raises(ValueError, match=message):
            find_recognizer(nlp, name)
    nlp.add_pipe("batch_ner")
    assert find_recognizer(nlp) == "batch_ner"
    nlp.add_pipe("tagger_ner")
    with pytest.raises(ValueError, match="Several components .* component to batch_ner"):
        find_recognizer(nlp)
    assert find_recognizer(nlp, "tagger_ner") == "tagger_ner"


def judge_without_gold() -> None:
    nlp = trained("tagger_ner")
    judge_entities(nlp, "tagger_ner", [Example(nlp.make_doc("Anna"), nlp.make_doc("Anna"))])


def judge_made_and_left_out() -> None:
    nlp = with_pipes("strips_spaces_for_tests", "fails_at_bob_for_tests")
    judge_entities(nlp, "tagger_ner", examples_of(nlp, "  "))


def best_of(*right: bool) -> None:
    def probabilities(temperature: float) -> numpy.ndarray:
        return 1 / (1 + numpy.exp(numpy.array([-5, 5, 5]) / temperature))

    best_temperature(Judged("x", 1.0, numpy.array(right), numpy.full(3, "PER"), probabilities))


REFUSED: list[tuple[Callable[[], None], str]] = [
    (judge_without_gold, 'Component "tagger_ner" predicts no entity'),
    (judge_made_and_left_out, "another doc than it was given, and left out [1-9]"),
    (lambda: best_of(True, True, True), "All 3 entities .* are right"),
    (lambda: best_of(False, False, False), "None of the 3 entities .* are right"),
    (lambda: best_of(False, True, True), "at the edge of the range, .* a larger dev corpus"),
    (lambda: calibrate(spacy.blank("en"), [], bins=1), "bins must be"),
]


@pytest.mark.parametrize(("do", "message"), REFUSED)
def test_refusals(do: Callable[[], None], message: str) -> None:
    with pytest.raises(ValueError, match=message):
        do()
