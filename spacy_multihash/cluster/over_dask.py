"""Workers of Dask: processes of this machine, or those of a scheduler that is there."""

import asyncio
import logging
import signal
import threading
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import closing, contextmanager, suppress
from functools import partial
from importlib import metadata
from typing import Optional, TypeVar

import dask
from distributed import Client, Future, LocalCluster

from .base import ItemError, Workers
from .flight import Flight, Job
from .tree import Node, fold, parents

# Jobs under way for each worker: one that it does, and one that waits for it.
AHEAD = 2
# The tree of results has at most as many leaves, which the scheduler remembers to the end.
MOST_LEAVES = 8192
PACKAGES = ("spacy-multihash", "spacy")
# Seconds until the scheduler must answer, until it must have a worker, and for which the number of
# workers is taken to stay the same.
TO_CONNECT = 15.0
PATIENCE = 60.0
_STEADY = 5.0
# Of workers of this machine. They are set to the end, for workers that are started again.
SETTINGS = {
    # Dask gives a worker that was killed 15 seconds to start again, and goes on without it then:
    # without any, work on a busy machine would never end.
    "distributed.deploy.lost-worker-timeout": "10 minutes",
    # Dask would look a hundred times a second at what a worker does, which nobody asks for here.
    "distributed.worker.profile.enabled": False,
    # A worker whose memory is nearly full would wait for room for ever: what it holds is no result
    # that Dask could move. At 95 % of its memory, Dask starts it again, which gives room.
    "distributed.worker.memory.pause": False,
}
# Dask raises the second, which is another class than the first before Python 3.11.
TIMEOUTS = (TimeoutError, asyncio.TimeoutError)

T = TypeVar("T")
R = TypeVar("R")


@contextmanager
def open_local(count: int) -> Iterator[Workers]:
    """Start workers on this machine, and stop them at the end.

    count (int): How many.
    """
    with dask.config.set(SETTINGS):
        cluster = _start(count)
        try:
            with closing(Client(cluster)) as client:
                check_workers(client)
                yield OverDask(client)
        finally:
            with suppress(*TIMEOUTS):  # of a busy machine; the workers end with this process
                cluster.close()


def _start(count: int) -> LocalCluster:
    with _ignored_interrupts():
        return LocalCluster(
            n_workers=count,
            threads_per_worker=1,
            processes=True,
            dashboard_address="127.0.0.1:0",  # of the server that Dask always has: any free port
            scheduler_kwargs={"dashboard": False},
            silence_logs=logging.CRITICAL,  # errors that are raised here say more
        )


@contextmanager
def _ignored_interrupts() -> Iterator[None]:
    """Start processes that ignore Ctrl-C, which this process heeds, and then stops them.

    Each of them would print where it was.
    """
    if threading.current_thread() is not threading.main_thread():
        yield  # no other thread may change what signals do
        return
    former = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        yield
    finally:
        signal.signal(signal.SIGINT, former)


@contextmanager
def open_cluster(address: str) -> Iterator[Workers]:
    """Use the workers of a scheduler, which go on at the end.

    address (str): That of the scheduler, such as tcp://host:8786.

    Raises ConnectionError if there is no scheduler, or none with workers.
    """
    try:
        client = Client(address, timeout=TO_CONNECT)
    except (OSError, ValueError) as error:
        raise ConnectionError(
            f"There is no Dask scheduler at {address} ({error}). Expected an address such as "
            "tcp://host:8786. Start one with: dask scheduler"
        ) from error
    with closing(client):
        try:
            client.wait_for_workers(1, timeout=PATIENCE)
        except TIMEOUTS as error:
            raise ConnectionError(
                f"The Dask scheduler at {address} has no workers after {PATIENCE:.0f} seconds. "
                f"Start some with: dask worker {address} --nthreads 1"
            ) from error
        check_workers(client)
        yield OverDask(client)


def versions() -> dict[str, str]:
    """Return the versions of what workers need, by the names of the packages."""
    return {name: metadata.version(name) for name in PACKAGES}


def check_workers(client: Client) -> None:
    """Check that the scheduler and each worker can do what this process can.

    The scheduler reads what the workers are given to do.

    Raises ImportError, with the address of the worker, if one of them lacks a package that this
    process has, or has another version.
    """
    # What has no package of ours could not even read a function of ours.
    code = "import spacy, spacy_multihash"
    scheduler = f"scheduler {client.scheduler.address}"
    try:
        client.run_on_scheduler(exec, code)
    except Exception as error:
        _check_import(scheduler, error)
    for worker, raised in client.run(exec, code, on_error="return").items():
        _check_import(f"worker {worker}", raised)
    _check_versions(scheduler, client.run_on_scheduler(versions))
    for worker, theirs in client.run(versions).items():
        _check_versions(f"worker {worker}", theirs)


def _check_import(where: str, error: object) -> None:
    if isinstance(error, ModuleNotFoundError):
        raise ImportError(f"{where} has no package {error.name}. {_install()} where it runs.")
    if isinstance(error, Exception):
        raise ImportError(f"{where} cannot import spacy_multihash: {error!r}. {_install()}.")


def _check_versions(where: str, theirs: Mapping[str, str]) -> None:
    for name, version in versions().items():
        if theirs[name] != version:
            raise ImportError(
                f"{where} has {name} {theirs[name]}, and this process {version}. {_install()} on "
                "both sides."
            )


def _install() -> str:
    return f"Install {' and '.join(f'{name}=={version}' for name, version in versions().items())}"


class OverDask(Workers):
    """The workers of a Dask scheduler."""

    def __init__(self, client: Client) -> None:
        """Use the workers of a client's scheduler."""
        self._client = client
        self._counted = (0, -_STEADY)

    @property
    def count(self) -> int:
        """The number of workers, which may change while they work."""
        count, at = self._counted
        if time.monotonic() - at >= _STEADY:
            count = len(self._client.nthreads())
            self._counted = (count, time.monotonic())
        return max(count, 1)

    def _map(
        self,
        function: Callable[[T], R],
        items: Sequence[T],
        names: Sequence[str],
        on_error: Optional[Callable[[ItemError], None]],
    ) -> Iterator[tuple[int, R]]:
        flight: Flight[int] = Flight(self._client)
        waiting = iter(range(len(items)))
        try:
            while True:
                while flight.has_room(AHEAD * self.count):
                    if (i := next(waiting, None)) is None:
                        break
                    flight.begin(i, Job(function, (items[i],), names[i]))
                if not len(flight):
                    return
                try:
                    i, future = flight.wait()
                except ItemError as error:
                    if on_error is None:
                        raise
                    on_error(error)
                else:
                    yield i, future.result()
        finally:
            flight.cancel()

    def _merge(
        self,
        function: Callable[[T], R],
        items: Sequence[T],
        merge: Callable[[R, R], R],
        names: Sequence[str],
        on_done: Callable[[int], object],
    ) -> R:
        size = leaf_size(len(items))
        parent_of = parents(len(items), size)
        nodes = parent_of or [Node(0, len(items))]
        leaves = iter(sorted(node for node in nodes if node.stop - node.start <= size))
        done: dict[Node, Future] = {}
        flight: Flight[Node] = Flight(self._client)
        try:
            while True:
                while flight.has_room(AHEAD * self.count) and (leaf := next(leaves, None)):
                    part = slice(*leaf)
                    arguments = (function, merge, items[part], names[part])
                    flight.begin(leaf, Job(fold_items, arguments, _name(names, leaf)))
                node, future = flight.wait()
                if node.stop - node.start <= size:
                    on_done(node.stop - node.start)
                if node not in parent_of:
                    return future.result()
                done[node] = future
                parent = parent_of[node]
                if all(half in done for half in parent.split()):
                    halves = [done.pop(half) for half in parent.split()]
                    flight.begin(parent, Job(merge, (), _name(names, parent)), *halves)
        finally:
            flight.cancel()


def fold_items(
    function: Callable[[T], R],
    merge: Callable[[R, R], R],
    items: Sequence[T],
    names: Sequence[str],
) -> R:
    """Return the merged results of some items. An ItemError names the one that fails."""
    return fold(map(partial(_do_named, function), items, names), merge)


def _do_named(function: Callable[[T], R], item: T, name: str) -> R:
    try:
        return function(item)
    except Exception as error:
        raise ItemError(name, "", error) from error


def leaf_size(count: int) -> int:
    """Return how many items a leaf of the tree has: a power of 2, as the tree is cut in halves."""
    return 1 << (max(count - 1, 0) // MOST_LEAVES).bit_length()


def _name(names: Sequence[str], node: Node) -> str:
    first, last = names[node.start], names[node.stop - 1]
    return first if node.stop - node.start == 1 else f"{first} to {last}"
