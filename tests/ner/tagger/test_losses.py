"""What training minimizes, against plain loops and central differences, in float64."""

from collections.abc import Callable

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from thinc.api import Ops, to_numpy

from spacy_multihash.ner.biluo import MISSING
from spacy_multihash.ner.tagger.crf import crf_loss
from spacy_multihash.ner.tagger.losses import crf_losses, cross_entropy

LENGTHS = numpy.array([3, 0, 1, 2])
# Of 9 tags, those of 2 labels: B-0 I-0 L-0, U-1, O U-0
GOLD = numpy.array([1, 3, 5, 8, 0, 7])


def random_scores(passes: int, tokens: int = 6, nO: int = 9, seed: int = 0) -> numpy.ndarray:
    """(passes, tokens, nO) float64."""
    return numpy.random.default_rng(seed).normal(scale=2, size=(passes, tokens, nO))


def without(gold: numpy.ndarray, *tokens: int) -> numpy.ndarray:
    """Leave out the tags of some tokens."""
    gold = gold.copy()
    gold[list(tokens)] = MISSING
    return gold


def differences(loss: Callable[[], float], values: numpy.ndarray) -> numpy.ndarray:
    """Find the slopes of a loss that reads these values, by central differences."""
    slopes = numpy.zeros(values.shape)
    for index in numpy.ndindex(*values.shape):
        value = values[index]
        for sign in (1, -1):
            values[index] = value + sign * 1e-5
            slopes[index] += sign * loss() / 2e-5
        values[index] = value
    return slopes


def cross_entropy_by_loop(
    scores: numpy.ndarray, gold: numpy.ndarray
) -> tuple[float, numpy.ndarray]:
    """Take the softmax of each token of each pass by itself."""
    loss, d_scores = 0.0, numpy.zeros(scores.shape)
    for number in range(len(scores)):
        for token, tag in enumerate(gold):
            if tag == MISSING:
                continue
            row = [float(score) for score in scores[number, token]]
            weights = [numpy.exp(score - max(row)) for score in row]
            loss += (max(row) + numpy.log(sum(weights)) - row[tag]) / len(scores)
            for other, weight in enumerate(weights):
                slope = weight / sum(weights) - (other == tag)
                d_scores[number, token, other] = slope / len(scores)
    return float(loss), d_scores


# Tags that are independent of each other


@given(
    st.integers(1, 3),
    st.lists(st.integers(MISSING, 4), max_size=5),
    st.sampled_from([0.0, 1.0, 50.0]),
    st.integers(0, 2**32 - 1),
)
def test_cross_entropy_is_that_of_a_loop(
    passes: int, tags: list[int], scale: float, seed: int
) -> None:
    gold = numpy.array(tags, dtype="int64")
    scores = (scale * random_scores(passes, len(gold), 5, seed)).astype("float32")
    loss, d_scores = cross_entropy(scores, gold)
    expected_loss, expected = cross_entropy_by_loop(scores, gold)
    assert d_scores.dtype == "float32"
    assert_allclose(loss, expected_loss, rtol=1e-5, atol=1e-5)
    assert_allclose(d_scores, expected, atol=1e-6)


@pytest.mark.parametrize("passes", [1, 3])
@pytest.mark.parametrize("missing", [[], [0, 4], [0, 1, 2, 3, 4, 5]])
def test_cross_entropy_has_the_gradient_of_central_differences(
    passes: int, missing: list[int]
) -> None:
    scores, gold = random_scores(passes), without(GOLD, *missing)
    _, d_scores = cross_entropy(scores, gold)
    expected = differences(lambda: cross_entropy(scores, gold)[0], scores)
    assert_allclose(d_scores, expected, atol=1e-8)


def test_cross_entropy_has_no_loss_and_no_gradient_where_tags_are_missing() -> None:
    scores = random_scores(2)
    known = [0, 3, 5]
    loss, d_scores = cross_entropy(scores, without(GOLD, 1, 2, 4))
    assert not d_scores[:, [1, 2, 4]].any()
    expected_loss, expected = cross_entropy(scores[:, known], GOLD[known])
    assert_allclose(loss, expected_loss)
    assert_allclose(d_scores[:, known], expected)


def test_cross_entropy_without_any_tags_is_0() -> None:
    loss, d_scores = cross_entropy(random_scores(2), without(GOLD, *range(6)))
    assert loss == 0
    assert not d_scores.any()


def test_cross_entropy_is_the_mean_over_passes() -> None:
    scores = random_scores(3)
    loss, d_scores = cross_entropy(scores, GOLD)
    losses, gradients = zip(*(cross_entropy(each[None], GOLD) for each in scores), strict=True)
    assert_allclose(loss, sum(losses) / 3)
    assert_allclose(d_scores, numpy.concatenate(gradients) / 3)


def test_cross_entropy_takes_large_scores() -> None:
    scores = numpy.zeros((1, 3, 5), dtype="float32")
    scores[0, 0, 2] = 1e4  # right
    scores[0, 1, 3] = 1e4  # wrong
    scores[0, 2] = -1e4  # equal
    loss, d_scores = cross_entropy(scores, numpy.array([2, 0, 1]))
    assert_allclose(loss, 1e4 + numpy.log(5))
    expected = [[0, 0, 0, 0, 0], [-1, 0, 0, 1, 0], [0.2, -0.8, 0.2, 0.2, 0.2]]
    assert_allclose(d_scores[0], expected, atol=1e-6)


@pytest.mark.parametrize("passes", [1, 2])
def test_cross_entropy_takes_no_tokens(passes: int) -> None:
    loss, d_scores = cross_entropy(
        numpy.zeros((passes, 0, 9), dtype="float32"), numpy.zeros(0, dtype="int64")
    )
    assert loss == 0
    assert d_scores.shape == (passes, 0, 9)


# A linear-chain CRF


@pytest.mark.parametrize("missing", [[], [1, 4], [0, 1, 2, 3, 4, 5]])
def test_crf_losses_are_the_mean_over_passes(missing: list[int]) -> None:
    scores = random_scores(3).astype("float32")
    transitions = random_scores(1, 9)[0].astype("float32")
    gold = without(GOLD, *missing)
    loss, d_scores, d_transitions = crf_losses(scores, LENGTHS, transitions, gold)
    passes = [crf_loss(each, LENGTHS, transitions, gold) for each in scores]
    assert d_scores.dtype == d_transitions.dtype == "float32"
    assert_allclose(loss, sum(each[0] for each in passes) / 3)
    assert_allclose(d_scores, numpy.array([each[1] for each in passes]) / 3, atol=1e-7)
    expected = numpy.mean([each[2] for each in passes], axis=0)
    assert_allclose(d_transitions, expected, atol=1e-6)


@pytest.mark.parametrize("missing", [[], [1, 4]])
def test_crf_losses_have_the_gradients_of_central_differences(missing: list[int]) -> None:
    scores, transitions, gold = random_scores(2), random_scores(1, 9)[0], without(GOLD, *missing)
    _, *gradients = crf_losses(scores, LENGTHS, transitions, gold)
    for values, gradient in zip((scores, transitions), gradients, strict=True):
        expected = differences(lambda: crf_losses(scores, LENGTHS, transitions, gold)[0], values)
        assert_allclose(gradient, expected, atol=1e-7)


def test_crf_losses_take_no_tokens() -> None:
    scores = numpy.zeros((2, 0, 9), dtype="float32")
    transitions = numpy.zeros((9, 9), dtype="float32")
    loss, d_scores, d_transitions = crf_losses(scores, LENGTHS * 0, transitions, GOLD[:0])
    assert loss == 0
    assert d_scores.shape == (2, 0, 9)
    assert_array_equal(d_transitions, transitions)


# All of them


def test_losses_write_to_nothing_passed_in() -> None:
    scores, transitions = random_scores(2), random_scores(1, 9)[0]
    gold, lengths = without(GOLD, 1), LENGTHS.copy()
    for array in (scores, transitions, gold, lengths):
        array.setflags(write=False)
    results = (
        *cross_entropy(scores, gold)[1:],
        *crf_losses(scores, lengths, transitions, gold)[1:],
    )
    for gradient in results:  # no view of what was passed in
        gradient += 1


def test_losses_are_the_same_on_all_devices(ops: Ops) -> None:
    scores, transitions = random_scores(2), random_scores(1, 9)[0]
    gold = without(GOLD, 1)
    there, transitions_there = ops.asarray(scores), ops.asarray(transitions)
    for results, expected in (
        (cross_entropy(there, gold), cross_entropy(scores, gold)),
        (
            crf_losses(there, LENGTHS, transitions_there, gold),
            crf_losses(scores, LENGTHS, transitions, gold),
        ),
    ):
        assert_allclose(results[0], expected[0])
        for gradient, reference in zip(results[1:], expected[1:], strict=True):
            assert isinstance(gradient, type(there))
            assert_allclose(to_numpy(gradient), reference, atol=1e-6)
