"""Successive halving: which candidates go on, by dev alone."""

from pathlib import Path

import pytest

from experiments.arms.recipe import BASE, RECIPE
from experiments.arms.tasks import NER
from experiments.runs import halve
from experiments.runs.grid import Run
from experiments.runs.halve import RUNGS, Rung, halve_cli, rank
from tests.helpers.cli import invoke_command, said
from tests.helpers.results import write_result

RUNG = Rung(("turku-one", "wnut17"), (0, 1))
# F1 on dev of turku-one and wnut17; on test the order is the other way round.
SCORES = {"recipe": (0.70, 0.20), "recipe_hash": (0.71, 0.22), "recipe_slices": (0.74, 0.17)}


@pytest.fixture
def results(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    folder = tmp_path / "results" / "runs"
    for arm, scores in SCORES.items():
        for dataset, f in zip(RUNG.datasets, scores, strict=True):
            for seed in RUNG.seeds:
                test = {"all": {"p": 0.0, "r": 0.0, "f": 1 - f}}
                run = Run(dataset, arm, seed=seed)
                write_result(folder, run, f + 0.01 * seed, test=test, train_seconds=1.0)
    return folder


def test_candidates_are_arms_with_a_base() -> None:
    assert BASE in RECIPE and set(RECIPE) <= set(NER.fixed_arms)
    for rung, following in zip(RUNGS, RUNGS[1:], strict=False):
        assert set(rung.runs(BASE)) < set(following.runs(BASE))
    assert RUNGS[-1].seeds == (0, 1, 2) and len(RUNGS[-1].datasets) == 6


def test_candidates_are_ranked_by_their_mean_gain_on_dev(results: Path) -> None:
    found = rank([*SCORES], "recipe", RUNG, results)
    assert [standing.arm for standing in found] == ["recipe_hash", "recipe_slices", "recipe"]
    assert [standing.gain for standing in found] == pytest.approx([0.015, 0.005, 0.0])
    assert {standing.runs for standing in found} == {4}


def test_rounds_go_on_with_the_better_half(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(halve, "RECIPE", dict.fromkeys(SCORES))
    monkeypatch.setattr(halve, "RUNGS", (Rung(RUNG.datasets, (0,)), RUNG))
    result = invoke_command(halve_cli)
    assert result.exit_code == 0, result.output
    first, second = said(result).split("Round 2: 2 candidates")
    assert first.index("recipe_hash +0.015 2") < first.index("recipe_slices +0.005 2")
    assert "recipe_hash +0.015 4" in second and "recipe_slices" not in second


def test_a_round_without_its_corpus_says_so(results: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(halve, "RECIPE", dict.fromkeys([*SCORES, "recipe_lower"]))
    result = invoke_command(halve_cli)
    assert result.exit_code == 1
    assert "Round 1 needs the corpus turku-one" in said(result)
