"""The workers of commands that count or train in pieces: their options, and what they load."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, lru_cache
from pathlib import Path
from typing import Generic, Optional, TypeVar, Union
from uuid import uuid4

import typer
from spacy.util import import_file
from threadpoolctl import threadpool_limits

from ..cluster.workers import ItemError, Workers, open_workers

WORKERS = typer.Option(
    None, "--workers", min=1, help="Number of processes, with a thread each. Default: 1"
)
DASK = typer.Option(None, "--dask", help="Address of a Dask scheduler, whose workers are used")

# Tells this process from all others.
_HERE = uuid4().hex

LoadedT = TypeVar("LoadedT")


@dataclass(frozen=True)
class Source(Generic[LoadedT]):
    """What a command needs in each process that works for it, and loads there once.

    load (Callable[[], LoadedT]): Loads it. It travels between processes.
    code (Optional[Path]): Python file to import before, in other processes than this one.
    """

    load: Callable[[], LoadedT] = field(compare=False)
    code: Optional[Path] = field(default=None, compare=False)
    home: str = field(default=_HERE, compare=False)
    # A model that was trained anew is loaded anew, as each command has a source of its own.
    run: str = field(default_factory=lambda: uuid4().hex)

    def loaded(self) -> LoadedT:
        """Load it, unless this process has it already."""
        return _load(self)


@lru_cache(maxsize=1)
def _load(source: Source[LoadedT]) -> LoadedT:
    if source.code is not None and source.home != _HERE:
        _import(source.code, source.code.stat().st_mtime_ns)
    return source.load()


@cache
def _import(path: Path, changed: int) -> None:
    """Import a Python file with registered functions, once in each process."""
    import_file("python_code", path)


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


def source_of(load: Callable[[], LoadedT], code: Optional[Path]) -> Source[LoadedT]:
    """Make a source for processes that may run in other folders."""
    return Source(load, None if code is None else code.absolute())


def absolute_model(model: Union[str, Path]) -> str:
    """Name a pipeline for processes in other folders: a package's name stays, a path is whole."""
    path = Path(model)
    return str(path.absolute() if path.exists() else model)
