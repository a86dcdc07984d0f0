"""Settings on corpora that didn't choose them, beside a count by hand."""

import numpy
import pandas
import pytest

from experiments.choice import choose, leave_one_out

GAINS = pandas.DataFrame(
    {"x": [0.9, 0.0, -1.0], "y": [0.0, 0.3, -1.0], "z": [0.0, 0.3, 0.3]}, index=["a", "b", "c"]
)


def test_each_corpus_is_left_out_in_turn() -> None:
    # x: the others' means are 0 (a), 0.3 (b) and -0.35 (c), so b, which gains 0 on x.
    # y: 0.45 (a), 0.15 and -0.35, so a, with 0. z: 0.45, 0.15 and -1, so a, with 0.
    choice = leave_one_out(GAINS)
    assert choice.candidates.to_dict() == {"x": "b", "y": "a", "z": "a"}
    assert choice.gains.to_dict() == {"x": 0.0, "y": 0.0, "z": 0.0}
    assert GAINS.mean(axis=1).max() == pytest.approx(0.3)  # what choosing on all would promise


def test_candidates_without_runs_on_a_corpus_cannot_be_chosen() -> None:
    gains = GAINS.copy()
    gains.loc["a", "y"] = numpy.nan
    choice = choose(gains)
    assert choice is not None and set(choice.candidates) == {"b"}
    assert choice.gains.to_dict() == {"x": 0.0, "y": 0.3, "z": 0.3}
    gains.loc["b", "y"] = numpy.nan
    assert choose(gains) is None
