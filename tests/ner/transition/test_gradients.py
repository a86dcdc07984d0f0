"""The gradient of batch_ner against central differences, and a fault in that of spaCy's ner."""

import inspect
from typing import Any
from unittest import mock

import numpy
import pytest
from spacy.ml import _precomputable_affine as affine
from spacy.tokens import Doc, Span
from spacy.training import Example

from tests.helpers.gradients import slopes
from tests.helpers.transition_training import (
    VOCAB,
    WRONG,
    Setup,
    States,
    Stepwise,
    assert_same_gradients,
    cut_vectors,
    log_loss,
    ours,
    recognizer,
    update,
    weights,
)

SETUPS = {
    f"{features} features, {'with' if upper else 'no'} upper, {pieces} pieces": Setup(
        extra_tokens=features == 6,
        use_upper=upper,
        pieces=pieces,
        wrong_key=WRONG,
        cut_size=5,
        seed=2,
        exact=False,
    )
    for features in (3, 6)
    for upper in (True, False)
    for pieces in (1, 2)
}
of_all = pytest.mark.parametrize("setup", SETUPS.values(), ids=SETUPS)
TAGS = [
    ["B-A", "I-A", "I-A", "O", "B-B", "I-B", "O", "B-C", "O", "O"],
    ["O", "B-C", "I-C", "I-C", "I-C", "I-C", "I-C", "O"],
    ["", "B-B", "", ""],
    ["O", "O", "B-A"],
]


def batch() -> list[Example]:
    found = []
    for tags in TAGS:
        words = ["a"] * len(tags)
        reference = Doc(VOCAB, words=words, ents=tags)
        reference.spans[WRONG] = [Span(reference, 1, 3, label="B")]
        found.append(Example(Doc(VOCAB, words=words), reference))
    return found


def visited(setup: Setup, of_batch: list[Example]) -> States:
    """List the states that spaCy visits in its update."""
    stepwise = recognizer(Stepwise, setup)
    update(stepwise, of_batch)
    features, costs = (numpy.concatenate(parts) for parts in zip(*stepwise.steps, strict=True))
    assert (features[:, 1] >= 0).sum() > 1
    least = costs.min(axis=1, keepdims=True)
    return States(features, (costs == least) & (least <= 1))


def differences(setup: Setup, of_batch: list[Example]) -> dict[str, numpy.ndarray]:
    """Take central differences of all parameters, along the states that spaCy visits."""
    N = sum(len(example.predicted) for example in of_batch)
    params = weights(recognizer(Stepwise, setup).model, N)
    states = visited(setup, of_batch)
    return {name: slopes(lambda: log_loss(params, states), v) for name, v in params.items()}


@of_all
def test_gradient_is_that_of_the_log_loss(setup: Setup) -> None:
    examples = batch()
    expected = differences(setup, examples)
    N = sum(len(example.predicted) for example in examples)
    found = update(ours(setup, spacy_gradient=False), examples).gradients
    assert_same_gradients(cut_vectors(found, N), expected)


@of_all
@pytest.mark.parametrize("of_spacy", [True, False])
def test_spacy_takes_the_last_token_for_a_missing_one(setup: Setup, of_spacy: bool) -> None:
    component = recognizer(Stepwise, setup) if of_spacy else ours(setup, spacy_gradient=True)
    found = update(component, batch()).gradients
    true = update(ours(setup, spacy_gradient=False), batch()).gradients
    of_lower, true_of_lower = found.pop("lower W"), true.pop("lower W")
    assert_same_gradients(found, true)
    away = abs(of_lower - true_of_lower).max(axis=(1, 2, 3))
    assert away[0] < 1e-5
    assert (away[1:] > 0.1 * abs(true_of_lower[0]).max()).all()


@of_all
def test_with_one_more_line_spacys_gradient_is_true(setup: Setup) -> None:
    line = "        Xf = X[ids]\n"
    source = inspect.getsource(affine.forward)
    assert source.count(line) == 1
    mended: dict[str, Any] = {}
    exec(source.replace(line, f"{line}        Xf[ids < 0] = 0\n"), vars(affine), mended)
    with mock.patch.object(affine, "forward", mended["forward"]):
        found = update(recognizer(Stepwise, setup), batch()).gradients
    true = update(ours(setup, spacy_gradient=False), batch()).gradients
    assert_same_gradients(found, true)
