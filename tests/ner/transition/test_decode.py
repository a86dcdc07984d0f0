"""The loop takes the actions that spaCy's greedy recognizer takes, compiled or not."""

import numpy
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spacy_multihash import BatchEntityRecognizer
from spacy_multihash.ner.transition.rules import ANY_LABEL, NO_ACTION, NO_LABEL, valid_inside
from spacy_multihash.ner.transition.states import Batch, Parts, States, visit_states, whole_docs
from tests.helpers.action_sequences import batch_of
from tests.helpers.transition import (
    Case,
    Token,
    assert_same,
    batches,
    both,
    cases,
    make_docs,
    recognizer,
)

pytestmark = pytest.mark.usefixtures("each_kernels")


def read(case: Case, tokens: list) -> Batch:
    ours = recognizer(BatchEntityRecognizer, case)
    return batch_of(ours, make_docs(ours.vocab, tokens))


def reference(batch: Batch, parts: Parts, mask: numpy.ndarray | None) -> dict[int, tuple]:
    """Start of the open entity, label, action and hidden layer of each state, in float64."""
    states, row = {}, 0
    for begin, end, start, label in zip(*(column.tolist() for column in parts), strict=True):
        for i in range(begin, end):
            at = row + i - begin
            hidden = hidden_layer(batch, i, start, label)
            if mask is not None:
                hidden = hidden * mask[at]
            action = best_valid(batch, hidden, i, label)
            states[at] = (-1 if label == NO_LABEL else start, label, action, hidden)
            if action == NO_ACTION:
                break
            if action in batch.actions.B:
                start, label = i, batch.actions.B.tolist().index(action)
            elif label != NO_LABEL and action != batch.actions.I[label]:
                label = NO_LABEL
        row += end - begin
    return states


def hidden_layer(batch: Batch, i: int, start: int, label: int) -> numpy.ndarray:
    weights, X = batch.weights, batch.X.astype("float64")
    nF, _, nI = weights.W.shape
    W = weights.W.reshape(nF, -1, weights.nP, nI).astype("float64")
    b, pad = weights.b.reshape(-1, weights.nP), weights.pad.reshape(nF, -1, weights.nP)
    if label == NO_LABEL:
        tokens = [i]
    elif nF == 3:
        tokens = [i, start, i - 1]
    else:
        tokens = [i, *range(start, i)][:nF]
    sums = b + sum(W[f] @ X[t] for f, t in enumerate(tokens)) + pad[len(tokens) :].sum(0)
    hidden: numpy.ndarray = sums.max(axis=1)
    return hidden.clip(0) if weights.nP == 1 else hidden


def best_valid(batch: Batch, hidden: numpy.ndarray, i: int, label: int) -> int:
    _, weights, rules, actions = batch
    scores = hidden
    if weights.upper is not None:
        scores = weights.upper.astype("float64") @ hidden + weights.upper_b
    if weights.unseen is not None:
        scores = numpy.where(weights.unseen, -1e30, scores)
    valid = []
    if label == NO_LABEL:
        begins, units, _, _, outside, blocked = rules.table[:, i].tolist()
        for number in range(len(actions.labels)):
            valid += [actions.B[number]] * int(begins in (ANY_LABEL, number))
            valid += [actions.U[number]] * int(units in (ANY_LABEL, number))
        valid += [actions.O] * outside
        valid += [actions.blocked] * blocked
    else:
        steps = valid_inside(rules, actions, numpy.array([i]), numpy.array([label]))
        valid += [steps.I[0], steps.L[0]]
    valid = sorted({int(column) for column in valid} - {NO_ACTION})
    return max(valid, key=lambda column: scores[column], default=NO_ACTION)


def assert_states(found: States, expected: dict[int, tuple]) -> None:
    rows = list(expected)
    for values, column in zip(found[:3], range(3), strict=True):
        assert values[rows].tolist() == [state[column] for state in expected.values()]
    assert numpy.flatnonzero(found.labels != ANY_LABEL).tolist() == rows
    if rows:
        hidden = [state[3] for state in expected.values()]
        numpy.testing.assert_allclose(found.hidden[rows], hidden, rtol=1e-4, atol=1e-5)


@given(data=st.data())
@settings(max_examples=15, suppress_health_check=list(HealthCheck))
def test_entities_are_those_of_spacys_ner(data: st.DataObject) -> None:
    case = data.draw(cases(most_labels=data.draw(st.sampled_from([6, 6, 6, 100]))))
    tokens = data.draw(batches([*case.labels, *case.later, "NEW"]))
    ner, ours = both(case)
    assert_same(ner, ours, make_docs(ner.vocab, tokens))
    assert ours.move_names == ner.move_names
    assert ours.label_data == ner.label_data
    assert ours.model.attrs["unseen_classes"] == ner.model.attrs["unseen_classes"]


@given(data=st.data())
@settings(max_examples=15, suppress_health_check=list(HealthCheck))
def test_visited_states_are_those_of_a_plain_loop(data: st.DataObject) -> None:
    case = data.draw(cases())
    docs = [tokens for tokens in data.draw(batches([*case.labels, *case.later])) if tokens]
    if not docs:
        return
    batch = read(case, docs)
    lengths = numpy.array([len(doc) for doc in docs])
    offsets = lengths.cumsum() - lengths
    spans = [sorted(data.draw(st.tuples(*[st.integers(0, len(doc))] * 2))) for doc in docs]
    begins, ends = numpy.array(spans).T.copy() + offsets
    labels = [
        data.draw(st.integers(0, len(batch.actions.labels) - 1))
        if batch.actions.labels and begin > offset and data.draw(st.booleans())
        else NO_LABEL
        for begin, offset in zip(begins, offsets, strict=True)
    ]
    parts = Parts(begins, ends, offsets, numpy.array(labels))
    R = int((parts.ends - parts.begins).sum())
    mask = None
    if batch.weights.upper is not None and data.draw(st.booleans()):
        rng = numpy.random.default_rng(0)
        mask = (rng.random((R, batch.weights.upper.shape[1])) < 0.5).astype("float32") * 2
    assert_states(visit_states(batch, parts, mask), reference(batch, parts, mask))


def test_a_doc_longer_than_a_run_is_decoded_as_any_other() -> None:
    batch = read(Case(favours={"I": 2.0}), [[Token()] * 500])
    parts = whole_docs(batch.rules.doc_ends)
    assert_states(visit_states(batch, parts, None), reference(batch, parts, None))


def test_ties_go_to_the_first_action() -> None:
    batch = read(Case(scale=0.0), [[Token()] * 4])
    columns = visit_states(batch, whole_docs(batch.rules.doc_ends), None).columns
    actions = batch.actions
    first = min(*actions.B.tolist(), *actions.U.tolist(), actions.O)
    assert columns[:2].tolist() == [first, min(actions.I[0], actions.L[0])]


def test_vectors_that_are_nan_take_the_first_valid_action() -> None:
    batch = read(Case(), [[Token()] * 4])
    batch.X[:] = numpy.nan
    states = visit_states(batch, whole_docs(batch.rules.doc_ends), None)
    actions = batch.actions
    assert states.columns[0] == min(*actions.B.tolist(), *actions.U.tolist(), actions.O)
    assert numpy.isnan(states.hidden).all()
