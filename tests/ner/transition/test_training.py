"""Updates of batch_ner, against those of spaCy's own ner."""

import pytest
from hypothesis import HealthCheck, assume, given, settings
from hypothesis import strategies as st
from spacy.training import Example

from tests.helpers.transition_training import (
    Setup,
    Stepwise,
    assert_same_gradients,
    examples,
    ours,
    recognizer,
    setups,
    update,
)

BATCHES = st.lists(examples(), min_size=1, max_size=4)


@settings(max_examples=300, suppress_health_check=[HealthCheck.too_slow])
@given(setups(), BATCHES)
def test_update_is_spacys(setup: Setup, batch: list[Example]) -> None:
    stepwise = recognizer(Stepwise, setup)
    expected = update(stepwise, batch, setup.seed)
    assume(not stepwise.took_unseen)
    found = update(ours(setup), batch, setup.seed)
    assert found.error[:6] == expected.error[:6]
    if not expected.error:
        assert found.losses == pytest.approx(expected.losses, rel=1e-4, abs=1e-5)
        assert_same_gradients(found.gradients, expected.gradients)
        assert found.unseen == expected.unseen
