"""The workers of a Dask scheduler, which may be one of this machine that ends with the command."""

import asyncio
import logging
import signal
import threading
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import CancelledError
from contextlib import closing, contextmanager
from functools import partial
from itertools import islice
from typing import Any, TypeVar

import dask
from distributed import (
    Client,
    Future,
    KilledWorker,
    LocalCluster,
    Worker,
    WorkerPlugin,
    as_completed,
    get_worker,
)

from .workers import TRIES, ItemError, Workers, described

# Items submitted for each worker: one to work on, and one to wait for it.
AHEAD = 2
PACKAGES = ("spacy_multihash", "spacy")
# Seconds until the scheduler must answer, and until it must have a worker.
CONNECT_TIMEOUT = 15.0
WORKER_TIMEOUT = 60.0
# They limit the threads of BLAS, OpenMP and our kernels in new processes.
THREADS = (
    "SPACY_MULTIHASH_THREADS",
    "OMP_NUM_THREADS",
    "OPENBLAS_NUM_THREADS",
    "MKL_NUM_THREADS",
    "VECLIB_MAXIMUM_THREADS",
)
_ENVIRONMENT = "distributed.nanny.pre-spawn-environ"

T = TypeVar("T")
R = TypeVar("R")

# Even with several threads, a worker works on one item at a time.
_lock = threading.Lock()


class _IgnoreInterrupts(WorkerPlugin):
    """Leaves Ctrl-C to the process that started the workers."""

    def setup(self, worker: Worker) -> None:
        signal.signal(signal.SIGINT, signal.SIG_IGN)


@contextmanager
def start_cluster(count: int) -> Iterator[Workers]:
    """Start processes on this machine, with a thread each, and stop them at the end.

    A killed process is replaced.
    """
    environ = dict.fromkeys(THREADS, "1")
    settings = {
        _ENVIRONMENT: {**dask.config.get(_ENVIRONMENT), **environ},  # before numpy is imported
        # An item that has killed two processes is tried again alone.
        "distributed.scheduler.allowed-failures": 1,
        # A busy machine takes a while to start a process again.
        "distributed.deploy.lost-worker-timeout": "10 minutes",
    }
    with (
        dask.config.set(settings),
        LocalCluster(
            n_workers=count,
            threads_per_worker=1,
            env=environ,
            memory_limit=None,  # Dask would pause or stop workers with large shards
            dashboard_address="127.0.0.1:0",
            silence_logs=logging.CRITICAL,
        ) as local,
        Client(local, set_as_default=False) as client,
    ):
        client.register_plugin(_IgnoreInterrupts())
        yield Cluster(client)


@contextmanager
def open_cluster(address: str) -> Iterator[Workers]:
    """Use the workers of a scheduler, such as tcp://host:8786, without stopping them.

    Raises ConnectionError if there's no scheduler, or if it has no workers, and ImportError if a
    worker has another version of spaCy or of this package.
    """
    try:
        client = Client(address, timeout=CONNECT_TIMEOUT, set_as_default=False)
    except (OSError, ValueError) as error:
        raise ConnectionError(
            f"There is no Dask scheduler at {address} ({error}). Expected an address such as "
            "tcp://host:8786. Start one with: dask scheduler"
        ) from error
    with closing(client):
        try:
            client.wait_for_workers(1, timeout=WORKER_TIMEOUT)
        except (TimeoutError, asyncio.TimeoutError) as error:  # the same class from Python 3.11 on
            raise ConnectionError(
                f"The Dask scheduler at {address} has no workers after {WORKER_TIMEOUT:.0f} "
                f"seconds. Start some with: dask worker {address} --nthreads 1"
            ) from error
        check_versions(client)
        yield Cluster(client)


def check_versions(client: Client) -> None:
    """Raise ImportError if the scheduler or a worker has another version of spaCy or of us."""
    nodes: Any = client.get_versions(packages=PACKAGES)
    ours = nodes["client"]["packages"]
    places = {f"scheduler {client.scheduler.address}": nodes["scheduler"]}
    places |= {f"worker {address}": node for address, node in nodes["workers"].items()}
    for place, node in places.items():
        for name in PACKAGES:
            version = node["packages"][name]
            if version != ours[name]:
                raise ImportError(
                    f"{place} has {name} {version}, but this process has {ours[name]}. Install "
                    "the same version on both."
                )


class Cluster(Workers):
    """The workers of a Dask scheduler."""

    def __init__(self, client: Client) -> None:
        """Use the workers of a client's scheduler."""
        self._client = client

    def try_each(
        self, function: Callable[[T], Any], items: Sequence[T], *, names: Sequence[str]
    ) -> Iterator[tuple[int, Any]]:
        """Yield the index of each item and its result or its ItemError, as they finish.

        If too many workers died with an item, Dask gives it up, with all items waiting on the same
        worker. To find the item to blame, these are tried again, one at a time.
        """
        todo, suspects = iter(range(len(items))), list[int]()
        running: dict[Future, int] = {}
        completed = as_completed(loop=self._client.loop)
        try:
            while True:
                next_items: list[int] = []
                is_alone = bool(suspects) and not running
                if is_alone:
                    next_items = [suspects.pop()]
                elif not suspects:
                    workers = len(self._client.nthreads()) or 1  # a worker may join
                    next_items = list(islice(todo, max(AHEAD * workers - len(running), 0)))
                for i in next_items:
                    # Dask would search the arguments for futures.
                    call = partial(_call, function, items[i])
                    future = self._client.submit(call, pure=False, retries=TRIES - 1)
                    running[future] = i
                    completed.add(future)
                if not running:
                    return
                future = next(completed)
                i = running.pop(future)
                try:
                    yield i, future.result()
                except (KilledWorker, RuntimeError) as error:
                    if isinstance(error, KilledWorker) and not is_alone:
                        suspects.append(i)
                    else:
                        yield i, ItemError(names[i], str(error))
                except CancelledError as error:
                    raise ConnectionError(
                        "The Dask scheduler was lost. Start it, and then this command again."
                    ) from error
        finally:
            if running and self._client.status == "running":
                self._client.cancel([*running])


def _call(function: Callable[[T], R], item: T) -> R:
    """Call a function on a worker. Raises RuntimeError, which can always be pickled."""
    with _lock:
        try:
            return function(item)
        except Exception as error:
            message = f"{described(error)} (worker {get_worker().address})"
            raise RuntimeError(message) from None
