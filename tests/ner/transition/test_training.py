"""Updates of batch_ner, against those of spaCy's own ner."""

from dataclasses import replace
from unittest import mock

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from spacy.tokens import Doc
from spacy.training import Example

from spacy_multihash.ner.transition import training
from tests.helpers.transition import Case
from tests.helpers.transition_training import (
    SETUP,
    VOCAB,
    WRONG,
    assert_same_gradients,
    examples,
    ours,
    plain_example,
    setups,
    theirs,
    update,
    update_both,
)

BATCHES = st.lists(examples(), min_size=1, max_size=4)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(setups(), BATCHES, st.sampled_from([training.CHUNK, training.CHUNK, 1, 3]))
def test_update_is_spacys(case: Case, batch: list[Example], chunk: int) -> None:
    stepwise = theirs(case)
    expected = update(stepwise, batch, case.seed)
    assume(not stepwise.took_unseen)
    with mock.patch.object(training, "CHUNK", chunk):
        given = update(ours(case), batch, case.seed)
    assert given.error[:6] == expected.error[:6]
    if not expected.error:
        assert given.losses == pytest.approx(expected.losses, rel=1e-4, abs=1e-5)
        assert_same_gradients(given.gradients, expected.gradients)
        assert given.unseen == expected.unseen


def colliding_labels() -> tuple[str, str]:
    """Find labels that a set lists in the order in which they came."""
    names = [f"label {n}" for n in range(100)]
    pairs = ((one, other) for one in names for other in names if one != other)
    return next(p for p in pairs if list({p[0], p[1]}) == [*p] and list({p[1], p[0]}) == [*p[::-1]])


def test_new_labels_are_added_in_spacys_order() -> None:
    first, second = colliding_labels()
    plain = Doc(VOCAB, words=["a", "b"])
    batch = [
        Example(plain, Doc(VOCAB, words=["a", "b"], ents=[f"B-{first}", "O"])),
        Example(Doc(VOCAB, words=["a", "b"], ents=["O", f"B-{second}"]), plain.copy()),
    ]
    names = []
    for component in (ours(), theirs()):
        update(component, batch)
        moves = component.moves
        names.append([moves.get_class_name(n) for n in range(moves.n_moves)])
    assert names[0] == names[1]
    assert names[0][-1] in (f"U-{first}", f"U-{second}")


def test_entity_of_the_only_label_that_must_go_on_is_followed() -> None:
    predicted = Doc(VOCAB, words=["a"] * 4, ents=["B-A", "I-A", "I-A", "O"])
    batch = [Example(predicted, plain_example(["B-A", "I-A", "I-A", "I-A"]).reference)]
    given, expected = update_both(replace(SETUP, labels=("A",)), batch)
    assert_same_gradients(given.gradients, expected.gradients)


def test_states_whose_actions_all_cost_more_than_one_have_no_loss() -> None:
    # The entity that is there already must be taken, but is neither right nor allowed
    reference = plain_example(["O"], (0, 1, "A")).reference
    batch = [Example(Doc(VOCAB, words=["a"], ents=["B-A"]), reference)]
    for outcome in update_both(replace(SETUP, wrong_key=WRONG), batch):
        assert outcome.losses == {"ner": 0.0}
        assert not any(values.any() for values in outcome.gradients.values())
