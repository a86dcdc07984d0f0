"""The runner: what it starts, how it ends, and that it can be interrupted."""

import signal
import subprocess
import sys
import time
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from pathlib import Path
from typing import Any

import pytest
import srsly
from distributed import LocalCluster

from experiments.arms.tasks import CRF, HASH_EMBED
from experiments.runs.files import FORMAT, results_path
from experiments.runs.grid import Run
from experiments.runs.pool import SKIPPED, expected_seconds, open_executor, run_grid
from experiments.runs.run import run_grid_cli
from tests.helpers.paths import ROOT

RUNS = [Run("wnut17", HASH_EMBED, seed=seed) for seed in range(3)]
# In the place of run-one: writes its name, and fails for seed 1.
STAND_IN = """
import pathlib, sys
pathlib.Path(sys.argv[1].replace("/", "-")).touch()
pathlib.Path("arguments").write_text(" ".join(sys.argv[2:]))
sys.exit(3 if sys.argv[1].endswith("seed1") else 0)
"""


@pytest.fixture(autouse=True)
def _project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "stand_in.py").write_text(STAND_IN)
    monkeypatch.setattr(
        "experiments.runs.pool.COMMAND", [sys.executable, str(tmp_path / "stand_in.py")]
    )
    (tmp_path / "corpus" / "wnut17").mkdir(parents=True)
    (tmp_path / "corpus" / "wnut17" / "train.spacy").touch()


def write_result(run: Run, **values: Any) -> None:
    path = results_path(run)
    path.parent.mkdir(parents=True, exist_ok=True)
    facts = {"dataset": run.dataset, "arm": run.arm, "train_seconds": 60.0}
    srsly.write_json(path, {"format": FORMAT, **facts, **values})


def outcomes(executor: Executor, **options: Any) -> dict[Run, str]:
    ended: dict[Run, str] = {}
    run_grid(RUNS, executor, on_done=ended.__setitem__, **options)
    return ended


def ran() -> list[str]:
    return sorted(path.name for path in Path().glob("wnut17-*"))


def test_every_run_is_one_process_and_its_failure_is_told() -> None:
    ended = outcomes(ThreadPoolExecutor(2))
    log = RUNS[1].folder.with_suffix(".log")
    assert ended == {RUNS[0]: "", RUNS[1]: f"exit status 3, see {log}", RUNS[2]: ""}
    assert ran() == [f"wnut17-multi_hash_embed-no-vectors-seed{seed}" for seed in range(3)]
    assert log.exists()


def test_a_run_that_cannot_be_started_does_not_stop_the_others() -> None:
    RUNS[0].folder.with_suffix(".log").mkdir(parents=True)
    ended = outcomes(ThreadPoolExecutor(1))
    assert "IsADirectoryError" in ended[RUNS[0]]
    assert len(ran()) == 2


def test_runs_are_in_the_project_wherever_the_worker_is(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Elsewhere(ThreadPoolExecutor):
        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
            (tmp_path / "elsewhere").mkdir(exist_ok=True)
            monkeypatch.chdir(tmp_path / "elsewhere")
            future = super().submit(fn, *args, **kwargs)
            future.exception()
            monkeypatch.chdir(tmp_path)
            return future

    assert outcomes(Elsewhere(1))[RUNS[0]] == ""
    assert len(ran()) == 3


def test_a_dask_cluster_runs_the_same_tasks() -> None:
    with LocalCluster(
        n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None
    ) as cluster:
        with open_executor(1, cluster.scheduler_address) as executor:
            ended = outcomes(executor)
    assert [bool(ended[run]) for run in RUNS] == [False, True, False]


def test_nothing_starts_that_does_not_fit_the_budget() -> None:
    write_result(Run("wnut17", "orth"), train_seconds=100.0)
    assert outcomes(ThreadPoolExecutor(1), budget=90.0) == dict.fromkeys(RUNS, SKIPPED)
    assert ran() == []
    assert list(outcomes(ThreadPoolExecutor(1), budget=110.0).values()).count("") == 2


def test_expected_time_is_the_median_of_the_data_set_or_else_of_all() -> None:
    assert expected_seconds(RUNS[:1]) == {RUNS[0]: 0.0}
    for seed, seconds in enumerate((10.0, 30.0, 20.0)):
        write_result(Run("wnut17", "orth", seed=seed), train_seconds=seconds)
    write_result(Run("wnut17", CRF), train_seconds=1.0)
    write_result(Run("anem", "orth"), train_seconds=1000.0)
    other = Run("archaeo", "orth")
    assert expected_seconds([RUNS[0], other]) == {RUNS[0]: 20.0, other: 25.0}
    crf = Run("anem", CRF)
    assert expected_seconds([crf]) == {crf: 1.0}


def test_termination_ends_the_processes_of_runs(tmp_path: Path) -> None:
    (tmp_path / "stand_in.py").write_text(
        "import pathlib, time; pathlib.Path('started').touch(); time.sleep(60)"
    )
    code = (
        "import sys; from concurrent.futures import ThreadPoolExecutor; from pathlib import Path; "
        f"sys.path.insert(0, {str(ROOT)!r}); from experiments.runs import pool; "
        "from experiments.runs.grid import Run; "
        "pool.COMMAND = [sys.executable, str(Path('stand_in.py').resolve())]; "
        "pool.run_grid([Run('wnut17', 'orth')], ThreadPoolExecutor(1))"
    )
    process = subprocess.Popen([sys.executable, "-c", code], stderr=subprocess.DEVNULL)
    for _ in range(600):
        if (tmp_path / "started").exists():
            break
        time.sleep(0.1)
    assert (tmp_path / "started").exists()
    process.send_signal(signal.SIGTERM)
    assert process.wait(timeout=30) != 0  # and not after the 60 seconds of its child


def test_command_runs_what_is_missing_and_says_what_failed(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("experiments.runs.run.make_grid", lambda: RUNS)
    monkeypatch.setattr("experiments.runs.state.is_done", lambda run: run.seed == 0)
    write_result(RUNS[0])
    with pytest.raises(SystemExit, match="1"):
        run_grid_cli(["wnut17/*"], workers=2, budget=None, dask=None, list_only=False)
    assert ran() == [f"wnut17-multi_hash_embed-no-vectors-seed{seed}" for seed in (1, 2)]
    said = capsys.readouterr()
    assert "1 runs failed" in said.out and "exit status 3" in said.out
    assert "2/2" in said.err


def test_command_lists_what_is_missing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("experiments.runs.run.make_grid", lambda: RUNS)
    monkeypatch.setattr("experiments.runs.state.is_done", lambda run: run.seed == 0)
    write_result(RUNS[0])
    run_grid_cli(["*seed[01]"], workers=1, budget=None, dask=None, list_only=True)
    assert capsys.readouterr().out.splitlines() == [
        f"unrecorded    {RUNS[0].name}",
        f"missing       {RUNS[1].name}",
    ]
    assert ran() == []


def test_renewing_runs_again_what_is_older_or_unrecorded(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiments.runs.run.make_grid", lambda: RUNS)
    monkeypatch.setattr("experiments.runs.state.is_done", lambda run: True)
    monkeypatch.setattr("experiments.runs.state.changed_modules", lambda record: record["code"])
    for run, code in zip(RUNS, ("", None, "ab"), strict=True):
        write_result(run, **({} if code is None else {"record": {"code": code}}))
    with pytest.raises(SystemExit, match="1"):  # the stand-in fails for seed 1
        run_grid_cli(["*"], workers=1, budget=None, dask=None, renew=True, list_only=False)
    assert ran() == [f"wnut17-multi_hash_embed-no-vectors-seed{seed}" for seed in (1, 2)]
    assert Path("arguments").read_text() == "--renew"  # so run-one does not stop at the results


def test_unrecorded_results_alone_are_made_again(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("experiments.runs.run.make_grid", lambda: RUNS)
    monkeypatch.setattr("experiments.runs.state.is_done", lambda run: True)
    monkeypatch.setattr("experiments.runs.state.changed_modules", lambda record: record["code"])
    for run, code in zip(RUNS, (None, "ab", ""), strict=True):
        write_result(run, **({} if code is None else {"record": {"code": code}}))
    run_grid_cli(["*"], workers=1, budget=None, dask=None, unrecorded=True, list_only=False)
    assert ran() == ["wnut17-multi_hash_embed-no-vectors-seed0"]
    assert Path("arguments").read_text() == "--renew"


def test_runs_whose_corpus_is_not_converted_are_left_out(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(
        "experiments.runs.run.make_grid", lambda: [RUNS[0], Run("ontonotes", HASH_EMBED)]
    )
    run_grid_cli(["*"], workers=1, budget=None, dask=None, list_only=False)
    assert ran() == ["wnut17-multi_hash_embed-no-vectors-seed0"]
    said = " ".join(capsys.readouterr().out.split())
    assert "1 runs are left out: they need the corpus ontonotes (python -m spacy" in said
    assert "1 runs done, 0 did not fit the budget, 0 failed" in said


def test_command_refuses_a_pattern_that_fits_no_run(capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="1"):
        run_grid_cli(["conll-xx/*"], workers=1, budget=None, dask=None, list_only=False)
    assert "No run matches conll-xx/*. List the names with --list." in capsys.readouterr().out


def test_damaged_results_stop_the_command(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr("experiments.runs.run.make_grid", lambda: RUNS)
    write_result(RUNS[0], format=99)
    with pytest.raises(SystemExit, match="1"):
        run_grid_cli(["*"], workers=1, budget=None, dask=None, list_only=False)
    assert "results in format 99" in capsys.readouterr().out.replace("\n", " ")


def test_an_executor_s_future_is_all_that_is_asked_of_an_engine() -> None:
    class Engine(Executor):
        def submit(self, fn: Any, /, *args: Any, **kwargs: Any) -> Future[Any]:
            future: Future[Any] = Future()
            future.set_result(fn(*args, **kwargs))
            return future

    assert [bool(error) for error in outcomes(Engine()).values()].count(True) == 1
