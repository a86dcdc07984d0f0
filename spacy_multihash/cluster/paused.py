"""Workers of Dask that begin nothing any more: their memory is full, or all of them have gone."""

import time
import warnings
from collections.abc import Iterable, Sequence
from contextlib import suppress
from typing import Any

from distributed import Client, Status

# Seconds between two looks at the workers, while none of them has finished anything.
EVERY = 5.0
# Seconds after which a worker that pauses is taken to stay so. Dask collects its garbage meanwhile.
PATIENCE = 60.0
# Of workers, in a message.
MOST_NAMES = 3
_MEGA = 10**6


class Watch:
    """Watches the workers while somebody waits for jobs."""

    def __init__(self, client: Client) -> None:
        """Begin now."""
        self._client = client
        self._looked = self._well = time.monotonic()
        self._warned = False

    def look(self, keys: Iterable[object]) -> None:
        """Look at the workers, if the last time is long enough ago.

        Warns once if there have been no workers for long: others may come.

        keys (Iterable[object]): The names that Dask gives to the jobs under way.

        Raises ConnectionError if the jobs only wait, and have waited for long for workers that are
        paused.
        """
        now = time.monotonic()
        if now - self._looked < EVERY or self._client.status != "running":
            return
        self._looked = now
        count, paused = 1, list[str]()
        with suppress(OSError):  # where the scheduler is lost, jobs tell it
            count, paused = self._client.run_on_scheduler(find_paused, [*keys])
        if count and not paused:
            self._well = now
        elif now - self._well < PATIENCE:
            return
        elif not count and not self._warned:
            self._warned = True
            address = self._client.scheduler.address
            warnings.warn(
                f"The Dask scheduler at {address} has no workers any more, and nothing is done "
                f"until some come. Start them with: dask worker {address} --nthreads 1",
                stacklevel=2,
            )
        elif paused:
            more = f" and {len(paused) - MOST_NAMES:,} more" * (len(paused) > MOST_NAMES)
            raise ConnectionError(
                f"Workers of Dask are paused, as their memory is full, and nothing is done any "
                f"more: {', '.join(paused[:MOST_NAMES])}{more}. Start them again with more memory "
                "(--memory-limit), or with distributed.worker.memory.pause set to False in Dask's "
                "config, and then this command."
            )


def find_paused(
    keys: Sequence[object],
    dask_scheduler: Any,  # noqa: ANN401 (distributed has no types)
) -> tuple[int, list[str]]:
    """Count the workers, and list those that are paused: none while any of some jobs is done.

    It runs on the scheduler. Each worker that is paused has its address and its memory.
    """
    jobs = [dask_scheduler.tasks[key] for key in keys if key in dask_scheduler.tasks]
    if any(job.processing_on and job in job.processing_on.executing for job in jobs):
        return len(dask_scheduler.workers), []
    paused = [
        f"{worker.address} ({worker.metrics['memory'] / _MEGA:,.0f} of "
        f"{worker.memory_limit / _MEGA:,.0f} MB)"
        for worker in dask_scheduler.workers.values()
        if worker.status == Status.paused
    ]
    return len(dask_scheduler.workers), paused
