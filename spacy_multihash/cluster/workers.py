"""Open the workers that a command was told to use."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Optional

from threadpoolctl import threadpool_limits

from ..common.checks import check_whole
from .base import ItemError, Workers
from .here import Here

__all__ = ["ItemError", "Workers", "open_workers"]


@contextmanager
def open_workers(workers: Optional[int] = None, dask: Optional[str] = None) -> Iterator[Workers]:
    """Open workers, and close those that were started here at the end.

    Each worker does one item at a time, in one thread.

    workers (Optional[int]): How many. None and 1 are for this process alone. More are processes of
        this machine, which Dask starts.
    dask (Optional[str]): Address of a Dask scheduler, such as tcp://host:8786, whose workers are
        used.

    Raises ValueError for a number below 1, and for both a number and an address. Raises ImportError
    if Dask is needed and not installed, or if the scheduler or a worker has no spacy_multihash, no
    spaCy or another version of one of them. Raises ConnectionError if there is no scheduler at the
    address, or none with workers.
    """
    if workers is not None:
        check_whole("open_workers", "workers", workers, 1, advice="Change the number.")
    if dask is not None and workers is not None:
        raise ValueError(
            f"Expected either a number of workers or the address of a Dask scheduler, was given "
            f"both, {workers} and {dask}. Give one of them."
        )
    if dask is None and workers in (None, 1):
        with threadpool_limits(1):
            yield Here()
        return
    try:
        from .over_dask import open_cluster, open_local
    except ModuleNotFoundError as error:
        raise ImportError(
            f"Several workers need Dask ({error}): python -m pip install 'spacy-multihash[dask]'"
        ) from error
    with open_local(workers or 1) if dask is None else open_cluster(dask) as found:
        yield found
