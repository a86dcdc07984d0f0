"""Schedulers that are there or not, and workers that lack what is needed."""

import json
import os
import signal
import socket
import subprocess
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from importlib import metadata
from pathlib import Path

import pytest

from spacy_multihash.cluster.workers import open_workers
from tests.helpers.cluster import (
    halve,
    ignores_interrupts,
    process_of,
    wait_for_workers,
    wait_until,
)
from tests.helpers.paths import ROOT

dask = pytest.importorskip("dask", reason="there is no Dask: extra dask")
distributed = pytest.importorskip("distributed", reason="there is no Dask: extra dask")

# Python runs it when it starts.
WITHOUT = """
import sys

class Without:
    def find_spec(self, name, path=None, target=None):
        if name == {name!r}:
            raise ModuleNotFoundError(f"No module named {{name!r}}", name=name)

sys.meta_path.insert(0, Without())
"""


@contextmanager
def worker_without(package: str, scheduler: str, folder: Path) -> Iterator[None]:
    """Start another worker, where a package cannot be imported."""
    wait_for_workers(scheduler, 2)
    (folder / "sitecustomize.py").write_text(WITHOUT.format(name=package))
    options = ["--nthreads", "1", "--no-nanny", "--no-dashboard", "--host", "127.0.0.1"]
    process = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_worker", scheduler, *options],
        env=os.environ | {"PYTHONPATH": f"{folder}{os.pathsep}{ROOT}"},
        cwd=folder,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_for_workers(scheduler, 3)
        yield
    finally:
        process.kill()
        process.wait()
        wait_for_workers(scheduler, 2)


@contextmanager
def scheduler_without(package: str, folder: Path) -> Iterator[str]:
    """Start a scheduler where a package cannot be imported, and give its address."""
    (folder / "sitecustomize.py").write_text(WITHOUT.format(name=package))
    found = folder / "scheduler.json"
    options = ["--host", "127.0.0.1", "--port", "0", "--no-dashboard", "--scheduler-file", found]
    process = subprocess.Popen(
        [sys.executable, "-m", "distributed.cli.dask_scheduler", *options],
        env=os.environ | {"PYTHONPATH": f"{folder}{os.pathsep}{ROOT}"},
        cwd=folder,
        stderr=subprocess.DEVNULL,
    )
    try:
        wait_until(lambda: found.exists() and found.stat().st_size > 0)
        yield json.loads(found.read_text())["address"]
    finally:
        process.kill()
        process.wait()


@pytest.mark.parametrize("package", ["spacy_multihash", "spacy"])
def test_worker_without_a_package_is_named(scheduler: str, tmp_path: Path, package: str) -> None:
    with worker_without(package, scheduler, tmp_path):
        expected = f"^worker tcp://127.0.0.1:[0-9]+ has no package {package}. Install spacy-multih"
        with pytest.raises(ImportError, match=expected):
            with open_workers(dask=scheduler):
                pass


def test_scheduler_without_the_package_is_named(tmp_path: Path) -> None:
    from spacy_multihash.cluster.over_dask import check_workers

    with scheduler_without("spacy_multihash", tmp_path) as address:
        expected = f"^scheduler {address} has no package spacy_multihash. Install spacy-multihash=="
        with distributed.Client(address, set_as_default=False) as client:
            with pytest.raises(ImportError, match=expected):
                check_workers(client)


def test_scheduler_with_another_version_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from spacy_multihash.cluster.over_dask import check_workers

    actual = metadata.version("spacy-multihash")
    with scheduler_without("nothing_that_is_needed", tmp_path) as address:
        with distributed.Client(address, set_as_default=False) as client:
            monkeypatch.setattr("importlib.metadata.version", lambda name: "0.0.1")
            expected = f"^scheduler {address} has spacy-multihash {actual}, and this process 0.0.1"
            with pytest.raises(ImportError, match=expected):
                check_workers(client)


def test_worker_with_another_version_is_named(
    scheduler: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    actual = metadata.version("spacy-multihash")
    monkeypatch.setattr("importlib.metadata.version", lambda name: "0.0.1")
    # The scheduler of tests is this process.
    expected = f"^worker tcp://.* has spacy-multihash {actual}, and this process 0.0.1. Install"
    with pytest.raises(ImportError, match=expected):
        with open_workers(dask=scheduler):
            pass


def test_workers_of_a_scheduler_go_on(scheduler: str) -> None:
    before = wait_for_workers(scheduler, 2)
    with open_workers(dask=scheduler) as workers:
        assert dict(workers.imap(halve, [4], names=["one"])) == {0: 2.0}
    assert wait_for_workers(scheduler, 2) == before


def test_workers_that_are_started_are_stopped(taken_port: None, obeys_interrupts: None) -> None:
    with open_workers(2) as workers:
        assert workers.count == 2
        assert dask.config.get("distributed.deploy.lost-worker-timeout") == "10 minutes"
        found = {process for _, process in workers.imap(process_of, range(9), names=["x"] * 9)}
        assert dict(workers.imap(ignores_interrupts, [0, 1], names=["a", "b"])) == {0: 1, 1: 1}
    assert not ignores_interrupts(None)
    assert found and os.getpid() not in found
    assert not [process for process in found if is_alive(process)]


@pytest.fixture
def obeys_interrupts() -> Iterator[None]:
    """Let this process obey Ctrl-C, as it does not where it was started in the background."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    yield
    signal.signal(signal.SIGINT, before)


@pytest.fixture
def taken_port() -> Iterator[None]:
    """Take the port that Dask takes for its dashboard, as other commands may."""
    with socket.socket() as taken:
        with suppress(OSError):  # it is taken already
            taken.bind(("", 8787))
            taken.listen()
        yield


def is_alive(process: int) -> bool:
    try:
        os.kill(process, 0)
    except ProcessLookupError:
        return False
    return True


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nothing at all"])
def test_missing_scheduler_is_told(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spacy_multihash.cluster.over_dask.TO_CONNECT", 0.5)
    with pytest.raises(ConnectionError, match=f"^There is no Dask scheduler at {address} "):
        with open_workers(dask=address):
            pass


def test_scheduler_without_workers_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spacy_multihash.cluster.over_dask.PATIENCE", 0.1)
    with distributed.LocalCluster(n_workers=0, dashboard_address=":0") as cluster:
        with pytest.raises(ConnectionError, match="has no workers after 0 seconds. Start some"):
            with open_workers(dask=cluster.scheduler_address):
                pass


def test_lost_scheduler_is_told() -> None:
    with distributed.LocalCluster(n_workers=0, dashboard_address=":0") as cluster:
        from spacy_multihash.cluster.over_dask import OverDask

        with distributed.Client(cluster, set_as_default=False) as client:
            results = OverDask(client).imap(halve, [1], names=["one"])
            client.loop.call_later(0.5, client.close)
            with pytest.raises(ConnectionError, match="^The Dask scheduler was lost. Start it"):
                next(results)
