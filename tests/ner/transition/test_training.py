"""Updates of batch_ner, against those of spaCy's own ner."""

from unittest import mock

import numpy
import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from spacy.tokens import Doc, Span
from spacy.training import Example

from spacy_multihash.ner.transition import training
from tests.helpers.transition_training import (
    LABELS,
    VOCAB,
    WRONG,
    Setup,
    Stepwise,
    assert_same_gradients,
    examples,
    ours,
    recognizer,
    setups,
    update,
)

BATCHES = st.lists(examples(), min_size=1, max_size=4)


@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow])
@given(setups(), BATCHES, st.sampled_from([training.CHUNK, training.CHUNK, 1, 3]))
def test_update_is_spacys(setup: Setup, batch: list[Example], chunk: int) -> None:
    stepwise = recognizer(Stepwise, setup)
    expected = update(stepwise, batch, setup.seed)
    assume(not stepwise.took_unseen)
    with mock.patch.object(training, "CHUNK", chunk):
        found = update(ours(setup), batch, setup.seed)
    assert found.error[:6] == expected.error[:6]
    if not expected.error:
        assert found.losses == pytest.approx(expected.losses, rel=1e-4, abs=1e-5)
        assert_same_gradients(found.gradients, expected.gradients)
        assert found.unseen == expected.unseen


def long_example(length: int, rng: numpy.random.Generator) -> Example:
    words, tags = ["a"] * length, ["O"] * length
    for start in range(0, length - 4, 5):
        size, label = rng.integers(0, 5), rng.choice(LABELS)
        tags[start : start + size] = [f"B-{label}", *[f"I-{label}"] * 3][:size]
    reference = Doc(VOCAB, words=words, ents=tags)
    reference.spans[WRONG] = [Span(reference, start, start + 1, label="A") for start in (4, 9)]
    return Example(Doc(VOCAB, words=words), reference)


@pytest.mark.parametrize("seed", range(4))
def test_update_of_docs_that_are_cut_by_the_default_is_spacys(seed: int) -> None:
    rng = numpy.random.default_rng(seed)
    batch = [long_example(length, rng) for length in (220, 75)]
    setup = Setup(wrong_key=WRONG, cut_size=100, seed=seed)
    stepwise = recognizer(Stepwise, setup)
    expected, found = update(stepwise, batch, seed), update(ours(setup), batch, seed)
    assert not stepwise.took_unseen
    # the first step has a state of each part, and the longest part is as long as the steps are many
    assert len(stepwise.steps[0][0]) > len(batch)
    assert 50 <= len(stepwise.steps) <= 200
    assert found.losses == pytest.approx(expected.losses, rel=1e-4)
    assert_same_gradients(found.gradients, expected.gradients)


def colliding_labels() -> tuple[str, str]:
    """Find labels that a set lists in the order in which they came."""
    names = [f"label {n}" for n in range(100)]
    pairs = ((one, other) for one in names for other in names if one != other)
    return next(p for p in pairs if list({p[0], p[1]}) == [*p] and list({p[1], p[0]}) == [*p[::-1]])


def test_new_labels_are_added_in_spacys_order() -> None:
    one, other = colliding_labels()
    words = ["a", "b"]
    plain = Doc(VOCAB, words=words)
    batch = [
        Example(plain, Doc(VOCAB, words=words, ents=[f"B-{one}", "O"])),
        Example(Doc(VOCAB, words=words, ents=["O", f"B-{other}"]), plain.copy()),
    ]
    recognizers = ours(Setup()), recognizer(Stepwise, Setup())
    for component in recognizers:
        update(component, batch)
    found, expected = (r.moves for r in recognizers)
    names = [expected.get_class_name(n) for n in range(expected.n_moves)]
    assert names[-1] in (f"U-{one}", f"U-{other}")
    assert [found.get_class_name(n) for n in range(found.n_moves)] == names


def test_entity_of_the_only_label_that_must_go_on_is_followed() -> None:
    words = ["a"] * 4
    predicted = Doc(VOCAB, words=words, ents=["B-A", "I-A", "I-A", "O"])
    reference = Doc(VOCAB, words=words, ents=["B-A", "I-A", "I-A", "I-A"])
    setup = Setup(labels=("A",))
    expected = update(recognizer(Stepwise, setup), [Example(predicted, reference)])
    found = update(ours(setup), [Example(predicted, reference)])
    assert_same_gradients(found.gradients, expected.gradients)


def test_states_whose_actions_all_cost_more_than_one_have_no_loss() -> None:
    # The entity that is there already must be taken, but is neither right nor allowed
    reference = Doc(VOCAB, words=["a"], ents=["O"])
    reference.spans[WRONG] = [Span(reference, 0, 1, label="A")]
    batch = [Example(Doc(VOCAB, words=["a"], ents=["B-A"]), reference)]
    setup = Setup(wrong_key=WRONG)
    for component in (ours(setup), recognizer(Stepwise, setup)):
        outcome = update(component, batch)
        assert outcome.losses == {"ner": 0.0}
        assert not any(values.any() for values in outcome.gradients.values())
