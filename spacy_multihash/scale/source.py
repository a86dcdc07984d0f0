"""Load a pipeline once in each worker process, from the same files as in the main process."""

import gc
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from hashlib import sha256
from pathlib import Path
from typing import Any, Generic, Optional, TypeVar, Union, cast
from uuid import uuid4

from spacy.util import get_package_path, is_package

from ..common.load import import_code

# How many strings and lexemes a vocab may gain from shards before it's loaded again. At a quarter
# of a kilobyte each, they take a quarter of a gigabyte.
MAX_GROWTH = 1_000_000
# Identifies this process.
_HERE = uuid4().hex

T = TypeVar("T")


# The object of the last source that this process loaded, by its run, and the first size of its
# vocab.
_kept: dict[str, Any] = {}


@dataclass(frozen=True)
class Source(Generic[T]):
    """An object, such as a pipeline, that each worker process loads once.

    load (Callable[[], T]): Loads it. Must be picklable.
    place (str): The package, folder or file to load.
    digest (str): The digest of these files, "" if there are none. A process raises ValueError if
        its files have another digest.
    code (Optional[Path]): Python file to import first, in other processes.
    code_digest (str): The digest of that file.
    """

    load: Callable[[], T]
    place: str
    digest: str
    code: Optional[Path] = None
    code_digest: str = ""
    home: str = _HERE
    run: str = field(default_factory=lambda: uuid4().hex)  # each command has its own source

    def loaded(self) -> T:
        """Return the object, and load it if needed. Raises ValueError."""
        if self.run not in _kept:
            _kept.clear()
            if self.home != _HERE:
                self._check_files()
                self._import_code()
            made = _kept[self.run] = self.load()
            return made
        return _kept[self.run]

    @contextmanager
    def kept(self) -> Iterator[None]:
        """Keep the object in this process for this context alone, and then free its memory."""
        try:
            yield
        finally:
            _kept.pop(self.run, None)
            _kept.pop("size", None)

    def loaded_for_shard(self) -> T:
        """Return the object, and load it again if its vocab has grown too much.

        This limits memory, however many shards a process works on. Results must not depend on the
        strings and lexemes of other shards.
        """
        vocab = cast(Any, self.loaded()).vocab
        size = len(vocab.strings) + len(vocab)
        if size - _kept.setdefault("size", size) > MAX_GROWTH:
            del vocab
            _kept.clear()
            gc.collect()  # free the old pipeline before loading the new pipeline
            self._check_files()
        return self.loaded()

    def _check_files(self) -> None:
        if digest_of(folder_of(self.place)) != self.digest:
            raise ValueError(
                f"{self.place} has other files here than where the command was started. Copy or "
                "install the same ones."
            )

    def _import_code(self) -> None:
        if self.code is None:
            return
        if digest_of(self.code) != self.code_digest:
            raise ValueError(
                f"{self.code} differs from the file where the command was started. Copy the same "
                "file."
            )
        import_code(self.code, again=False)


def source_of(
    load: Callable[[str], T], model: Union[str, Path], code: Union[str, Path, None] = None
) -> Source[T]:
    """Make a source for processes that may run in other folders.

    model (Union[str, Path]): A package's name, or the path of a pipeline or a config.
    code (Union[str, Path, None]): Python file to import first, here and there.
    """
    import_code(code)
    is_path = not is_package(str(model)) and Path(model).exists()
    place = str(Path(model).absolute() if is_path else model)
    of_code = () if code is None else (Path(code).absolute(), digest_of(Path(code)))
    return Source(partial(load, place), place, digest_of(folder_of(place)), *of_code)


def folder_of(place: str) -> Path:
    """Return the folder or file of a package or path."""
    return get_package_path(place) if is_package(place) else Path(place)


def digest_of(path: Path) -> str:
    """Return the SHA-256 of a file, or of a folder's names and bytes, "" if there are no files."""
    if path.is_file():
        return sha256(path.read_bytes()).hexdigest()
    digest, is_empty = sha256(), True
    for file_ in sorted(path.rglob("*")):
        inside = file_.relative_to(path)
        # Compiled Python files contain the times of their sources.
        if file_.is_file() and "__pycache__" not in inside.parts:
            data, is_empty = file_.read_bytes(), False
            digest.update(f"{inside.as_posix()}\0{len(data)}\0".encode())
            digest.update(data)
    return "" if is_empty else digest.hexdigest()
