"""The gradient of batch_ner against central differences, and a fault in that of spaCy's ner."""

import numpy
import pytest
from spacy.training import Example

from tests.helpers.transition import Case
from tests.helpers.transition_training import (
    LABELS,
    WRONG,
    States,
    assert_same_gradients,
    ours,
    plain_example,
    theirs,
    true_gradients,
    update,
)

CASES = {
    f"{features} features, {'with' if upper else 'no'} upper, {pieces} pieces": Case(
        LABELS,
        extra_state_tokens=features == 6,
        use_upper=upper,
        maxout_pieces=pieces,
        wrong_key=WRONG,
        cut_size=5,
        scale=0.7,
        favours={"B": 1.0},
    )
    for features in (3, 6)
    for upper in (True, False)
    for pieces in (1, 2)
}
of_all = pytest.mark.parametrize("case", CASES.values(), ids=CASES)
TAGS = [
    ["B-A", "I-A", "I-A", "O", "B-B", "I-B", "O", "B-C", "O", "O"],
    ["O", "B-C", "I-C", "I-C", "I-C", "I-C", "I-C", "O"],
    ["", "B-B", "", ""],
    ["O", "O", "B-A"],
]


def batch() -> list[Example]:
    return [plain_example(tags, (1, 3, "B")) for tags in TAGS]


def visited(case: Case) -> States:
    """List the states that spaCy visits in its update."""
    stepwise = theirs(case)
    update(stepwise, batch())
    features, costs = map(numpy.concatenate, zip(*stepwise.steps, strict=True))
    assert (features[:, 1] >= 0).sum() > 1
    least = costs.min(axis=1, keepdims=True)
    return States(features, (costs == least) & (least <= 1))


@of_all
def test_gradient_is_that_of_the_log_loss_and_spacys_takes_the_last_token_for_a_missing_one(
    case: Case,
) -> None:
    true = update(ours(case, spacy_gradient=False), batch()).gradients
    expected = true_gradients(ours(case).model, sum(map(len, TAGS)), visited(case))
    assert_same_gradients(true, expected)
    of_lower = true.pop("lower W")
    for component in (theirs(case), ours(case, spacy_gradient=True)):
        given = update(component, batch()).gradients
        away = abs(given.pop("lower W") - of_lower).max(axis=(1, 2, 3))
        assert_same_gradients(given, true)
        assert away[0] < 1e-5
        assert (away[1:] > 0.1 * abs(of_lower[0]).max()).all()
