"""Choose the workers: this process, processes of this machine, or those of a Dask scheduler."""

import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Optional

from .workers import Workers


@contextmanager
def open_workers(workers: Optional[int] = None, dask: Optional[str] = None) -> Iterator[Workers]:
    """Start processes and stop them at the end, or use the workers of a Dask scheduler.

    workers (Optional[int]): Number of processes, with a thread each. Without the extra dask, this
        process does all, with a warning.
    dask (Optional[str]): Address of a scheduler, such as tcp://host:8786.

    Without both, or with one worker, this process does all. Raises ValueError for both, and the
    errors of `open_cluster`.
    """
    if workers is not None and dask is not None:
        raise ValueError("Give either a number of workers or the address of a Dask scheduler.")
    if dask is None and (workers or 1) == 1:
        yield Workers()
        return
    try:
        from .cluster import open_cluster, start_cluster
    except ModuleNotFoundError:
        if dask is not None:
            raise
        warnings.warn(
            f"One process does all, instead of {workers}, since Dask isn't installed. Install it "
            "with: python -m pip install distributed",
            stacklevel=3,
        )
        yield Workers()
        return
    with start_cluster(workers or 1) if dask is None else open_cluster(dask) as cluster:
        yield cluster
