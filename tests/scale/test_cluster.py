"""Schedulers that are there or not, and workers with other versions."""

from typing import Any
from unittest.mock import Mock

import pytest

from spacy_multihash import __version__
from spacy_multihash.scale.pool import open_workers
from spacy_multihash.scale.workers import Workers
from tests.helpers.cluster import halve, wait_for_workers

distributed = pytest.importorskip("distributed", reason="there is no Dask: extra dask")


@pytest.mark.parametrize("place", ["scheduler", "worker"])
@pytest.mark.parametrize("version", [None, "0.0.1"])
def test_another_version_is_refused(
    scheduler: str, monkeypatch: pytest.MonkeyPatch, place: str, version: str | None
) -> None:
    def get_versions(client: Any, packages: Any) -> Any:
        found = original(client, packages=packages)
        node = found["scheduler"] if place == "scheduler" else [*found["workers"].values()][0]
        node["packages"]["spacy_multihash"] = version
        return found

    original = distributed.Client.get_versions
    monkeypatch.setattr(distributed.Client, "get_versions", get_versions)
    expected = (
        f"^{place} tcp://.* has spacy_multihash {version}, but this process has {__version__}"
    )
    with pytest.raises(ImportError, match=expected):
        with open_workers(dask=scheduler):
            pass


def test_workers_of_a_scheduler_go_on(scheduler: str) -> None:
    before = wait_for_workers(scheduler, 2)
    with open_workers(dask=scheduler) as workers:
        assert dict(workers.imap(halve, [4], names=["one"])) == {0: 2.0}
    assert wait_for_workers(scheduler, 2) == before


@pytest.mark.parametrize("address", ["tcp://127.0.0.1:9", "nothing at all"])
def test_missing_scheduler_is_an_error(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spacy_multihash.scale.cluster.CONNECT_TIMEOUT", 0.5)
    with pytest.raises(ConnectionError, match=f"^There is no Dask scheduler at {address} "):
        with open_workers(dask=address):
            pass


def test_scheduler_without_workers_is_an_error(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("spacy_multihash.scale.cluster.WORKER_TIMEOUT", 0.1)
    with distributed.LocalCluster(n_workers=0, dashboard_address=":0") as cluster:
        with pytest.raises(ConnectionError, match="has no workers after 0 seconds. Start some"):
            with open_workers(dask=cluster.scheduler_address):
                pass


def test_lost_scheduler_is_an_error() -> None:
    from spacy_multihash.scale.cluster import Cluster

    with distributed.LocalCluster(n_workers=0, dashboard_address=":0") as cluster:
        with distributed.Client(cluster, set_as_default=False) as client:
            workers: Workers = Cluster(client)
            results = workers.imap(halve, [1], names=["one"])
            client.loop.call_later(0.5, client.close)
            with pytest.raises(ConnectionError, match="^The Dask scheduler was lost. Start it"):
                next(results)


def test_items_that_dask_gives_up_are_tried_again_alone(
    two: Workers, monkeypatch: pytest.MonkeyPatch
) -> None:
    result, given_up = distributed.Future.result, []

    def give_up_once(future: Any) -> Any:
        if len(given_up) < 4:  # all that are submitted at once: even the last wasn't alone
            given_up.append(future)
            raise distributed.KilledWorker("task", Mock(), 1)
        return result(future)

    monkeypatch.setattr(distributed.Future, "result", give_up_once)
    found = dict(two.imap(halve, range(4), names=[*"abcd"]))
    assert found == {i: i / 2 for i in range(4)}
