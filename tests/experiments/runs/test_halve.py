"""Successive halving: which candidates go on, by dev alone."""

import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
import srsly

from experiments.arms.recipe import BASE, RECIPE
from experiments.arms.tasks import HASH_EMBED
from experiments.runs import files, halve
from experiments.runs.files import RESULTS, is_done, results_path
from experiments.runs.grid import Run
from experiments.runs.halve import ALL, MARGIN, MOST_TIME, PRODUCTS, ROUNDS, choose, halve_cli
from experiments.runs.machine import OWN_ADAM
from experiments.runs.one import locked
from experiments.runs.record import CODE
from experiments.runs.standings import HALVING, Rung, rank
from spacy_multihash.common.files import write_json
from tests.helpers import results
from tests.helpers.cli import invoke_command, said
from tests.helpers.results import write_result

# CPU seconds of training with the report's settings.
SECONDS = {
    "conll-es": 430,
    "conll-nl": 375,
    "anem": 440,
    "wnut17": 190,
    "turku-one": 1020,
    "archaeo": 845,
}
# What options gain on dev. All others lose.
GAINS = {"unk_50": 0.002, "slices": 0.03, "ngrams": 0.02, "dropout_40": 0.01, "width_128": 0.005}
BEST = "recipe-unk_50-slices-dropout_40-width_128"


class Trainer:
    """Writes handmade results and models of runs, and counts what the runs would take.

    gains, times: The gain of F1 with each option, and how many times longer it trains. Candidates
        have times as well.
    fails: The candidates that cannot be trained.
    """

    def __init__(
        self, gains: dict[str, float], times: dict[str, float], fails: Sequence[str] = ()
    ) -> None:
        self.gains, self.times, self.fails = gains, times, fails
        self.runs: list[Run] = []

    def __call__(self, runs: Sequence[Run]) -> list[str]:
        missing = [run for run in runs if not is_done(run)]
        for run in missing:
            if run.arm not in self.fails:
                self.train(run)
        return [f"{run.name}: exit status 1" for run in missing if run.arm in self.fails]

    def train(self, run: Run) -> None:
        self.runs.append(run)
        options = run.arm.split("-")[1:]
        f = 0.5 + 0.01 * run.seed + sum(self.gains.get(name, -0.1) for name in options)
        seconds = float(SECONDS[run.dataset])
        for name in (*options, run.arm):
            seconds *= self.times.get(name, 1.0)
        test = {"all": {"p": 0.0, "r": 0.0, "f": 1 - f}}
        write_result(RESULTS, run, f, test=test, train_cpu_seconds=seconds, train_seconds=1.0)
        (run.folder / "model-best").mkdir(parents=True, exist_ok=True)


@pytest.fixture(autouse=True)
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    # Configs are not made: names stand for their digests.
    monkeypatch.setattr(files, "same_functions", lambda run: (run.name,))
    monkeypatch.setattr(results, "run_hash", lambda run: run.name)


def write_report() -> None:
    """Write results with the report's settings, which exist for one seed."""
    for dataset, seconds in SECONDS.items():
        run = Run(dataset, HASH_EMBED)
        write_result(RESULTS, run, 0.45, train_cpu_seconds=float(seconds))


def arms_of(number: int) -> list[str]:
    """The candidates of a round, the best first."""
    standings = srsly.read_json(HALVING)["rounds"][number]["standings"]
    return [standing["arm"] for standing in standings]


def test_products_have_another_seed_than_options_and_the_last_ones_all_runs() -> None:
    assert set(PRODUCTS[0].seeds).isdisjoint(ROUNDS[0].seeds)
    for rung, following in zip(PRODUCTS, PRODUCTS[1:], strict=False):
        assert set(rung.runs(BASE)) < set(following.runs(BASE))
    assert len(ALL) == 6 and len(PRODUCTS[-1].runs(BASE)) == 18


def test_options_are_tried_alone_and_then_the_products_of_the_best(
    capsys: pytest.CaptureFixture[str],
) -> None:
    trainer = Trainer(GAINS, {})
    known = choose(trainer)
    assert srsly.json_loads(srsly.json_dumps(known)) == srsly.read_json(HALVING)
    assert set(arms_of(0)) == set(RECIPE) and arms_of(0)[0] == "recipe-slices"
    assert arms_of(1)[0] == BEST and len(arms_of(1)) == 7
    assert arms_of(2) == [*arms_of(1)[:3], BASE]
    assert arms_of(3) == [*arms_of(1)[:2], BASE]
    assert known["winner"] == BEST
    assert "Round 4: 3 candidates" in capsys.readouterr().out


def test_all_rounds_take_about_ten_hours() -> None:
    trainer = Trainer(GAINS, {})
    choose(trainer)
    # The runs of the first two rounds took 0.6 of the times of the report's settings, in the mean.
    hours = 0.6 * sum(SECONDS[run.dataset] for run in trainer.runs) / 3600
    assert 9 < hours < 11
    assert len(trainer.runs) == len(set(trainer.runs))


def test_only_finalists_keep_their_models() -> None:
    trainer = Trainer(GAINS, {})
    choose(trainer)
    kept = {run.arm for run in trainer.runs if (run.folder / "model-best").exists()}
    assert kept == set(arms_of(3))
    for arm in kept:
        assert all((run.folder / "model-best").exists() for run in PRODUCTS[-1].runs(arm))


def test_a_model_that_another_process_works_on_is_kept() -> None:
    run = Run("anem", "recipe-hash")
    with locked(run):
        choose(Trainer(GAINS, {}), rounds=1)
    assert (run.folder / "model-best").exists()
    assert not (Run("anem", "recipe-weighted").folder / "model-best").exists()


def test_runs_that_are_done_are_not_run_again() -> None:
    first = Trainer(GAINS, {})
    choose(first, rounds=2)
    assert srsly.read_json(HALVING)["winner"] is None
    second = Trainer(GAINS, {})
    known = choose(second)
    assert set(first.runs).isdisjoint(second.runs)
    assert known["winner"] == BEST


def test_what_trains_too_long_does_not_go_on(capsys: pytest.CaptureFixture[str]) -> None:
    write_report()
    known = choose(Trainer(GAINS, {"slices": 1.6, "dropout_40": 1.3, "width_128": 1.3}))
    assert known["rounds"][0]["standings"][0]["time"] == pytest.approx(1.6)
    assert known["winner"] == "recipe-ngrams-dropout_40"
    assert all("slices" not in arm for arm in arms_of(1))
    times = [standing["time"] for standing in known["rounds"][1]["standings"]]
    assert max(times) <= MOST_TIME


def test_a_product_that_trains_longer_than_expected_does_not_go_on() -> None:
    write_report()
    known = choose(Trainer(GAINS, {BEST: MOST_TIME + 0.01}))
    assert arms_of(1)[0] == BEST and BEST not in arms_of(2)
    assert known["winner"] == arms_of(1)[1]


def test_of_options_that_only_lose_the_base_is_left() -> None:
    trainer = Trainer({}, {})
    assert choose(trainer)["winner"] == BASE
    assert {run.seed for run in trainer.runs} == {0}


@pytest.mark.parametrize(("gain", "winner"), [(MARGIN, "recipe-slices"), (MARGIN - 0.001, BASE)])
def test_a_gain_within_noise_is_none(gain: float, winner: str) -> None:
    assert choose(Trainer({"slices": gain + 1e-9}, {}))["winner"] == winner


def test_a_candidate_that_fails_is_named_and_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    known = choose(Trainer(GAINS, {}, fails=["recipe-slices", "recipe-hash"]))
    output = " ".join(capsys.readouterr().out.split())
    assert "conll-es/recipe-slices/no-vectors/seed0: exit status 1" in output
    assert "Left out, since they lack results: recipe-hash, recipe-slices" in output
    assert known["rounds"][0]["failed"] == ["recipe-hash", "recipe-slices"]
    assert known["winner"] == "recipe-unk_50-ngrams-dropout_40-width_128"


def test_without_the_base_nothing_is_chosen() -> None:
    with pytest.raises(ValueError, match="Round 1 needs the runs of the base, recipe, which"):
        choose(Trainer(GAINS, {}, fails=[BASE]))


RUNG = Rung(("turku-one", "wnut17"), (0, 1))


def test_candidates_are_ranked_by_their_mean_gain_on_dev() -> None:
    # F1 on dev of turku-one and wnut17, with seeds 0 and 1; on test the order is the other one.
    scores = {
        "recipe": ([0.70, 0.71], [0.20, 0.24]),
        "recipe-hash": ([0.71, 0.72], [0.22, 0.26]),
        "recipe-slices": ([0.74, 0.75], [0.17, 0.23]),
    }
    for arm, of_sets in scores.items():
        for dataset, of_seeds in zip(RUNG.datasets, of_sets, strict=True):
            for seed, f in enumerate(of_seeds):
                test = {"all": {"p": 0.0, "r": 0.0, "f": 1 - f}}
                write_result(RESULTS, Run(dataset, arm, seed=seed), f, test=test)
    found = rank([*scores], "recipe", RUNG)
    assert [standing.arm for standing in found] == ["recipe-hash", "recipe-slices", "recipe"]
    assert [standing.gain for standing in found] == pytest.approx([0.015, 0.01, 0.0])
    assert found[1].gains == pytest.approx({"turku-one": 0.04, "wnut17": -0.02})
    # of 0.04, 0.04, -0.03 and -0.01: their sd is 0.0356
    assert found[1].error == pytest.approx(0.0356 / 2, abs=1e-4)
    assert found[1].runs == 4 and found[1].time is None
    on_test = rank([*scores], "recipe", RUNG, "test")
    assert on_test[-1].arm == "recipe-hash"
    shutil.rmtree(RESULTS / "wnut17" / "recipe")
    found = rank([*scores], "recipe", RUNG)
    assert [standing.runs for standing in found] == [2, 2, 2] and "wnut17" not in found[0].gains
    shutil.rmtree(RESULTS / "turku-one" / "recipe")
    with pytest.raises(ValueError, match="recipe-hash and recipe have no run of the same data set"):
        rank(["recipe-hash"], "recipe", RUNG)


@pytest.mark.parametrize("other", ["another", None])
def test_times_of_different_or_unknown_machines_are_not_compared(other: str | None) -> None:
    for dataset, cpu, seconds in (("turku-one", "a CPU", 50.0), ("wnut17", other, 10.0)):
        values = {"record": {"cpu": cpu}, "train_cpu_seconds": seconds}
        write_result(RESULTS, Run(dataset, HASH_EMBED), 0.5, **values)
        write_result(RESULTS, Run(dataset, BASE), 0.5)
    assert rank([BASE], BASE, Rung(RUNG.datasets, (0,)))[0].time == 2.0


def test_times_of_our_adam_and_thincs_are_not_compared() -> None:
    write_json(CODE / "ours.json", {OWN_ADAM: "1"})
    write_json(CODE / "thincs.json", {})
    for dataset, code, seconds in (("turku-one", "ours", 50.0), ("wnut17", "thincs", 10.0)):
        record = {"cpu": "a CPU", "code": code}
        write_result(
            RESULTS, Run(dataset, HASH_EMBED), 0.5, record=record, train_cpu_seconds=seconds
        )
        record = {"cpu": "a CPU", "code": "ours"}
        write_result(RESULTS, Run(dataset, BASE), 0.5, record=record)
    assert rank([BASE], BASE, Rung(RUNG.datasets, (0,)))[0].time == 2.0


@pytest.fixture
def trained(monkeypatch: pytest.MonkeyPatch) -> Trainer:
    """Let the command train by a stand-in."""
    trainer = Trainer(GAINS, {})

    def run_with_progress(runs: Sequence[Run], *args: Any) -> tuple[list[str], int]:
        return trainer(runs), 0

    monkeypatch.setattr(halve, "run_with_progress", run_with_progress)
    monkeypatch.setattr(halve, "lacks", lambda run: "")
    monkeypatch.setattr(halve, "_warn_of_older_code", lambda runs: None)
    return trainer


def test_the_command_shows_gains_on_each_data_set(trained: Trainer) -> None:
    write_report()
    result = invoke_command(halve_cli, "--rounds", 1)
    assert result.exit_code == 0, result.output
    assert "candidate conll-es anem mean error time" in said(result)
    assert "slices +0.030 +0.030 +0.030 0.000 1.00" in said(result)
    assert "Chosen" not in result.output


def test_the_base_and_the_winner_are_scored_on_test_once_they_are_chosen(
    trained: Trainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_report()
    tested: list[str] = []
    monkeypatch.setattr(halve, "score_test", lambda run: tested.append(run.arm))
    assert invoke_command(halve_cli).exit_code == 0
    assert tested == [] and "test" not in srsly.read_json(HALVING)
    result = invoke_command(halve_cli, "--test")
    assert result.exit_code == 0, result.output
    assert tested == 18 * [BEST] + 18 * [BASE] + 9 * [BEST]  # at the end with vectors
    assert f"Chosen by dev: {BEST}" in said(result)
    assert "12 runs of the report's settings have no results" in said(result)
    standings = srsly.read_json(HALVING)["test"]["standings"]
    assert {standing["arm"] for standing in standings} == {BEST, BASE, HASH_EMBED}
    assert invoke_command(halve_cli).exit_code == 0
    assert srsly.read_json(HALVING)["test"]["standings"] == standings


def test_a_base_that_is_left_alone_is_trained_on_all_sets_before_test(
    trained: Trainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_report()
    trained.gains = {}
    tested: list[Run] = []
    monkeypatch.setattr(halve, "score_test", tested.append)
    result = invoke_command(halve_cli, "--test")
    assert result.exit_code == 0, result.output
    without, with_vectors = tested[:18], tested[18:]
    assert without == ROUNDS[-1].runs(BASE)
    assert {run.vectors for run in with_vectors} == {"es_e5_words", "nl_e5_words", "en_core_web_md"}
    shutil.rmtree(RESULTS / "archaeo" / BASE)
    trained.fails, tested[:] = [BASE], []
    result = invoke_command(halve_cli, "--test")
    assert result.exit_code == 1 and not tested
    assert "Not all runs could be trained, so that none is scored on test" in said(result)


def test_vectors_that_are_not_there_are_named_and_left_out(
    trained: Trainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    write_report()
    monkeypatch.setattr(halve, "lacks", lambda run: "a package" if run.lang == "en" else "")
    tested: list[Run] = []
    monkeypatch.setattr(halve, "score_test", tested.append)
    halve.score_with_vectors(BEST, trained)
    assert {run.dataset for run in tested} == {"conll-es", "conll-nl"} and len(tested) == 6
    trained.fails = [BEST]
    shutil.rmtree(RESULTS / "conll-es" / BEST)
    with pytest.raises(ValueError, match="Not all runs with vectors could be trained, so that"):
        halve.score_with_vectors(BEST, trained)


def test_test_is_not_scored_before_the_choice(trained: Trainer) -> None:
    result = invoke_command(halve_cli, "--rounds", 1, "--test")
    assert result.exit_code == 1
    assert "A recipe is scored on test once it is chosen: leave out --rounds" in said(result)


def test_a_round_without_its_corpus_says_so() -> None:
    result = invoke_command(halve_cli)
    assert result.exit_code == 1
    assert "The runs need the corpus anem" in said(result)


def test_a_round_that_does_not_fit_the_budget_says_so(
    trained: Trainer, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(halve, "run_with_progress", lambda *args: ([], 7))
    result = invoke_command(halve_cli, "--budget", 1)
    assert result.exit_code == 1
    assert "7 runs did not fit the budget. Start the command again." in said(result)


def test_results_of_older_code_are_named_and_made_again_if_asked(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(halve, "lacks", lambda run: "")
    monkeypatch.setattr(halve, "RECIPE", {BASE: RECIPE[BASE]})
    for run in ROUNDS[0].runs(BASE):
        write_result(RESULTS, run, 0.5, record=None, train_seconds=1.0)
    made: list[Run] = []

    def run_with_progress(runs: Sequence[Run], *args: Any) -> tuple[list[str], int]:
        made.extend(runs)
        return [], 0

    monkeypatch.setattr(halve, "run_with_progress", run_with_progress)
    result = invoke_command(halve_cli)
    assert result.exit_code == 0, result.output
    assert "2 of 2 results are of older code, or do not say of which" in said(result)
    assert made == []
    assert results_path(ROUNDS[0].runs(BASE)[0]).is_file()
    invoke_command(halve_cli, "--renew")
    assert made == ROUNDS[0].runs(BASE)
