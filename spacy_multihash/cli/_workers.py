"""The workers of commands: their options, and what they load to count."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cache, lru_cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Generic, Optional, TypeVar, Union
from uuid import uuid4

import typer
from spacy.util import get_package_path, import_file, is_package
from threadpoolctl import threadpool_limits

from ..apply.manifest import digest_of
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
    place (Optional[str]): The package, folder or file that is loaded. None for what has no files.
    digest (str): That of these files. A process that finds others loads none.
    """

    load: Callable[[], LoadedT] = field(compare=False)
    code: Optional[Path] = field(default=None, compare=False)
    place: Optional[str] = field(default=None, compare=False)
    digest: str = field(default="", compare=False)
    home: str = field(default=_HERE, compare=False)
    # A model that was trained anew is loaded anew, as each command has a source of its own.
    run: str = field(default_factory=lambda: uuid4().hex)

    def loaded(self) -> LoadedT:
        """Load it, unless this process has it already.

        Raises ValueError where other files are than where the command was started.
        """
        return _load(self)


def source_of(
    load: Callable[[str], LoadedT], model: Union[str, Path], code: Optional[Path]
) -> Source[LoadedT]:
    """Make a source for processes that may run in other folders.

    load (Callable[[str], LoadedT]): Loads the model.
    model (Union[str, Path]): A package's name, or the path of a pipeline or a config.
    code (Optional[Path]): Python file to import before.
    """
    is_path = not is_package(str(model)) and Path(model).exists()
    place = str(Path(model).absolute() if is_path else model)
    code = None if code is None else code.absolute()
    return Source(partial(load, place), code, place, _digest_of(place))


@lru_cache(maxsize=1)
def _load(source: Source[LoadedT]) -> LoadedT:
    if source.home != _HERE:
        if source.place is not None and _digest_of(source.place) != source.digest:
            raise ValueError(
                f"{source.place} has other files here than where the command was started. Copy or "
                "install the same ones."
            )
        if source.code is not None:
            _import(source.code, source.code.stat().st_mtime_ns)
    return source.load()


def _digest_of(place: str) -> str:
    """Return the digest of the files of a pipeline or a config, "" if there are none."""
    path = get_package_path(place) if is_package(place) else Path(place)
    if path.is_file():
        return sha256(path.read_bytes()).hexdigest()
    return digest_of(path) if path.is_dir() else ""


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
