"""Open the workers that a command was told to use."""

from collections.abc import Iterator
from contextlib import closing, contextmanager
from typing import Optional

from ..common.checks import check_whole
from .workers import Here, Processes, Workers


@contextmanager
def open_workers(workers: Optional[int] = None, dask: Optional[str] = None) -> Iterator[Workers]:
    """Open workers, and close those that were started.

    workers (int): The number of processes. None and 1 use this process alone.
    dask (str): The address of a Dask scheduler whose workers are used, e.g. tcp://host:8786.

    Raises ValueError for a number below 1, and for both a number and an address. Raises ImportError
    if Dask isn't installed, or if its scheduler or a worker has no spaCy or spacy-multihash or
    another version. Raises ConnectionError if there's no scheduler, or if it has no workers.
    """
    if workers is not None:
        check_whole("open_workers", "workers", workers, 1, advice="Change the number.")
    if dask is None:
        if workers in (None, 1):
            yield Here()
        else:
            with closing(Processes(workers or 1)) as processes:
                yield processes
        return
    if workers is not None:
        raise ValueError("Give either a number of workers or the address of a Dask scheduler.")
    try:
        from .cluster import open_cluster
    except ModuleNotFoundError as error:
        raise ImportError(
            f"Workers of Dask need the extra dask ({error}): python -m pip install "
            "'spacy-multihash[dask]'"
        ) from error
    with open_cluster(dask) as cluster:
        yield cluster
