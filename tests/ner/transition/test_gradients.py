"""The gradient of batch_ner against central differences, and a fault in that of spaCy's ner."""

from typing import NamedTuple

import numpy
import pytest
from spacy.tokens import Doc, Span
from spacy.training import Example
from thinc.api import Model

from tests.helpers.gradients import slopes
from tests.helpers.transition_training import (
    VOCAB,
    WRONG,
    Setup,
    Stepwise,
    assert_same_gradients,
    gradients,
    ours,
    parts_of,
    recognizer,
    update,
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


class States(NamedTuple):
    """The states of an update.

    features (V, nF): Their tokens, -1 for none.
    best (V, nC) bool: The actions that are right.
    """

    features: numpy.ndarray
    best: numpy.ndarray


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


def weights(model: Model, N: int) -> dict[str, numpy.ndarray]:
    """Copy all parameters, and of the vectors those of the N tokens."""
    found = {
        f"{part} {name}": node.get_param(name).astype("float64")
        for part, node in parts_of(model).items()
        for name in node.param_names
    }
    return cut_vectors(found, N)


def cut_vectors(found: dict[str, numpy.ndarray], N: int) -> dict[str, numpy.ndarray]:
    """Leave out the vectors of no token."""
    return {**found, "vectors E": found["vectors E"][:N].copy()}


def log_loss(params: dict[str, numpy.ndarray], states: States) -> float:
    """-log of the probability of all right actions, of all states, in float64."""
    vectors, W, b = (params[name] for name in ("vectors E", "linear W", "linear b"))
    lower, lower_b, pad = (params[f"lower {name}"] for name in ("W", "b", "pad"))
    X = vectors @ W.T + b  # (N, nI)
    nF, nO, nP, _ = lower.shape
    sums = numpy.zeros((len(states.best), nO, nP)) + lower_b
    for feature in range(nF):
        tokens = states.features[:, feature]
        of_tokens = numpy.einsum("vi,opi->vop", X[tokens], lower[feature])
        sums += numpy.where((tokens >= 0)[:, None, None], of_tokens, pad[0, feature])
    scores = sums.max(axis=2) if nP > 1 else numpy.maximum(sums[:, :, 0], 0)
    if "upper W" in params:
        scores = scores @ params["upper W"].T + params["upper b"]
    exps = numpy.exp(scores)
    taught = states.best.any(axis=1)
    right = (exps * states.best).sum(axis=1)[taught]
    return float((numpy.log(exps.sum(axis=1)[taught]) - numpy.log(right)).sum())


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


def test_without_a_vector_of_the_last_token_spacys_gradient_is_true() -> None:
    setup = next(iter(SETUPS.values()))
    examples = batch()
    N = sum(len(example.predicted) for example in examples)
    found = []
    for component in (ours(setup, spacy_gradient=False), recognizer(Stepwise, setup)):
        parts = parts_of(component.model)
        parts["vectors"].get_param("E")[N - 1] = 0
        parts["linear"].get_param("b")[:] = 0
        update(component, examples)
        found.append(gradients(component.model))
    assert_same_gradients(*found)
