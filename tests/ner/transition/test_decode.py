"""The loop takes the actions that spaCy's greedy recognizer takes, compiled or not."""

import numpy
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from spacy_multihash import BatchEntityRecognizer
from spacy_multihash.ner.transition.states import Batch, visit_states, whole_docs
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


@pytest.mark.parametrize("missing", [(1,), (2,), (3,), (4,), (5,), (4, 5)], ids=str)
@settings(max_examples=10, suppress_health_check=list(HealthCheck))
@given(tokens=batches("AB"))
def test_models_without_some_actions_find_what_spacys_ner_does(
    missing: tuple[int, ...], tokens: list[list[Token]]
) -> None:
    ner, ours = both(Case(missing=missing))
    assert_same(ner, ours, make_docs(ner.vocab, tokens))
    assert ours.move_names == ner.move_names


@settings(max_examples=10, suppress_health_check=list(HealthCheck))
@given(tokens=batches("AB"))
def test_label_without_a_name_is_never_found(tokens: list[list[Token]]) -> None:
    ner, ours = both(Case(labels="A", later=["", "B"], favours={"B": 9.0}))
    assert_same(ner, ours, make_docs(ner.vocab, tokens))


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
