"""Jobs under way on the workers of Dask. Each is done again, on another worker, where it fails."""

import pickle
import threading
from collections.abc import Callable
from functools import cache
from typing import Any, Generic, NamedTuple, Optional, TypeVar

from distributed import Client, Future, KilledWorker, as_completed, get_worker
from threadpoolctl import ThreadpoolController

from .base import TRIES, ItemError
from .paused import Watch

# The states of a job that was done on a worker which was killed with the result.
_DONE_AGAIN = ("lost", "pending")
# Seconds. Dask does not always tell at once that a job is done.
_MOMENT = 0.1

KeyT = TypeVar("KeyT")

# A worker that has several threads does one job at a time all the same.
_one_at_a_time = threading.Lock()


class Job:
    """A function, its first argument or none, and a name for messages.

    Dask looks for results of others within arguments. It does not look into a job.
    """

    def __init__(self, function: Callable[..., Any], arguments: tuple, name: str) -> None:
        """Keep the arguments."""
        self.function, self.arguments, self.name = function, arguments, name


class Failure(Exception):
    """What a function raised on a worker: the worker's address, and the error."""


def do(job: Job, *results: Any) -> Any:  # noqa: ANN401 (whatever a function takes and returns)
    """Do a job on a worker, with the results of others as its last arguments.

    Raises Failure if the function raises.
    """
    with _one_at_a_time, _libraries().limit(limits=1):
        try:
            return job.function(*job.arguments, *results)
        except Exception as error:
            raise Failure(get_worker().address, _portable(error)) from error


@cache
def _libraries() -> ThreadpoolController:
    """Find the libraries that have threads, which takes about as long as a small job."""
    return ThreadpoolController()


def _portable(error: Exception) -> Exception:
    """Return an error that can travel between processes."""
    try:
        pickle.loads(pickle.dumps(error))
    except Exception:
        return RuntimeError(f"{type(error).__name__}: {error}")
    return error


class _UnderWay(NamedTuple):
    key: Any
    job: Job
    future: Future
    results: tuple[Future, ...]
    failed: tuple[str, ...]
    alone: bool


class Flight(Generic[KeyT]):
    """Jobs under way, each with a key of the caller's.

    Dask gives up a job that was on too many workers that died, and jobs that only waited there with
    it. Such jobs are suspects: each is done again with nothing else under way.
    """

    def __init__(self, client: Client) -> None:
        """Begin without jobs."""
        self._client = client
        self._completed = as_completed(loop=client.loop)
        self._under_way: dict[object, _UnderWay] = {}  # by the names that Dask gives
        self._suspects: list[_UnderWay] = []
        self._one_alone = False

    def __len__(self) -> int:
        """Return the number of jobs under way, and of those that are to be done again."""
        return len(self._under_way) + len(self._suspects)

    def has_room(self, most: int) -> bool:
        """Tell whether another job may be begun, if so many may be under way."""
        return not self._suspects and not self._one_alone and len(self._under_way) < most

    def begin(self, key: KeyT, job: Job, *results: Future) -> None:
        """Begin a job, with the results of others as its last arguments."""
        self._submit(key, job, results)

    def wait(self) -> tuple[KeyT, Future]:
        """Wait until any job is done, and return its key and its result.

        Raises ItemError for a job that failed as often as it may, and ConnectionError if the
        scheduler is lost, or if workers are paused and nothing is done any more.
        """
        while True:
            if not self._under_way:
                self._begin_alone()
            future = self._next()
            done = self._under_way.pop(future.key)
            if future.status == "finished":
                self._one_alone = False
                return done.key, future
            if future.status != "error":
                raise ConnectionError(
                    "The Dask scheduler was lost. Start it, and then this command again."
                )
            error = _item_error(done.job, future.exception())
            failed = (*done.failed, error.worker)
            # Dask itself gives the job of a lost worker to others, until it has lost too many.
            if isinstance(error.cause, KilledWorker) and not done.alone:
                self._suspects.append(done)
            elif isinstance(error.cause, KilledWorker) or len(failed) == TRIES:
                self._one_alone = False
                raise error
            else:
                self._submit(done.key, done.job, done.results, failed, done.alone)

    def cancel(self) -> None:
        """Give up what is under way."""
        if self._under_way and self._client.status == "running":
            self._client.cancel([job.future for job in self._under_way.values()])
        self._under_way.clear()
        self._suspects.clear()

    def _next(self) -> Future:
        """Wait until any job is done, failed or given up."""
        watch = Watch(self._client)
        while True:
            while not self._completed.has_ready():
                with self._completed.thread_condition:
                    self._completed.thread_condition.wait(_MOMENT)
                watch.look(self._under_way)
            future = next(self._completed)
            if future.status not in _DONE_AGAIN:
                return future
            self._completed.add(future)

    def _begin_alone(self) -> None:
        """Do a suspect again. Those without results of others are first: these may be lost."""
        suspect = min(self._suspects, key=lambda job: len(job.results))
        self._suspects.remove(suspect)
        self._one_alone = True
        self._submit(suspect.key, suspect.job, suspect.results, suspect.failed, alone=True)

    def _submit(
        self,
        key: KeyT,
        job: Job,
        results: tuple[Future, ...],
        failed: tuple[str, ...] = (),
        alone: bool = False,
    ) -> None:
        elsewhere: Optional[list[str]] = None
        if failed:
            elsewhere = [worker for worker in self._client.nthreads() if worker not in failed]
        future = self._client.submit(
            do,
            job,
            *results,
            pure=False,
            priority=len(results),  # results are merged soon, which frees memory
            workers=elsewhere or None,
            allow_other_workers=bool(elsewhere),
        )
        self._under_way[future.key] = _UnderWay(key, job, future, results, failed, alone)
        self._completed.add(future)


def _item_error(job: Job, error: BaseException) -> ItemError:
    if isinstance(error, Failure):
        worker, cause = error.args
        if isinstance(cause, ItemError):  # one of the items that the job has
            return ItemError(cause.name, worker, cause.cause)
        return ItemError(job.name, worker, cause)
    if isinstance(error, KilledWorker):
        return ItemError(job.name, error.last_worker.address, error)
    return ItemError(job.name, "a worker", error)
