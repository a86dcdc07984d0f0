"""Processes of runs, several of them at once, in threads or on a Dask cluster."""

import os
import signal
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor, as_completed
from contextlib import contextmanager
from pathlib import Path
from statistics import median
from types import FrameType
from typing import Optional

from tqdm import tqdm

from experiments.arms.tasks import CRF
from experiments.runs.files import RESULTS, read_result
from experiments.runs.grid import Run

COMMAND = [sys.executable, "-m", "experiments", "run-one"]
# Each run has one thread for matrix products. The other cores are for other runs.
ONE_THREAD = {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"}
SKIPPED = "skipped"
# The child processes of this process. Workers on other machines have their own.
_RUNNING: set[subprocess.Popen[bytes]] = set()


def execute(command: Sequence[str], folder: Path, log: Path, latest_start: Optional[float]) -> str:
    """Run a command, unless it is too late, and return how it ended: "", "skipped" or an error.

    command (Sequence[str]): Program and arguments.
    folder (Path): The folder to run it in, whatever the folder of this process is.
    log (Path): The file for its output, relative to the folder. Earlier output stays: it may be
        that of another process, which still runs.
    latest_start (Optional[float]): The time after which it is skipped, as `time.time` returns it.
    """
    if latest_start is not None and time.time() > latest_start:
        return SKIPPED
    (folder / log).parent.mkdir(parents=True, exist_ok=True)
    with (folder / log).open("ab") as output:
        process = subprocess.Popen(
            command,
            cwd=folder,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
            env=os.environ | ONE_THREAD,
        )
        _RUNNING.add(process)
        try:
            status = process.wait()
        finally:
            _RUNNING.discard(process)
    return "" if status == 0 else f"exit status {status}, see {log}"


def expected_seconds(runs: Sequence[Run], results: Path = RESULTS) -> dict[Run, float]:
    """Estimate the time of runs by the median of finished runs, on the same data set if possible.

    runs (Sequence[Run]): The runs. CRFs are estimated by CRFs, all others by all others. The
        estimate is 0 seconds if no such run has finished.
    """
    known: dict[tuple[bool, str], list[float]] = {}
    for path in sorted(results.rglob("seed*.json")):
        result = read_result(path)
        for dataset in (result["dataset"], ""):  # "" stands for all data sets
            times = known.setdefault((result["arm"] == CRF, dataset), [])
            times.append(result["train_seconds"])

    def expected(run: Run) -> float:
        is_crf = run.arm == CRF
        return median(known.get((is_crf, run.dataset)) or known.get((is_crf, "")) or [0.0])

    return {run: expected(run) for run in runs}


def run_grid(
    runs: Sequence[Run],
    executor: Executor,
    *,
    budget: Optional[float] = None,
    renew: bool = False,
    on_done: Callable[[Run, str], None] = lambda run, error: None,
) -> None:
    """Hand runs to an executor, one task each, and wait for them.

    runs (Sequence[Run]): The runs, in the order to start them.
    executor (Executor): Threads of this process, or workers on machines that share the folder. It
        decides how many runs go on at once.
    budget (Optional[float]): The seconds for all runs. No run starts that is expected to take
        longer than the seconds left. Runs that have started are finished.
    renew (bool): Whether unrecorded results, and those of older code, are made again.
    on_done (Callable[[Run, str], None]): Called with each run and what `execute` returned.
    """
    end = None if budget is None else time.time() + budget
    expected = expected_seconds(runs)
    futures: dict[Future[str], Run] = {}
    with _children_end_with_us():
        try:
            for run in runs:
                latest_start = None if end is None else end - expected[run]
                command = [*COMMAND, run.name, *(["--renew"] if renew else [])]
                log = run.folder.with_suffix(".log")
                futures[executor.submit(execute, command, Path.cwd(), log, latest_start)] = run
            for future in as_completed(futures):
                error = future.exception()
                on_done(futures[future], future.result() if error is None else repr(error))
        finally:
            for future in futures:
                future.cancel()


@contextmanager
def _children_end_with_us() -> Iterator[None]:
    """End the processes of unfinished runs when this process is interrupted or terminated."""

    def interrupt(signum: int, frame: Optional[FrameType]) -> None:
        raise KeyboardInterrupt

    before = signal.signal(signal.SIGTERM, interrupt)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
        for process in list(_RUNNING):
            process.terminate()


@contextmanager
def open_executor(workers: int, dask: Optional[str]) -> Iterator[Executor]:
    """Yield threads that wait for one process each, or the workers of a Dask cluster.

    workers (int): The number of threads.
    dask (Optional[str]): The address of a Dask scheduler. Its workers see this folder under the
        same path, and have the same environment.

    Raises ValueError if the extra is not installed, OSError if the scheduler does not answer.
    """
    if dask is None:
        with ThreadPoolExecutor(workers) as threads:
            yield threads
        return
    try:
        from distributed import Client
    except ImportError as error:
        raise ValueError(
            "--dask needs the package distributed. Install it: python -m pip install -e '.[dask]'"
        ) from error
    with Client(dask) as client:
        yield client.get_executor(pure=False)


def run_with_progress(
    runs: Sequence[Run],
    executor: Executor,
    workers: int,
    budget: Optional[float],
    renew: bool,
) -> tuple[list[str], int]:
    """Run with a progress bar. Return the errors and the number of runs that did not fit."""
    ended: Counter[str] = Counter()
    left = expected_seconds(runs)
    seconds = None if budget is None else 60 * budget
    end = float("inf") if seconds is None else time.time() + seconds
    with tqdm(total=len(runs), unit="run") as bar:

        def show_left(*, redraw: bool = True) -> None:
            wanted = sum(left.values()) / workers
            minutes = max(0.0, min(wanted, end - time.time())) / 60
            bar.set_postfix_str(f"about {minutes:.0f} min left", refresh=redraw)

        def on_done(run: Run, error: str) -> None:
            left.pop(run)
            if error == SKIPPED:
                ended[SKIPPED] += 1
            else:
                bar.update()
                bar.write(f"{'failed' if error else 'done  '}  {run.name}  {error}")
            if error and error != SKIPPED:
                ended[f"{run.name}: {error}"] += 1
            show_left(redraw=error != SKIPPED)  # hundreds are skipped at once

        show_left()
        run_grid(runs, executor, budget=seconds, renew=renew, on_done=on_done)
    skipped = ended.pop(SKIPPED, 0)
    return list(ended), skipped
