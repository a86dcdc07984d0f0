"""What a recipe was to reach, and what it reached."""

from pathlib import Path

from experiments.arms.recipe import BASE
from experiments.arms.tasks import CRF, HASH_EMBED
from experiments.runs.grid import Run
from experiments.tables.goals import NO_RECIPE, render_goals
from experiments.tables.recipe import DATASETS
from experiments.tables.statistics import load_results
from experiments.tables.table import STAND_IN
from tests.helpers.results import REPORT, write_result

RECORD = {"cpu": "a CPU"}


def write_all(folder: Path, *, last: float = 0.80, seconds: float = 140.0) -> None:
    """Write results of the base with 0.75 everywhere but on the last set.

    The report's settings have 0.70 everywhere, and the CRF has 0.74, but on two sets 0.78.
    """
    for number, dataset in enumerate(DATASETS):
        f = last if dataset == STAND_IN else 0.75
        write_result(folder, Run(dataset, CRF), 0.78 if number in (0, 1) else 0.74)
        for seed in range(3):
            write_result(folder, Run(dataset, HASH_EMBED, seed=seed), 0.70, record=RECORD)
            run = Run(dataset, BASE, seed=seed)
            write_result(folder, run, f, record=RECORD, train_cpu_seconds=seconds)


def goals(folder: Path) -> dict[str, tuple[str, str]]:
    """Return what was found of each goal, and whether it is reached."""
    text = render_goals(load_results(folder, REPORT), BASE)
    rows = [line.strip("| ").split(" | ") for line in text.splitlines()[2:]]
    return {row[0]: (row[2], row[3]) for row in rows}


def test_goals_are_reached_or_not(tmp_path: Path) -> None:
    write_all(tmp_path)
    assert list(goals(tmp_path).values()) == [
        ("0.800 ± 0.000 (sd)", "yes"),
        ("+0.058 ± 0.000", "yes"),  # five sets of 0.05 and one of 0.10
        ("4 (wnut17, anem, archaeo, turku-one), on 4 of them by more than noise", "no"),
        ("1.40 in the mean, at most 1.40 (conll-es)", "yes"),
    ]
    write_all(tmp_path, last=0.79, seconds=151.0)
    assert [reached for _, reached in goals(tmp_path).values()] == ["no", "yes", "no", "no"]


def test_time_goes_by_the_mean_and_names_the_largest(tmp_path: Path) -> None:
    write_all(tmp_path, seconds=100.0)
    for seed in range(3):
        slow = Run("anem", BASE, seed=seed)
        write_result(tmp_path, slow, 0.75, record=RECORD, train_cpu_seconds=400.0)
    *_, (found, reached) = goals(tmp_path).values()
    assert (found, reached) == ("1.50 in the mean, at most 4.00 (anem)", "yes")


def test_gain_has_the_interval_of_all_seeds(tmp_path: Path) -> None:
    write_all(tmp_path)
    for dataset in DATASETS:
        for seed in range(3):
            write_result(tmp_path, Run(dataset, BASE, seed=seed), 0.75 + 0.01 * (seed - 1))
    # Each set has the variance 0.01 ** 2 / 3, and their mean a sixth of it, with 12 degrees.
    margin = 2.179 * (0.01**2 / 3 / 6) ** 0.5
    found = goals(tmp_path)["mean F1 of the 6 sets minus that of the report's settings"][0]
    assert found == f"+0.050 ± {margin:.3f}"


def test_times_of_other_machines_are_not_compared(tmp_path: Path) -> None:
    write_all(tmp_path)
    write_result(tmp_path, Run("anem", BASE, seed=0), 0.75, record={"cpu": "another CPU"})
    *_, (found, reached) = goals(tmp_path).values()
    assert (found, reached) == ("not comparable", "unknown")


def test_goals_of_missing_runs_are_missing(tmp_path: Path) -> None:
    write_result(tmp_path, Run("anem", BASE), 0.75)
    assert list(goals(tmp_path).values()) == [("missing", "unknown")] * 4
    assert render_goals(load_results(tmp_path, REPORT), None) == NO_RECIPE
