"""How sure a model is of entities, against sums over all sequences of tags."""

import numpy
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from thinc.api import Ops

from spacy_multihash.ner.biluo import MISSING, Constraints, Entities, tag_names
from spacy_multihash.ner.tagger.marginals import entity_marginals
from tests.helpers.linear_chain import Batch, batches, log_total, probabilities, valid_sequences


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


def keeps(tags: tuple[int, ...], doc: slice, names: list[str], constraints: Constraints) -> bool:
    for t, tag in enumerate(tags, doc.start):
        kind = names[tag][0]
        if constraints.starts[t] and kind in "IL":
            return False
        if constraints.spaces[t] and kind in "BU":
            return False
        if constraints.outside[t] and kind != "O":
            return False
    return True


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
        kinds = "U" if end == start + 1 else "B" + "I" * (end - start - 2) + "L"
        wanted = tuple(names.index(f"{kind}-{'XYZ'[label]}") for kind in kinds)
        inside = slice(start - doc.start, end - doc.start)
        _, weighted = probabilities(batch.scores[doc], transitions, every)
        found.append(sum(p for tags, p in weighted if tags[inside] == wanted))
    return found


@settings(max_examples=40)
@given(batches, st.booleans())
def test_entity_marginals_are_sums_over_all_sequences(batch: Batch, learned: bool) -> None:
    nO = batch.scores.shape[1]
    entities = all_entities(batch.lengths.tolist(), nO // 4)
    transitions = batch.transitions if learned else numpy.zeros((nO, nO), dtype="float32")
    marginals = entity_marginals(
        batch.scores,
        batch.lengths,
        batch.transitions if learned else None,
        entities,
        batch.constraints,
    )
    assert marginals.dtype == "float32"
    assert ((marginals >= 0) & (marginals <= 1)).all()
    assert_allclose(marginals, brute_force_marginals(batch, transitions, entities), atol=1e-6)


def test_entity_marginals_of_a_batch_are_those_of_its_docs_one_by_one() -> None:
    lengths = [3, 30, 0, 17, 1, 30]
    batch = Batch(lengths, 4)
    entities = all_entities(lengths, 4)
    marginals = entity_marginals(
        batch.scores, batch.lengths, batch.transitions, entities, batch.constraints
    )
    for end, length in zip(numpy.cumsum(lengths), lengths, strict=True):
        doc = slice(end - length, end)
        mine = (entities.starts >= doc.start) & (entities.ends <= doc.stop)
        starts, ends, labels = (array[mine] for array in entities)
        alone = entity_marginals(
            batch.scores[doc],
            numpy.array([length]),
            batch.transitions,
            Entities(starts - doc.start, ends - doc.start, labels),
            Constraints(*(known[doc] for known in batch.constraints)),
        )
        assert_allclose(marginals[mine], alone, atol=1e-6)


def test_entity_marginals_of_all_that_may_begin_with_a_token_sum_to_at_most_1() -> None:
    batch = Batch([12, 5], 3)
    entities = all_entities([12, 5], 3)
    none = Constraints(*numpy.zeros((3, 17), dtype=bool))
    marginals = entity_marginals(batch.scores, batch.lengths, batch.transitions, entities, none)
    for token in range(17):
        assert 0 < marginals[entities.starts == token].sum() <= 1 + 1e-6


def test_entity_marginals_of_what_is_ruled_out_are_0() -> None:
    batch = Batch([4])
    starts, spaces, outside = numpy.zeros((3, 4), dtype=bool)
    starts[[0, 2]], spaces[0], outside[3] = True, True, True
    # Begins with whitespace, reaches across a sentence, has a token that is outside, is possible
    entities = Entities(*numpy.array([[0, 1, 2, 1], [1, 3, 4, 2], [0, 0, 0, 0]]))
    marginals = entity_marginals(
        batch.scores, batch.lengths, None, entities, Constraints(starts, spaces, outside)
    )
    assert marginals[:3].tolist() == [0, 0, 0]
    assert marginals[3] > 0


@pytest.mark.parametrize("size", [1, 2, 3, 6])
def test_entity_marginals_count_the_transitions_within_an_entity(size: int) -> None:
    names, first, length = tag_names("WX"), 2, 10
    kinds = "U" if size == 1 else "B" + "I" * (size - 2) + "L"
    known = numpy.full(length, MISSING)
    known[first : first + size] = [names.index(f"{kind}-X") for kind in kinds]
    scores = numpy.zeros((length, len(names)), dtype="float32")
    scores[numpy.flatnonzero(known != MISSING), known[known != MISSING]] = 3
    transitions = Batch([length]).transitions
    one = Entities(*numpy.array([[first], [first + size], [1]]))
    none = Constraints(*numpy.zeros((3, length), dtype=bool))
    found = entity_marginals(scores, numpy.array([length]), transitions, one, none)
    paths = [log_total(scores, transitions, tags) for tags in (known, numpy.full(length, MISSING))]
    expected = numpy.exp(paths[0] - paths[1])
    assert expected > 0.01
    assert_allclose(found, [expected], rtol=1e-5)


@pytest.mark.parametrize("scale", [2, 500])
def test_entity_marginals_of_long_docs_are_those_of_a_loop_over_tokens(scale: int) -> None:
    batch = Batch([5000, 3], 4, scale=scale)
    best = batch.scores[:5000, 13:].max(axis=1).argsort()[-3:].tolist()  # of U of each label
    spans = [(10, 4990, 1), (10, 11, 2), (2500, 2502, 0)]
    spans += [(token, token + 1, int(batch.scores[token, 13:].argmax())) for token in best]
    entities = Entities(*numpy.array(sorted(spans)).T)
    constraints = Constraints(*numpy.zeros((3, 5003), dtype=bool))
    marginals = entity_marginals(batch.scores, batch.lengths, None, entities, constraints)
    scores, none = batch.scores[:5000], numpy.zeros((17, 17))
    names = tag_names("WXYZ")
    total = log_total(scores, none, numpy.full(5000, MISSING))
    expected = []
    for start, end, label in zip(*entities, strict=True):
        known = numpy.full(5000, MISSING)
        kinds = "U" if end == start + 1 else "B" + "I" * (end - start - 2) + "L"
        known[start:end] = [names.index(f"{kind}-{'WXYZ'[label]}") for kind in kinds]
        expected.append(numpy.exp(log_total(scores, none, known) - total))
    assert max(expected) > 0.05
    assert_allclose(marginals, expected, rtol=1e-5, atol=1e-9)


def test_entity_marginals_are_at_most_1_where_sums_of_scores_are_rounded() -> None:
    batch = Batch([30], scale=1e9)
    none = Constraints(*numpy.zeros((3, 30), dtype=bool))
    marginals = entity_marginals(
        batch.scores, batch.lengths, batch.transitions, all_entities([30], 2), none
    )
    assert marginals.max() == 1


@pytest.mark.parametrize("lengths", [[], [0], [0, 0], [3]])
def test_confidences_take_no_entities(lengths: list[int]) -> None:
    batch = Batch(lengths)
    none = Entities(*numpy.zeros((3, 0), dtype="int64"))
    marginals = entity_marginals(
        batch.scores, batch.lengths, batch.transitions, none, batch.constraints
    )
    assert marginals.shape == (0,)


def test_confidences_write_to_nothing_passed_in() -> None:
    batch = Batch([4, 3])
    entities = all_entities([4, 3], 2)
    arrays = (batch.scores, batch.lengths, batch.transitions, *entities, *batch.constraints)
    for array in arrays:
        array.setflags(write=False)
    arguments = (batch.lengths, batch.transitions, entities, batch.constraints)
    assert len(entity_marginals(batch.scores, *arguments)) == len(entities.starts)


def test_confidences_are_the_same_on_all_devices(ops: Ops) -> None:
    lengths = [12, 0, 7, 1]
    batch = Batch(lengths, 4)
    scores, transitions = ops.asarray(batch.scores), ops.asarray(batch.transitions)
    entities = all_entities(lengths, 4)
    arguments = (batch.lengths, batch.transitions, entities, batch.constraints)
    marginals = entity_marginals(scores, batch.lengths, transitions, entities, batch.constraints)
    assert_allclose(marginals, entity_marginals(batch.scores, *arguments), atol=1e-6)
