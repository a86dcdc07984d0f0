"""What is shown of the scores of a run."""

from pathlib import Path

import pytest
import srsly

from experiments.runs.show import score_rows, show_run_cli


def test_scores_are_shown_in_percent() -> None:
    scores = {"ents_p": 0.5, "ents_r": 0.25, "ents_f": 1 / 3}
    per_type = {"PER": {"p": 1.0, "r": 0.5, "f": 2 / 3}}
    rows = score_rows(srsly.json_loads(srsly.json_dumps(scores | {"ents_per_type": per_type})))
    assert rows == [("all", "50.00", "25.00", "33.33"), ("PER", "100.00", "50.00", "66.67")]


def test_scores_without_annotation_are_shown_as_none() -> None:
    scores = {"ents_p": None, "ents_r": None, "ents_f": None, "ents_per_type": None}
    assert score_rows(scores) == [("all", "-", "-", "-")]


def test_scores_of_a_classifier_are_shown_with_what_it_predicts(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    scores = {"cats_micro_p": 0.5, "cats_micro_r": 0.5, "cats_micro_f": 0.5}
    per_label = {"sport": {"p": 1.0, "r": 0.5, "f": 2 / 3}}
    path = tmp_path / "test.json"
    srsly.write_json(path, scores | {"cats_f_per_type": per_label})
    show_run_cli(tmp_path, path)
    printed = capsys.readouterr().out
    lines = [line.split() for line in printed.splitlines()]
    assert ["all", "50.00", "50.00", "50.00"] in lines
    assert ["sport", "100.00", "50.00", "66.67"] in lines
    assert f"""python -c 'import spacy; print(spacy.load("{tmp_path}")("...").cats)'\n""" in printed
