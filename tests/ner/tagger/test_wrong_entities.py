"""The loss of entities that are known to be wrong, against all sequences of tags, one by one."""

from collections.abc import Callable
from typing import Optional

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from spacy.language import Language
from spacy.tokens import Doc, Span
from spacy.training import Example
from thinc.api import Ops, to_numpy

from spacy_multihash.ner.biluo import Entities, tag_names
from spacy_multihash.ner.tagger import wrong_entities
from spacy_multihash.ner.tagger.wrong_entities import wrong_entity_loss
from tests.helpers.gradients import slopes
from tests.helpers.linear_chain import log_sum, score, valid_sequences
from tests.helpers.tagger_ner import (
    CRF,
    TEXTS,
    entities_of,
    examples_of,
    gold,
    loss_of,
    partly_annotated,
    pipe_of,
    randomized,
    tagger,
    trained,
)

LENGTHS = numpy.array([3, 0, 1, 4])
MODELS = {"independent": tagger(), "crf": CRF}
# Start and end in the batch, and label. They overlap; one is there twice.
WRONG = [(0, 2, 0), (0, 2, 0), (1, 2, 1), (3, 4, 1), (4, 8, 1), (4, 7, 0), (6, 8, 0)]


def entities(*found: tuple[int, int, int]) -> Entities:
    return Entities(*numpy.array(found, dtype="int64").reshape(-1, 3).T)


def draw(passes: int = 2, seed: int = 0, scale: float = 2.0) -> tuple[numpy.ndarray, ...]:
    """Scores (passes, 8, 9) and transitions (9, 9), float64."""
    rng = numpy.random.default_rng(seed)
    return rng.normal(scale=scale, size=(passes, 8, 9)), rng.normal(size=(9, 9))


def spell(start: int, end: int, label: int) -> dict[int, int]:
    """The tags of an entity by token, read from their names."""
    kinds = ["U"] if end - start == 1 else ["B", *"I" * (end - start - 2), "L"]
    names = tag_names("XY")
    return {start + i: names.index(f"{kind}-{'XY'[label]}") for i, kind in enumerate(kinds)}


def chain_by_loop(scores: numpy.ndarray, transitions: numpy.ndarray, wrong: Entities) -> float:
    """-log of the share of the sequences that do not have the entity."""
    loss, ends = 0.0, numpy.cumsum(LENGTHS)
    for each in scores:
        for start, end, label in zip(*wrong, strict=True):
            doc = int(numpy.searchsorted(ends, start, side="right"))
            begin = ends[doc] - LENGTHS[doc]
            tags = {i - begin: tag for i, tag in spell(start, end, label).items()}
            sequences = valid_sequences(2, int(LENGTHS[doc]))
            logs = [score(each[begin : ends[doc]], transitions, one) for one in sequences]
            without = [
                log
                for log, one in zip(logs, sequences, strict=True)
                if any(one[i] != tag for i, tag in tags.items())
            ]
            loss += (log_sum(logs) - log_sum(without)) / len(scores)
    return loss


def independent_by_loop(scores: numpy.ndarray, wrong: Entities) -> float:
    loss = 0.0
    for each in scores:
        table = numpy.exp(each) / numpy.exp(each).sum(axis=1, keepdims=True)
        for start, end, label in zip(*wrong, strict=True):
            product = numpy.prod([table[i, tag] for i, tag in spell(start, end, label).items()])
            loss -= float(numpy.log(1 - product)) / len(scores)
    return loss


@pytest.mark.parametrize("passes", [1, 2])
@pytest.mark.parametrize("at_once", [1, 10, 2**15])
def test_loss_of_a_chain_is_that_of_all_sequences_without_the_entity(
    passes: int, at_once: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(wrong_entities, "_MOST_TOKENS", at_once)
    scores, transitions = draw(passes)
    wrong = entities(*WRONG)
    loss, *gradients = wrong_entity_loss(scores, LENGTHS, transitions, wrong)
    assert loss == pytest.approx(chain_by_loop(scores, transitions, wrong))

    def again() -> float:
        return wrong_entity_loss(scores, LENGTHS, transitions, wrong)[0]

    for values, gradient in zip((scores, transitions), gradients, strict=True):
        assert_allclose(gradient, slopes(again, values), atol=1e-7)


@pytest.mark.parametrize("passes", [1, 2])
def test_loss_of_independent_tags_is_that_of_the_product(passes: int) -> None:
    scores, _ = draw(passes)
    wrong = entities(*WRONG)
    loss, d_scores, none = wrong_entity_loss(scores, LENGTHS, None, wrong)
    assert none is None
    assert loss == pytest.approx(independent_by_loop(scores, wrong))
    expected = slopes(lambda: wrong_entity_loss(scores, LENGTHS, None, wrong)[0], scores)
    assert_allclose(d_scores, expected, atol=1e-7)


@settings(deadline=None, max_examples=40)
@given(st.integers(0, 2**32 - 1), st.sampled_from([0.0, 1.0, 8.0]), st.booleans(), st.data())
def test_loss_of_any_entity_is_that_of_a_loop(
    seed: int, scale: float, chain: bool, data: st.DataObject
) -> None:
    scores, transitions = draw(1, seed, scale)
    begin, length = data.draw(st.sampled_from([(0, 3), (3, 1), (4, 4)]))
    start = data.draw(st.integers(0, length - 1))
    end = data.draw(st.integers(start + 1, length))
    wrong = entities((begin + start, begin + end, data.draw(st.integers(0, 1))))
    loss, *_ = wrong_entity_loss(scores, LENGTHS, transitions if chain else None, wrong)
    expected = chain_by_loop(scores, transitions, wrong)
    if not chain:
        expected = independent_by_loop(scores, wrong)
    assert loss == pytest.approx(expected, rel=1e-6, abs=1e-9)


@pytest.mark.parametrize("chain", [False, True])
def test_an_entity_that_the_model_is_sure_of_has_its_loss_and_its_gradient(chain: bool) -> None:
    scores = numpy.zeros((1, 8, 9), dtype="float32")
    for i, tag in spell(4, 6, 1).items():
        scores[0, i, tag] = 200.0
    transitions = numpy.zeros((9, 9), dtype="float32") if chain else None
    wrong = entities((4, 6, 1))
    loss, d_scores, _ = wrong_entity_loss(scores, LENGTHS, transitions, wrong)
    assert loss == pytest.approx(200, abs=10)
    assert d_scores.dtype == "float32"
    assert_allclose(d_scores.sum(axis=2), 0, atol=1e-6)
    assert sum(d_scores[0, i, tag] for i, tag in spell(4, 6, 1).items()) > 0.9


@pytest.mark.parametrize("chain", [False, True])
def test_no_wrong_entities_have_no_loss(chain: bool) -> None:
    scores, transitions = draw()
    loss, d_scores, d_transitions = wrong_entity_loss(
        scores, LENGTHS, transitions if chain else None, entities()
    )
    assert loss == 0 and not d_scores.any() and d_scores.shape == scores.shape
    assert (d_transitions is None) is not chain


@pytest.mark.parametrize("chain", [False, True])
def test_loss_is_the_same_on_all_devices_and_writes_to_nothing(ops: Ops, chain: bool) -> None:
    scores, transitions = (values.astype("float32") for values in draw())
    for array in (scores, transitions):
        array.setflags(write=False)
    wrong = entities(*WRONG)
    here = wrong_entity_loss(scores, LENGTHS, transitions if chain else None, wrong)
    there = wrong_entity_loss(
        ops.asarray(scores), LENGTHS, ops.asarray(transitions) if chain else None, wrong
    )
    assert_allclose(there[0], here[0])
    for gradient, expected in zip(there[1:], here[1:], strict=True):
        if expected is not None:
            assert expected.dtype == "float32"
            assert_allclose(to_numpy(gradient), expected, atol=1e-6)


# In the component


def wrong_example(
    nlp: Language, *spans: tuple[int, int, str], ents: Optional[list] = None
) -> Example:
    doc = nlp.make_doc(TEXTS[0])
    reference = doc.copy()
    if ents is not None:
        reference.set_ents([Span(reference, *ent) for ent in ents])
    reference.spans["wrong"] = [Span(reference, *span) for span in spans]
    return Example(doc, reference)


@pytest.mark.parametrize("name", MODELS)
def test_trained_entities_that_are_wrong_are_unlearnt_and_others_stay(name: str) -> None:
    nlp = trained(MODELS[name], 60, incorrect_spans_key="wrong")
    assert entities_of([nlp(TEXTS[0])]) == gold()[:1]
    example = wrong_example(nlp, (2, 3, "PER"), ents=[(0, 1, "PER"), (4, 6, "GPE")])
    doc = example.reference
    doc.set_ents(doc.ents, missing=[doc[2:3]])
    sgd = nlp.create_optimizer()
    for _ in range(40):
        nlp.update([example], sgd=sgd)
    (entities,) = entities_of([nlp(TEXTS[0])])
    assert ("Bob", "PER") not in entities
    assert {("Anna", "PER"), ("New York", "GPE")} <= set(entities)


@pytest.mark.parametrize("name", MODELS)
def test_wrong_entities_are_learnt_beside_right_ones_that_they_overlap(name: str) -> None:
    nlp = trained(MODELS[name], 1, incorrect_spans_key="wrong")
    ents = [(0, 1, "PER"), (2, 3, "PER"), (4, 6, "GPE")]
    wrong = [(4, 5, "GPE"), (5, 6, "GPE"), (3, 6, "GPE"), (0, 1, "GPE")]
    sgd = nlp.create_optimizer()
    sgd.learn_rate = 0.01
    for _ in range(60):
        nlp.update([wrong_example(nlp, *wrong, ents=ents)], sgd=sgd)
    assert entities_of([nlp(TEXTS[0])]) == gold()[:1]


@pytest.mark.parametrize("name", MODELS)
def test_loss_of_wrong_entities_is_added_to_that_of_tags(name: str) -> None:
    nlp = randomized(MODELS[name], incorrect_spans_key="wrong")
    example = wrong_example(nlp, (0, 2, "PER"), (2, 3, "GPE"))
    loss, d_scores = loss_of(nlp, [*partly_annotated(nlp), example])
    apart = [loss_of(nlp, part) for part in (partly_annotated(nlp), [example])]
    assert loss == pytest.approx(apart[0][0] + apart[1][0], rel=1e-5)
    assert apart[1][0] > 0
    both = numpy.concatenate([each for _, each in apart], axis=1)
    assert_allclose(d_scores, both, atol=1e-5)


def test_spans_are_read_only_where_the_key_says() -> None:
    for key in (None, "other"):
        nlp = randomized(incorrect_spans_key=key)
        loss, d_scores = loss_of(nlp, [wrong_example(nlp, (0, 1, "PER"))])
        assert loss == 0 and not d_scores.any()


def test_wrong_entities_of_other_labels_or_tokens_say_nothing() -> None:
    nlp = randomized(incorrect_spans_key="wrong")
    example = wrong_example(nlp, (0, 1, "OTHER"), (0, 1, ""))
    assert loss_of(nlp, [example])[0] == 0
    predicted = Doc(nlp.vocab, words=["Anna", "met", "Bob", "in", "New York", "."])
    for span, known in (((4, 6, "GPE"), True), ((4, 5, "GPE"), False)):
        reference = wrong_example(nlp, span).reference
        assert (loss_of(nlp, [Example(predicted, reference)])[0] > 0) is known


def test_an_entity_that_is_right_and_wrong_is_refused() -> None:
    nlp = randomized(incorrect_spans_key="wrong")
    example = wrong_example(nlp, (4, 6, "GPE"), ents=[(4, 6, "GPE")])
    match = r"same entity as right and .*reference.spans\['wrong'\]: 'New York' \(GPE\)"
    with pytest.raises(ValueError, match=match):
        nlp.update([example])


@pytest.mark.parametrize("name", MODELS)
def test_gradients_of_the_component_are_those_of_the_loss(name: str) -> None:
    nlp = randomized(MODELS[name], incorrect_spans_key="wrong")
    pipe = pipe_of(nlp)
    examples = [*examples_of(nlp)[:1], wrong_example(nlp, (0, 2, "PER"), (4, 6, "GPE"))]
    pipe.update(examples)
    output = pipe.model.get_ref("output_layer")
    params = [(output, "b")] + ([(pipe.model, "transitions")] if name == "crf" else [])
    for node, key in params:
        found, values = to_numpy(node.get_grad(key)), node.get_param(key)
        loss: Callable[[], float] = lambda: loss_of(nlp, examples)[0]  # noqa: E731
        assert_allclose(found, slopes(loss, values, 1e-2), atol=2e-2 * abs(found).max())
