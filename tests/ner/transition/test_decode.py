"""The compiled decoder takes the actions that spaCy's greedy recognizer takes."""

from collections.abc import Iterator

import numpy
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from spacy.pipeline import EntityRecognizer
from spacy.tokens import Doc
from thinc.api import Ops

from spacy_multihash import BatchEntityRecognizer
from spacy_multihash.compute.dispatch import use_kernels
from spacy_multihash.ner.biluo import Entities
from spacy_multihash.ner.docs import lengths_of
from spacy_multihash.ner.transition import component
from spacy_multihash.ner.transition.actions import ANY_LABEL, NO_ACTION, NO_LABEL, Actions
from spacy_multihash.ner.transition.rules import Rules, rules_of, valid_inside
from spacy_multihash.ner.transition.scores import Batch
from spacy_multihash.ner.transition.starts import Parts
from spacy_multihash.ner.transition.states import Weights, weights_of
from tests.helpers.transition import (
    Case,
    assert_same,
    batches,
    both,
    cases,
    make_docs,
    recognizer,
)

kernels = pytest.importorskip("spacy_multihash.compute.kernels", reason="needs the kernels")

SETTINGS = {"deadline": None, "suppress_health_check": list(HealthCheck)}


@pytest.fixture(params=kernels.available(), autouse=True)
def instruction_set(request: pytest.FixtureRequest) -> Iterator[None]:
    former = use_kernels(request.param)
    yield
    use_kernels(former)


def read(pipe: EntityRecognizer, docs: list[Doc]) -> tuple[numpy.ndarray, Weights, Actions, Rules]:
    X = pipe.model.get_ref("tok2vec").predict(docs)
    actions = pipe._actions()
    return X, weights_of(pipe.model, X), actions, rules_of(docs, actions)


def whole(docs: list[Doc]) -> Parts:
    ends = lengths_of(docs).cumsum()
    begins = ends - lengths_of(docs)
    return Parts(begins, ends, begins, numpy.full(len(docs), NO_LABEL))


def features_inside(i: int, start: int, nF: int) -> list[int]:
    return [i, start, i - 1] if nF == 3 else [i, *range(start, i)][:nF]


def hidden_of(X: numpy.ndarray, weights: Weights, features: list[int]) -> numpy.ndarray:
    """Compute the hidden layer of a state in float64."""
    nF, _, nI = weights.W.shape
    W = weights.W.reshape(nF, -1, weights.nP, nI).astype("float64")
    pads = weights.pad.reshape(nF, -1, weights.nP)[len(features) :].sum(axis=0)
    sums = weights.b.reshape(-1, weights.nP) + pads
    sums = sums + sum(W[f] @ X[t].astype("float64") for f, t in enumerate(features))
    return sums.max(axis=1).clip(0 if weights.nP == 1 else None)


def reference_states(
    X: numpy.ndarray,
    weights: Weights,
    actions: Actions,
    rules: Rules,
    parts: Parts,
    mask: numpy.ndarray | None,
) -> list[tuple[int, int, int, int, numpy.ndarray]]:
    """Row, start of the open entity, label, action and hidden layer of each state, in float64."""
    states, row = [], 0
    for begin, end, start, label in zip(*(column.tolist() for column in parts), strict=True):
        for i in range(begin, end):
            features = [i] if label == NO_LABEL else features_inside(i, start, len(weights.W))
            hidden = hidden_of(X, weights, features)
            if mask is not None:
                hidden = hidden * mask[row + i - begin]
            scores = hidden
            if weights.upper is not None:
                scores = weights.upper.astype("float64") @ hidden + weights.upper_b
            if weights.unseen is not None:
                scores = numpy.where(weights.unseen, -1e30, scores)
            action = best_valid(scores, actions, rules, i, label)
            states.append(
                (row + i - begin, -1 if label == NO_LABEL else start, label, action, hidden)
            )
            if action == NO_ACTION:
                break
            if action in actions.B:
                start, label = i, actions.B.tolist().index(action)
            elif label != NO_LABEL and action != actions.I[label]:
                label = NO_LABEL
        row += end - begin
    return states


def best_valid(scores: numpy.ndarray, actions: Actions, rules: Rules, i: int, label: int) -> int:
    valid = []
    if label == NO_LABEL:
        for number in range(len(actions.labels)):
            valid += [actions.B[number]] * int(rules.begins[i] in (ANY_LABEL, number))
            valid += [actions.U[number]] * int(rules.units[i] in (ANY_LABEL, number))
        valid += [actions.O] * int(rules.outside[i])
        valid += [actions.blocked] * int(rules.blocked[i])
    else:
        steps = valid_inside(rules, actions, numpy.array([i]), numpy.array([label]))
        valid += [steps.I[0], steps.L[0]]
    valid = sorted({int(column) for column in valid} - {NO_ACTION})
    return max(valid, key=lambda column: scores[column], default=NO_ACTION)


def decoded(batch: Batch, ops: Ops) -> Entities:
    starts = (batch.rules.ends != numpy.append(-1, batch.rules.ends[:-1])).nonzero()[0]
    parts = Parts(starts, batch.rules.ends[starts], starts, numpy.full(len(starts), NO_LABEL))
    return Entities(*kernels.decode(batch.X, batch.weights, batch.actions, batch.rules, parts))


@given(data=st.data())
@settings(**SETTINGS, max_examples=60)
def test_entities_are_those_of_spacys_ner(data: st.DataObject) -> None:
    case = data.draw(cases())
    tokens = data.draw(batches([*case.labels, *case.later, "NEW"]))
    ner, ours = both(case)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(component, "find_entities", decoded)
        assert_same(ner, ours, make_docs(ner.vocab, tokens))


@given(data=st.data())
@settings(**SETTINGS, max_examples=60)
def test_visited_states_are_those_of_a_plain_loop(data: st.DataObject) -> None:
    case = data.draw(cases())
    ours = recognizer(BatchEntityRecognizer, case)
    docs = make_docs(ours.vocab, data.draw(batches([*case.labels, *case.later])))
    docs = [doc for doc in docs if len(doc)]
    if not docs:
        return
    ours._add_labels_of(docs)
    X, weights, actions, rules = read(ours, docs)
    offsets = lengths_of(docs).cumsum() - lengths_of(docs)
    spans = [sorted(data.draw(st.tuples(*[st.integers(0, len(doc))] * 2))) for doc in docs]
    parts = Parts(*(numpy.array(spans).T.copy() + offsets), offsets, offsets)
    labels = [
        data.draw(st.integers(0, len(actions.labels) - 1))
        if actions.labels and begin > offset and data.draw(st.booleans())
        else NO_LABEL
        for begin, offset in zip(parts.begins, offsets, strict=True)
    ]
    parts = parts._replace(labels=numpy.array(labels))
    R = int((parts.ends - parts.begins).sum())
    mask = None
    if weights.upper is not None and data.draw(st.booleans()):
        rng = numpy.random.default_rng(0)
        mask = (rng.random((R, weights.upper.shape[1])) < 0.5).astype("float32") * 2
    states = reference_states(X, weights, actions, rules, parts, mask)
    starts, labels, columns, hidden, which = kernels.decode_states(
        X, weights, actions, rules, parts, mask
    )
    rows = [row for row, *_ in states]
    assert [state[1] for state in states] == starts[rows].tolist()
    assert [state[2] for state in states] == labels[rows].tolist()
    assert [state[3] for state in states] == columns[rows].tolist()
    assert set(columns[numpy.setdiff1d(numpy.arange(R), rows)].tolist()) <= {NO_ACTION}
    if states:
        numpy.testing.assert_allclose(
            hidden[rows], [state[4] for state in states], rtol=1e-4, atol=1e-5
        )


def test_a_doc_longer_than_a_run_is_decoded_as_any_other() -> None:
    ours = recognizer(BatchEntityRecognizer, Case(favours={"I": 2.0}))
    words = ["Anna"] * 500
    docs = [Doc(ours.vocab, words=words)]
    X, weights, actions, rules = read(ours, docs)
    states = reference_states(X, weights, actions, rules, whole(docs), None)
    found = kernels.decode_states(X, weights, actions, rules, whole(docs), None)
    assert [state[3] for state in states] == found[2].tolist()


def test_ties_go_to_the_first_action() -> None:
    ours = recognizer(BatchEntityRecognizer, Case(scale=0.0))
    docs = [Doc(ours.vocab, words=["Anna"] * 4)]
    X, weights, actions, rules = read(ours, docs)
    columns = kernels.decode_states(X, weights, actions, rules, whole(docs), None)[2]
    first, step = actions.outside.min(), min(actions.I[0], actions.L[0])
    assert columns[:2].tolist() == [first, step]


def test_vectors_that_are_nan_take_the_first_valid_action() -> None:
    ours = recognizer(BatchEntityRecognizer, Case())
    docs = [Doc(ours.vocab, words=["Anna"] * 4)]
    X, weights, actions, rules = read(ours, docs)
    X[:] = numpy.nan
    columns, hidden = kernels.decode_states(X, weights, actions, rules, whole(docs), None)[2:4]
    assert columns[0] == actions.outside.min()
    assert numpy.isnan(hidden).all()
