"""Settings on corpora that didn't choose them, beside a count by hand."""

import numpy
import pandas
import pytest

import experiments.choice
from experiments.arms import CRF
from experiments.choice import choose, leave_one_out, render_choice
from experiments.results import COLUMNS
from experiments.statistics import Runs
from experiments.tables import CHOSEN

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


def test_choice_is_written_with_the_error_over_corpora(monkeypatch: pytest.MonkeyPatch) -> None:
    scores = {CRF: [0.5, 0.5], "recipe": [0.6, 0.4], "regularized": [0.7, 0.8], CHOSEN: [0.9]}
    corpora = ("wnut17-300", "gum-300")
    monkeypatch.setattr(experiments.choice, "NINE", ("wnut17", "gum"))
    rows = [
        {"dataset": corpus, "arm": arm, "vectors": "", "after": "", "seed": 0, "dev_f": f}
        for arm, of_arm in scores.items()
        for corpus, f in zip(corpora, of_arm, strict=False)
    ]
    lines = render_choice(Runs(pandas.DataFrame(rows, columns=list(COLUMNS)), {})).splitlines()
    cells = {
        line.split(" | ")[0].strip("|* "): line.split(" | ")[1] for line in lines if "|" in line
    }
    assert cells["without n-grams"] == "+0.000 ± 0.100, 1 of 2"
    assert cells["batch_ner, without n-grams"] == "+0.250 ± 0.050, 2 of 2"
    assert cells["chosen on the other corpora"] == "+0.250 ± 0.050, 2 of 2"
    assert all(line.endswith("|  |  |") for line in lines if "without n-grams |" in line)
    assert cells["what they chose, how often"] == "batch_ner, without n-grams 2"
    assert "recommended" not in cells  # without runs on gum-300
