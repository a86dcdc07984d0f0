"""Workers whose memory is full."""

import threading
from functools import partial

import pytest

from spacy_multihash.cluster.workers import open_workers
from tests.helpers.cluster import hold, hold_for_a_while, pausing

dask = pytest.importorskip("dask", reason="there is no Dask: extra dask")
distributed = pytest.importorskip("distributed", reason="there is no Dask: extra dask")

MEGA = 10**6
# A worker has less than 200 MB when it starts.
LIMIT = "400MB"


def test_paused_workers_are_waited_for_while_they_work_and_told_when_they_do_not(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("spacy_multihash.cluster.paused.EVERY", 0.1)
    monkeypatch.setattr("spacy_multihash.cluster.paused.PATIENCE", 1.5)
    settings = {"n_workers": 2, "threads_per_worker": 1, "dashboard_address": ":0"}
    # Dask's default, whatever another cluster of this process has
    config = dask.config.set({"distributed.worker.memory.pause": 0.8})
    start = partial(distributed.LocalCluster, **settings, memory_limit=LIMIT, silence_logs=50)
    with config, start() as cluster:
        with open_workers(dask=cluster.scheduler_address) as workers:
            large = [200 * MEGA, 200 * MEGA]
            assert len(list(workers.imap(hold_for_a_while, large, names=["a", "b"]))) == 2
            expected = (
                r"^Workers of Dask are paused, as their memory is full, and nothing is done any "
                r"more: tcp://[0-9.:]+ \(3[0-9]+ of 400 MB\), tcp://[0-9.:]+ \(3[0-9]+ of 400 MB\)"
                r"\. Start them again with more memory \(--memory-limit\), or with distributed"
            )
            with pytest.raises(ConnectionError, match=expected):
                list(workers.imap(hold, [20 * MEGA] * 99, names=["x"] * 99))


def test_a_cluster_that_lost_all_workers_is_told_and_waited_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("spacy_multihash.cluster.paused.EVERY", 0.1)
    monkeypatch.setattr("spacy_multihash.cluster.paused.PATIENCE", 0.3)
    settings = {"threads_per_worker": 1, "dashboard_address": ":0", "silence_logs": 50}
    with distributed.LocalCluster(n_workers=1, **settings) as cluster:
        with open_workers(dask=cluster.scheduler_address) as workers:
            cluster.scale(0)
            bring_one = threading.Timer(3.0, cluster.scale, [1])
            bring_one.start()
            message = "has no workers any more, and nothing is done until some come. Start them"
            with pytest.warns(UserWarning, match=message) as told:
                done = list(workers.imap(pausing, range(2), names=["a", "b"]))
            bring_one.join()
    assert len(done) == 2 and len(told) == 1


def test_workers_that_are_started_are_not_paused_but_started_again(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    limited = partial(distributed.LocalCluster, memory_limit=LIMIT)
    monkeypatch.setattr("spacy_multihash.cluster.over_dask.LocalCluster", limited)
    with open_workers(2) as workers:
        found = dict(workers.imap(hold, [80 * MEGA] * 8, names=["x"] * 8))
        pauses = [pause for _, pause in workers.imap(pausing, range(4), names=["x"] * 4)]
    assert len(found) == 8
    assert pauses == [False] * 4
    assert len({*found.values()}) > 2
