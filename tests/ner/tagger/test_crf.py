import tracemalloc

import numpy
import pytest
from hypothesis import given, settings
from numpy.testing import assert_allclose, assert_array_equal
from thinc.api import Ops, to_numpy

from spacy_multihash.ner.biluo import MISSING
from spacy_multihash.ner.tagger.crf import crf_loss
from tests.helpers.linear_chain import Batch, batches, log_total, probabilities, valid_sequences


def brute_force(
    scores: numpy.ndarray, lengths: list[int], transitions: numpy.ndarray, gold: numpy.ndarray
) -> tuple[float, numpy.ndarray, numpy.ndarray]:
    loss, start = 0.0, 0
    d_scores, d_transitions = numpy.zeros(scores.shape), numpy.zeros(transitions.shape)
    for length in lengths:
        doc = slice(start, start + length)
        every = valid_sequences(transitions.shape[0] // 4, length)
        agreeing = [
            tags
            for tags in every
            if all(known in (MISSING, tag) for known, tag in zip(gold[doc], tags, strict=True))
        ]
        for sign, sequences in ((1, every), (-1, agreeing)):
            total, weighted = probabilities(scores[doc], transitions, sequences)
            loss += sign * total
            for tags, p in weighted:
                for t, tag in enumerate(tags):
                    d_scores[start + t, tag] += sign * p
                for pair in zip(tags, tags[1:], strict=False):
                    d_transitions[pair] += sign * p
        start += length
    return loss, d_scores, d_transitions


def check_against_brute_force(batch: Batch) -> None:
    loss, d_scores, d_transitions = batch.loss()
    expected = brute_force(batch.scores, batch.lengths, batch.transitions, batch.gold)
    assert d_scores.dtype == d_transitions.dtype == "float32"
    assert_allclose(loss, expected[0], rtol=1e-9, atol=1e-9)
    assert_allclose(d_scores, expected[1], atol=1e-6)
    assert_allclose(d_transitions, expected[2], atol=1e-6)


@settings(max_examples=60)
@given(batches)
def test_crf_loss_and_gradients_are_those_of_all_sequences(batch: Batch) -> None:
    check_against_brute_force(batch)


@pytest.mark.parametrize("factor", [150, 500])
def test_crf_loss_is_right_for_large_transitions(factor: int) -> None:
    batch = Batch([4, 3, 4, 1], missing=0.4, scale=500)
    batch.transitions *= factor
    check_against_brute_force(batch)


def test_crf_loss_is_right_where_only_the_inside_of_an_entity_is_possible() -> None:
    batch = Batch([4, 3])
    batch.scores -= 1000
    batch.gold[:] = [1, MISSING, MISSING, 0, MISSING, 3, MISSING]
    check_against_brute_force(batch)


@pytest.mark.parametrize("missing", [0.0, 0.4])
def test_crf_loss_has_the_gradients_of_central_differences(missing: float) -> None:
    batch = Batch([3, 0, 4, 1, 2], missing=missing)
    scores, transitions = batch.scores.astype("float64"), batch.transitions.astype("float64")
    _, *gradients = crf_loss(scores, batch.lengths, transitions, batch.gold)
    for values, gradient in zip((scores, transitions), gradients, strict=True):
        expected = numpy.zeros(values.shape)
        for index in numpy.ndindex(*values.shape):
            value = values[index]
            for sign in (1, -1):
                values[index] = value + sign * 1e-5
                loss, *_ = crf_loss(scores, batch.lengths, transitions, batch.gold)
                expected[index] += sign * loss / 2e-5
            values[index] = value
        assert_allclose(gradient, expected, atol=1e-7)


def test_crf_loss_of_a_batch_is_that_of_its_docs_one_by_one() -> None:
    lengths = [3, 30, 0, 17, 1, 30]
    batch = Batch(lengths, 4, missing=0.5)
    loss, d_scores, d_transitions = batch.loss()
    losses, all_d_transitions = 0.0, numpy.zeros(d_transitions.shape)
    for end, length in zip(numpy.cumsum(lengths), lengths, strict=True):
        doc = slice(end - length, end)
        one = crf_loss(batch.scores[doc], [length], batch.transitions, batch.gold[doc])
        losses += one[0]
        all_d_transitions += one[2]
        assert_allclose(d_scores[doc], one[1], atol=1e-6)
    assert_allclose(loss, losses)
    assert_allclose(d_transitions, all_d_transitions, atol=1e-5)


def test_crf_loss_stays_when_all_scores_of_a_token_grow() -> None:
    batch = Batch([4, 2, 3], missing=0.3)
    loss, *gradients = batch.loss()
    batch.scores += numpy.arange(9, dtype="float32")[:, None] * 32
    other, *others = batch.loss()
    assert_allclose(loss, other, rtol=1e-5)
    for gradient, expected in zip(gradients, others, strict=True):
        assert_allclose(gradient, expected, atol=1e-5)


def test_crf_loss_is_near_0_for_certain_gold() -> None:
    batch = Batch([4, 4, 2])
    batch.scores[numpy.arange(10), batch.gold] += 100
    loss, d_scores, d_transitions = batch.loss()
    assert 0 <= loss < 1e-9
    assert_allclose(d_scores, 0, atol=1e-9)
    assert_allclose(d_transitions, 0, atol=1e-9)


def test_crf_gradients_sum_to_0() -> None:
    batch = Batch([4, 1, 3], missing=0.3)
    _, d_scores, d_transitions = batch.loss()
    assert_allclose(d_scores.sum(axis=1), 0, atol=1e-6)
    assert_allclose(d_transitions.sum(), 0, atol=1e-6)


def test_crf_loss_is_the_same_beside_a_doc_without_known_tags() -> None:
    batch = Batch([4, 0, 2, 3])
    loss, *gradients = batch.loss()
    other = Batch([4, 0, 2, 3, 2])
    other.scores[:9], other.gold[:9], other.gold[9:] = batch.scores, batch.gold, MISSING
    other.transitions = batch.transitions
    other_loss, d_scores, d_transitions = other.loss()
    assert_allclose(loss, other_loss)
    assert_allclose(gradients[0], d_scores[:9], atol=1e-6)
    assert_allclose(gradients[1], d_transitions, atol=1e-6)


@pytest.mark.parametrize("missing", [0.0, 0.5])
def test_crf_loss_of_scores_that_are_not_numbers_is_none(missing: float) -> None:
    batch = Batch([4, 3], missing=missing)
    batch.scores[2, 1] = numpy.nan
    with numpy.errstate(invalid="ignore"):
        assert numpy.isnan(batch.loss()[0])


def test_crf_loss_of_docs_without_known_tags_is_0() -> None:
    batch = Batch([40, 3, 25], 4, missing=1.0)
    loss, d_scores, d_transitions = batch.loss()
    assert loss == 0
    assert not d_scores.any()
    assert not d_transitions.any()


def test_crf_loss_ignores_forbidden_transitions_and_writes_to_no_input() -> None:
    batch = Batch([4, 3, 2], missing=0.3)
    loss, d_scores, d_transitions = batch.loss()
    forbidden = numpy.ones((9, 9), dtype=bool)
    for tags in valid_sequences(2, 4):
        for pair in zip(tags, tags[1:], strict=False):
            forbidden[pair] = False
    assert not d_transitions[forbidden].any()
    batch.transitions[forbidden] = numpy.nan
    for array in (batch.scores, batch.lengths, batch.transitions, batch.gold):
        array.setflags(write=False)
    other = batch.loss()
    assert loss == other[0]
    assert_array_equal(d_scores, other[1])
    assert_array_equal(d_transitions, other[2])


@pytest.mark.parametrize("lengths", [[], [0], [0, 0]])
def test_crf_loss_takes_no_tokens(lengths: list[int]) -> None:
    batch = Batch(lengths)
    loss, d_scores, d_transitions = batch.loss()
    assert loss == 0
    assert d_scores.shape == (0, 9)
    assert_array_equal(d_transitions, numpy.zeros((9, 9)))


def test_docs_without_labels_have_one_sequence() -> None:
    loss, d_scores, d_transitions = Batch([3, 2], 0).loss()
    assert loss == 0
    assert_array_equal(d_scores, numpy.zeros((5, 1)))
    assert_array_equal(d_transitions, [[0]])


@pytest.mark.parametrize("scale", [2, 500])
def test_crf_loss_of_long_docs_is_that_of_a_loop_over_tokens(scale: int) -> None:
    batch = Batch([5000, 3], 4, scale=scale, missing=0.5)
    loss, d_scores, d_transitions = batch.loss()
    expected = 0.0
    for doc in (slice(0, 5000), slice(5000, 5003)):
        gold = batch.gold[doc]
        for sign, known in ((1, numpy.full(len(gold), MISSING)), (-1, gold)):
            expected += sign * log_total(batch.scores[doc], batch.transitions, known)
    assert_allclose(loss, expected, rtol=1e-9)
    assert_allclose(d_scores.sum(axis=1), 0, atol=1e-5)
    assert numpy.isfinite(d_transitions).all()


def test_crf_loss_needs_memory_for_tokens_and_not_for_pairs_of_tags() -> None:
    batch = Batch([100] * 20, 18, missing=0.5)
    tracemalloc.start()
    batch.loss()
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 20 * batch.scores.size * 8


@pytest.mark.parametrize(
    "tags", [[1, 0], [0, 5], [3, 5], [2, 5], [0, 1], [-1, 3, 0], [9], [-1, 2, -1, 5], [-2]]
)
def test_crf_loss_refuses_tags_that_no_entities_have(tags: list[int]) -> None:
    batch = Batch([0, 2, len(tags), 4])
    batch.gold[2 : 2 + len(tags)] = tags
    with pytest.raises(
        ValueError, match=r"doc 2 .* no entities have.*was, as numbers: \["
    ) as error:
        batch.loss()
    assert str(tags) in str(error.value)


def test_crf_loss_refuses_an_entity_that_reaches_from_doc_to_doc() -> None:
    batch = Batch([2, 0, 1])
    batch.gold[:] = [0, 1, 5]
    with pytest.raises(ValueError, match=r"doc 0 .* was, as numbers: \[0, 1\]"):
        batch.loss()


def test_crf_loss_is_the_same_on_all_devices(ops: Ops) -> None:
    lengths = [12, 0, 7, 1]
    batch = Batch(lengths, 4, missing=0.5)
    scores, transitions = ops.asarray(batch.scores), ops.asarray(batch.transitions)
    loss, *gradients = crf_loss(scores, batch.lengths, transitions, batch.gold)
    expected_loss, *expected = batch.loss()
    assert_allclose(loss, expected_loss)
    for gradient, reference in zip(gradients, expected, strict=True):
        assert isinstance(gradient, type(scores))
        assert_allclose(to_numpy(gradient), reference, atol=1e-6)
