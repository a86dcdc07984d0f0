"""What actions cost, and which are valid, against spaCy's transition system, state by state."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from spacy.pipeline._parser_internals.ner import BiluoPushDown
from spacy.pipeline._parser_internals.stateclass import StateClass
from spacy.training import Example

from spacy_multihash.ner.transition.costs import INVALID, costs_of, outside_costs
from spacy_multihash.ner.transition.rules import NO_LABEL, read_actions
from spacy_multihash.ner.transition.training import prepare
from tests.helpers.transition_training import LABELS, VOCAB, WRONG, examples, plain_example

BATCHES = st.lists(examples(), min_size=1, max_size=3)


class Seen(NamedTuple):
    """What spaCy's actions cost in a state; 9000 for one that is not valid.

    start, label: Of the open entity, -1 for none.
    """

    token: int
    start: int
    label: int
    costs: list[float]


def make_moves() -> BiluoPushDown:
    actions = BiluoPushDown.get_actions(entity_types=LABELS)
    return BiluoPushDown(VOCAB.strings, actions, incorrect_spans_key=WRONG)


def reachable(
    moves: BiluoPushDown, example: Example, offset: int, labels: Sequence[str]
) -> Iterator[Seen]:
    """Visit all states that valid actions lead to, each once."""
    names = [moves.get_class_name(column) for column in range(moves.n_moves)]
    (state,) = moves.init_batch([example.predicted])
    gold = moves.init_gold(state, example)
    waiting: list[tuple[StateClass, int, int]] = [(state, -1, -1)]
    seen = set()
    while waiting:
        state, start, label = waiting.pop()
        token = state.B(0)
        if state.is_final() or (token, start, label) in seen:
            continue
        seen.add((token, start, label))
        costs = [moves.get_cost(state, gold, column) for column in range(moves.n_moves)]
        yield Seen(offset + token, start if start < 0 else offset + start, label, costs)
        for name, cost in zip(names, costs, strict=True):
            assert moves.is_valid(state, name) == (cost < 9000)
            if cost == 9000:
                continue
            following = state.copy()
            moves.apply_transition(following, name)
            kind, _, of_action = name.partition("-")
            if kind == "B":
                waiting.append((following, token, labels.index(of_action)))
            else:
                waiting.append((following, *((start, label) if kind == "I" else (-1, -1))))


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(BATCHES)
def test_costs_and_valid_actions_are_spacys(batch: list[Example]) -> None:
    batch = [example for example in batch if len(example.predicted)]
    if not batch:
        return
    moves = make_moves()
    gold, _ = prepare(batch, read_actions(moves), WRONG, 0)
    states, offset = [], 0
    for example in batch:
        states += reachable(moves, example, offset, gold.actions.labels)
        offset += len(example.predicted)
    expected = numpy.minimum([state.costs for state in states], INVALID)
    tokens, starts, labels = (numpy.array(column) for column in list(zip(*states, strict=True))[:3])
    labels[starts < 0] = NO_LABEL
    assert_array_equal(costs_of(gold, tokens, starts, labels), expected)


@pytest.mark.parametrize(
    ("span", "expected"),
    [((0, 1), ["U-B"]), ((0, 2), []), ((2, 4), ["B-B"]), ((2, 3), ["B-B", "U-B"])],
)
def test_first_action_of_a_wrong_entity_costs_one_more_where_it_can_be_told(
    span: tuple[int, int], expected: list[str]
) -> None:
    # For B that is where only one token is left. spaCy does not ask which entity it would be
    moves, example = make_moves(), plain_example("OOOO", (*span, "B"), (*span, "B"))
    gold, _ = prepare([example], read_actions(moves), WRONG, 0)
    (costs,) = outside_costs(gold, numpy.array(span[:1]))
    names = [moves.get_class_name(column) for column in numpy.flatnonzero(costs == 2)]
    assert sorted(names) == expected
