"""The gradient of batch_ner against central differences, with dropout, and a fault in spaCy's."""

from dataclasses import replace
from typing import Any, NamedTuple
from unittest import mock

import numpy
import pytest
from numpy.testing import assert_allclose
from spacy.training import Example

from spacy_multihash.ner.transition import training
from spacy_multihash.ner.transition.rules import ANY_LABEL
from spacy_multihash.ner.transition.states import features_of, tokens_of
from tests.helpers.transition import Case
from tests.helpers.transition_training import (
    LABELS,
    WRONG,
    Outcome,
    States,
    assert_same_gradients,
    ours,
    plain_example,
    theirs,
    true_gradients,
    update,
)

CASES = {
    f"{features} features, {'with' if upper else 'no'} upper, {pieces} pieces": Case(
        LABELS,
        extra_state_tokens=features == 6,
        use_upper=upper,
        maxout_pieces=pieces,
        wrong_key=WRONG,
        cut_size=5,
        scale=0.7,
        favours={"B": 1.0},
    )
    for features in (3, 6)
    for upper in (True, False)
    for pieces in (1, 2)
}
of_all = pytest.mark.parametrize("case", CASES.values(), ids=CASES)
TAGS = [
    ["B-A", "I-A", "I-A", "O", "B-B", "I-B", "O", "B-C", "O", "O"],
    ["O", "B-C", "I-C", "I-C", "I-C", "I-C", "I-C", "O"],
    ["", "B-B", "", ""],
    ["O", "O", "B-A"],
]
KNOWN = [tags for tags in TAGS if "" not in tags]


def batch(tags: list[list[str]] = TAGS) -> list[Example]:
    return [plain_example(of_doc, (1, 3, "B")) for of_doc in tags]


def visited(case: Case) -> States:
    stepwise = theirs(case)
    update(stepwise, batch())
    features, costs = map(numpy.concatenate, zip(*stepwise.steps, strict=True))
    assert (features[:, 1] >= 0).sum() > 1
    least = costs.min(axis=1, keepdims=True)
    return States(features, (costs == least) & (least <= 1))


@of_all
def test_gradient_is_that_of_the_log_loss_and_spacys_takes_the_last_token_for_a_missing_one(
    case: Case,
) -> None:
    true = update(ours(case, spacy_gradient=False), batch()).gradients
    expected = true_gradients(ours(case).model, sum(map(len, TAGS)), visited(case))
    assert_same_gradients(true, expected)
    of_lower = true.pop("lower W")
    for component in (theirs(case), ours(case, spacy_gradient=True)):
        given = update(component, batch()).gradients
        away = abs(given.pop("lower W") - of_lower).max(axis=(1, 2, 3))
        assert_same_gradients(given, true)
        assert away[0] < 1e-5
        assert (away[1:] > 0.1 * abs(of_lower[0]).max()).all()


# Dropout of the hidden layer: a mask of its own for each state that an update visits

SMALL = Case(LABELS, cut_size=3, scale=0.5)
WIDE = replace(SMALL, hidden_width=64, cut_size=2, scale=0.3)


class Seen(NamedTuple):
    """What an update with dropout went through.

    tokens (V,), mask (V, nO): Of each state.
    """

    outcome: Outcome
    states: States
    tokens: numpy.ndarray
    mask: numpy.ndarray | None


def look(case: Case, *, seed: int = 0, **settings: Any) -> Seen:
    """Update a recognizer, and keep the states that it visits."""
    visits: list[tuple] = []
    gradients: list[numpy.ndarray] = []
    visit_states, log_loss_gradient = training.visit_states, training.log_loss_gradient

    def spy_visits(batch: Any, parts: Any, mask: numpy.ndarray | None) -> Any:
        states = visit_states(batch, parts, mask)
        visits.append((states, parts, mask))
        return states

    def spy_gradients(*args: Any) -> numpy.ndarray:
        gradients.append(log_loss_gradient(*args))
        return gradients[-1]

    with (
        mock.patch.object(training, "visit_states", spy_visits),
        mock.patch.object(training, "log_loss_gradient", spy_gradients),
    ):
        outcome = update(ours(case, **settings), batch(KNOWN), seed)
    ((states, parts, mask),), (d_scores,) = visits, gradients
    rows = states.labels != ANY_LABEL
    tokens = tokens_of(parts)[0][rows]
    features = features_of(tokens, states.starts[rows], 6 if case.extra_state_tokens else 3)
    # The gradient is below 0 for the right actions, and for no others
    right = States(features, d_scores < 0)
    return Seen(outcome, right, tokens, None if mask is None else mask[rows])


@pytest.mark.parametrize("rate", [0.1, 0.5])
def test_each_state_has_a_mask_of_its_own_of_the_rate_that_keeps_the_expectation(
    rate: float,
) -> None:
    seen = look(WIDE, state_dropout=rate)
    assert seen.mask is not None
    assert_allclose(numpy.unique(seen.mask), [0, 1 / (1 - rate)], rtol=1e-4)
    assert (seen.mask == 0).mean() == pytest.approx(rate, abs=0.04)
    assert len(numpy.unique(seen.mask, axis=0)) == len(seen.mask)
    # Parts overlap by a token, so that some tokens have two states
    assert len(numpy.unique(seen.tokens)) < len(seen.tokens)
    assert (seen.states.features[:, 1] >= 0).any()


def test_rate_is_that_of_the_component_also_once_it_is_set() -> None:
    component = ours(replace(WIDE, cut_size=0), state_dropout=0.25)
    for rate in (0.25, 0.75, 0.0):
        component.state_dropout = rate
        component.model.get_ref("upper").set_grad("W", numpy.zeros((14, 64), dtype="float32"))
        dW = update(component, [plain_example(["B-A"])]).gradients["upper W"]
        assert (dW == 0).all(axis=0).mean() == pytest.approx(rate, abs=0.15)


@pytest.mark.parametrize("extra_tokens", [False, True])
def test_gradient_goes_through_the_masks(extra_tokens: bool) -> None:
    case = replace(SMALL, extra_state_tokens=extra_tokens)
    seen = look(case, state_dropout=0.3, spacy_gradient=False)
    expected = true_gradients(ours(case).model, sum(map(len, KNOWN)), seen.states, seen.mask)
    assert (seen.states.features[:, 1] >= 0).any()
    assert_same_gradients(seen.outcome.gradients, expected)
