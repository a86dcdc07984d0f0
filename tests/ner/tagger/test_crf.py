"""The linear-chain CRF against sums over all sequences: losses, gradients, probabilities."""

import tracemalloc

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy.special import log_softmax
from thinc.api import Ops, to_numpy

from spacy_multihash.ner.biluo import MISSING, Constraints, Entities, tag_names
from spacy_multihash.ner.tagger.crf import (
    PathSums,
    begin_marginals,
    crf_loss,
    cross_entropy,
    entity_marginals,
    path_sums,
    probable_entities,
    tagging_loss,
)
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


@given(batches)
def test_crf_loss_and_gradients_are_those_of_all_sequences(batch: Batch) -> None:
    check_against_brute_force(batch)


@pytest.mark.parametrize("factor", [150, 500])
def test_crf_loss_is_right_for_large_transitions(factor: int) -> None:
    batch = Batch([4, 3, 4, 1], missing=0.4, scale=500)
    batch.transitions *= factor
    check_against_brute_force(batch)


def test_crf_loss_ignores_forbidden_transitions() -> None:
    batch = Batch([4, 3, 2], missing=0.3)
    loss, d_scores, d_transitions = batch.loss()
    forbidden = numpy.ones((9, 9), dtype=bool)
    for tags in valid_sequences(2, 4):
        for pair in zip(tags, tags[1:], strict=False):
            forbidden[pair] = False
    assert not d_transitions[forbidden].any()
    batch.transitions[forbidden] = numpy.nan
    other = batch.loss()
    assert loss == other[0]
    assert_array_equal(d_scores, other[1])
    assert_array_equal(d_transitions, other[2])


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


LENGTHS = numpy.array([3, 0, 1, 2])
# Of 9 tags, those of 2 labels: B-0 I-0 L-0, U-1, O U-0
GOLD = numpy.array([1, 3, 5, 8, 0, 7])


def random_scores(passes: int, tokens: int = 6, nO: int = 9, seed: int = 0) -> numpy.ndarray:
    """(passes, tokens, nO) float64."""
    return numpy.random.default_rng(seed).normal(scale=2, size=(passes, tokens, nO))


def without(gold: numpy.ndarray, *tokens: int) -> numpy.ndarray:
    gold = gold.copy()
    gold[list(tokens)] = MISSING
    return gold


@given(
    st.integers(1, 3),
    st.lists(st.integers(MISSING, 4), max_size=5),
    st.sampled_from([0.0, 1.0, 50.0, 1e4]),
    st.integers(0, 2**32 - 1),
)
def test_cross_entropy_is_that_of_a_log_softmax(
    passes: int, tags: list[int], scale: float, seed: int
) -> None:
    gold = numpy.array(tags, dtype="int64")
    scores = (scale * random_scores(passes, len(gold), 5, seed)).astype("float32")
    loss, d_scores = cross_entropy(scores, gold)
    logs, known = log_softmax(scores.astype("float64"), axis=2), gold != MISSING
    expected = numpy.exp(logs) * known[:, None]
    expected[:, known, gold[known]] -= 1
    assert d_scores.dtype == "float32"
    expected_loss = -logs[:, known, gold[known]].sum() / passes
    assert_allclose(loss, expected_loss, rtol=1e-5, atol=1e-5)
    assert_allclose(d_scores, expected / passes, atol=1e-6)


@pytest.mark.parametrize("missing", [[], [1, 4], [0, 1, 2, 3, 4, 5]])
def test_losses_of_passes_are_the_mean_over_passes(missing: list[int]) -> None:
    scores, transitions, gold = random_scores(3), random_scores(1, 9)[0], without(GOLD, *missing)
    means = tagging_loss(scores, LENGTHS, transitions, gold)
    passes = [crf_loss(of_pass, LENGTHS, transitions, gold) for of_pass in scores]
    losses, d_scores, d_transitions = zip(*passes, strict=True)
    assert_allclose(means[0], sum(losses) / 3)
    assert_allclose(means[1], numpy.array(d_scores) / 3, atol=1e-7)
    assert_allclose(means[2], sum(d_transitions) / 3, atol=1e-6)


# Both losses, and probabilities


def all_entities(lengths: list[int], num_labels: int) -> Entities:
    ends = numpy.cumsum(lengths)
    spans = [
        (first, last + 1, label)
        for end, length in zip(ends.tolist(), lengths, strict=True)
        for first in range(end - length, end)
        for last in range(first, end)
        for label in range(num_labels)
    ]
    return Entities(*numpy.array(spans, dtype="int64").reshape((-1, 3)).T)


def tags_of(start: int, end: int, label: int, num_labels: int) -> list[int]:
    """Number the tags of an entity: those of B, I, L and U lie side by side."""
    kinds = "U" if end == start + 1 else "B" + "I" * (end - start - 2) + "L"
    return [1 + "BILU".index(kind) * num_labels + label for kind in kinds]


def keeps(tags: tuple[int, ...], doc: slice, names: list[str], constraints: Constraints) -> bool:
    refused = [
        (constraints.starts[t] and names[tag][0] in "IL")
        or (constraints.spaces[t] and names[tag][0] in "BU")
        or (constraints.outside[t] and names[tag] != "O")
        for t, tag in enumerate(tags, doc.start)
    ]
    return not any(refused)


def brute_force_marginals(
    batch: Batch, transitions: numpy.ndarray, entities: Entities
) -> list[float]:
    num_labels = len(transitions) // 4
    names = tag_names("XYZ"[:num_labels])
    ends = numpy.cumsum(batch.lengths)
    found = []
    for start, end, label in zip(*entities, strict=True):
        i = numpy.searchsorted(ends, start, side="right")
        doc = slice(ends[i] - batch.lengths[i], ends[i])
        every = valid_sequences(num_labels, int(batch.lengths[i]))
        every = [tags for tags in every if keeps(tags, doc, names, batch.constraints)]
        wanted = tuple(tags_of(start, end, label, num_labels))
        inside = slice(start - doc.start, end - doc.start)
        _, weighted = probabilities(batch.scores[doc], transitions, every)
        found.append(sum(p for tags, p in weighted if tags[inside] == wanted))
    return found


def sums_of(
    batch: Batch, transitions: numpy.ndarray | None, constraints: Constraints | None = None
) -> PathSums:
    return path_sums(batch.scores, batch.lengths, transitions, constraints or batch.constraints)


@settings(max_examples=40)
@given(batches, st.booleans())
def test_entities_and_their_marginals_are_those_of_all_sequences(
    batch: Batch, learned: bool
) -> None:
    nO = batch.scores.shape[1]
    entities = all_entities(batch.lengths.tolist(), nO // 4)
    transitions = batch.transitions if learned else numpy.zeros((nO, nO), dtype="float32")
    sums = sums_of(batch, batch.transitions if learned else None)
    marginals = entity_marginals(sums, entities)
    assert marginals.dtype == "float64"
    assert ((marginals >= 0) & (marginals <= 1)).all()
    expected = numpy.array(brute_force_marginals(batch, transitions, entities))
    assert_allclose(marginals, expected, atol=1e-6)
    begins = numpy.zeros((len(batch.scores), nO // 4))
    numpy.add.at(begins, (entities.starts, entities.labels), expected)
    assert_allclose(begin_marginals(sums), begins, atol=1e-6)
    for above in (1e-12, 0.05, 1.0):
        candidates, listed = probable_entities(sums, above)
        found = dict(zip(zip(*candidates, strict=True), listed.tolist(), strict=True))
        wanted = dict(zip(zip(*entities, strict=True), expected.tolist(), strict=True))
        assert list(found) == sorted(found)  # each once, in order
        assert {key for key, p in wanted.items() if p > above + 1e-6} <= found.keys()
        assert all(p >= above and abs(wanted[key] - p) < 1e-6 for key, p in found.items())


def test_entity_marginals_are_at_most_1_where_sums_of_scores_are_rounded() -> None:
    batch = Batch([30], scale=1e9)
    none = Constraints(*numpy.zeros((3, 30), dtype=bool))
    sums = sums_of(batch, batch.transitions, none)
    assert entity_marginals(sums, all_entities([30], 2)).max() == 1
    assert probable_entities(sums, 0.5)[1].max() == 1


def test_losses_and_probabilities_are_the_same_on_all_devices_and_write_to_no_input(
    ops: Ops,
) -> None:
    scores, transitions = random_scores(2), random_scores(1, 9)[0]
    gold, lengths, batch = without(GOLD, 1), LENGTHS.copy(), Batch([12, 0, 7, 1])
    entities = all_entities(batch.lengths.tolist(), 2)
    arrays = (scores, transitions, gold, lengths, batch.scores, batch.transitions, *entities)
    for array in (*arrays, *batch.constraints):
        array.setflags(write=False)
    there, transitions_there = ops.asarray(scores), ops.asarray(transitions)
    for results, expected in (
        (cross_entropy(there, gold), cross_entropy(scores, gold)),
        (
            tagging_loss(there, lengths, transitions_there, gold),
            tagging_loss(scores, lengths, transitions, gold),
        ),
    ):
        assert_allclose(results[0], expected[0])
        for gradient, reference in zip(results[1:], expected[1:], strict=True):
            assert isinstance(gradient, type(there))
            assert_allclose(to_numpy(gradient), reference, atol=1e-6)
            gradient += 1  # no view of what was passed in
    there, transitions_there = (ops.asarray(x) for x in (batch.scores, batch.transitions))
    of_ops = path_sums(there, batch.lengths, transitions_there, batch.constraints)
    sums = sums_of(batch, batch.transitions)
    assert_allclose(entity_marginals(of_ops, entities), entity_marginals(sums, entities), atol=1e-6)
    none = Entities(*numpy.zeros((3, 0), dtype="int64"))
    assert entity_marginals(sums, none).shape == (0,)
