"""The workers of commands: their options, and what they load to count."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Optional

import typer
from threadpoolctl import threadpool_limits

from ..cluster.source import Source, source_of, source_without_files
from ..cluster.workers import ItemError, Workers, open_workers

__all__ = ["DASK", "WORKERS", "Source", "open_pool", "source_of", "source_without_files"]

WORKERS = typer.Option(
    None, "--workers", min=1, help="Number of processes, with a thread each. Default: 1"
)
DASK = typer.Option(None, "--dask", help="Address of a Dask scheduler, whose workers are used")


@contextmanager
def open_pool(workers: Optional[int], dask: Optional[str]) -> Iterator[Workers]:
    """Open workers as `open_workers` does, and let this process compute in one thread as they do.

    Raises what `open_workers` raises, and ValueError for a piece that cannot be counted.
    """
    try:
        with open_workers(workers, dask) as pool, threadpool_limits(1):
            yield pool
    except ItemError as error:
        raise ValueError(str(error)) from error
