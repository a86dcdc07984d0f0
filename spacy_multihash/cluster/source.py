"""What workers load, once in each process: the same files as where the command was started."""

import gc
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from functools import lru_cache, partial
from hashlib import sha256
from pathlib import Path
from typing import Generic, Optional, Protocol, TypeVar, Union
from uuid import uuid4

from spacy.util import get_package_path, import_file, is_package
from spacy.vocab import Vocab

# Strings and words that a vocab may get from shards before it is loaded anew, at a quarter of a
# kilobyte each: a quarter of a gigabyte, of half a million new words.
MOST_GROWTH = 1_000_000
# Tells this process from all others.
_HERE = uuid4().hex
# Files that Python makes of others, with the times of these.
_COMPILED = "__pycache__"
# The digests of the Python files that this process has imported.
_imported: dict[Path, str] = {}

LoadedT = TypeVar("LoadedT")


class HasVocab(Protocol):
    """What has a vocab, such as a pipeline."""

    @property
    def vocab(self) -> Vocab:
        """The vocab, which gets the words of all texts that it meets, and forgets none."""


HasVocabT = TypeVar("HasVocabT", bound=HasVocab)


@dataclass
class _Kept(Generic[LoadedT]):
    """What was loaded, and the size of its vocab then: None until somebody asks."""

    loaded: LoadedT
    size: Optional[int] = None


@dataclass(frozen=True)
class Source(Generic[LoadedT]):
    """What a command needs in each process that works for it, and loads there once.

    load (Callable[[], LoadedT]): Loads it. It travels between processes.
    code (Optional[Path]): Python file to import before, in other processes than this one.
    place (Optional[str]): The package, folder or file that is loaded. None for what has no files.
    digest (str): That of these files, "" if there are none. A process that finds others loads none.
    code_digest (str): The same of the Python file.
    """

    load: Callable[[], LoadedT] = field(compare=False)
    code: Optional[Path] = field(default=None, compare=False)
    place: Optional[str] = field(default=None, compare=False)
    digest: str = field(default="", compare=False)
    code_digest: str = field(default="", compare=False)
    home: str = field(default=_HERE, compare=False)
    # A model that was trained anew is loaded anew, as each command has a source of its own.
    run: str = field(default_factory=lambda: uuid4().hex)

    def loaded(self) -> LoadedT:
        """Load it, unless this process has it already.

        Raises ValueError where other files are than where the command was started, and where the
        Python file was imported before it changed.
        """
        return _load(self).loaded

    def loaded_for_shard(self: "Source[HasVocabT]") -> HasVocabT:
        """Load it, unless this process has it already, and its vocab has not grown too much.

        So the memory of a process is bounded, however many shards it does. No shard may need what
        the pipeline remembers of another one: which shards a worker does is chance.

        Raises what `loaded` raises.
        """
        kept = _load(self)
        size = _size_of(kept.loaded.vocab)
        if kept.size is None:
            kept.size = size
        if size - kept.size <= MOST_GROWTH:
            return kept.loaded
        del kept
        _load.cache_clear()
        gc.collect()  # the former one is gone before its successor takes memory
        if self.place is not None and self.home == _HERE:
            _check(self.place, folder_of(self.place), self.digest)
        return _load(self).loaded


def _size_of(vocab: Vocab) -> int:
    return len(vocab.strings) + len(vocab)


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
    source = source_without_files(partial(load, place), code)
    return replace(source, place=place, digest=_digest_of(folder_of(place)))


def source_without_files(load: Callable[[], LoadedT], code: Optional[Path]) -> Source[LoadedT]:
    """Make a source of what has no files. The arguments are those of `source_of`."""
    code = None if code is None else code.absolute()
    return Source(load, code, code_digest="" if code is None else _digest_of(code))


def folder_of(place: str) -> Path:
    """Return where the files of a package or a path are."""
    return get_package_path(place) if is_package(place) else Path(place)


@lru_cache(maxsize=1)
def _load(source: Source[LoadedT]) -> _Kept[LoadedT]:
    if source.home != _HERE:
        if source.place is not None:
            _check(source.place, folder_of(source.place), source.digest)
        if source.code is not None:
            _check(str(source.code), source.code, source.code_digest)
            _import(source.code, source.code_digest)
    return _Kept(source.load())


def _check(name: str, path: Path, digest: str) -> None:
    if _digest_of(path) != digest:
        raise ValueError(
            f"{name} has other files here than where the command was started. Copy or install the "
            "same ones."
        )


def _digest_of(path: Path) -> str:
    """Return the SHA-256 of a file, or of the names and bytes of a folder's files, "" of none."""
    if path.is_file():
        return sha256(path.read_bytes()).hexdigest()
    if not path.is_dir():
        return ""
    digest = sha256()
    for file_ in sorted(path.rglob("*")):
        inside = file_.relative_to(path)
        if _COMPILED in inside.parts or not file_.is_file():
            continue
        data = file_.read_bytes()
        digest.update(f"{inside.as_posix()}\0{len(data)}\0".encode())
        digest.update(data)
    return digest.hexdigest()


def _import(path: Path, digest: str) -> None:
    """Import a Python file with registered functions, once in each process."""
    if path not in _imported:
        import_file("python_code", path)
        _imported[path] = digest
    elif _imported[path] != digest:
        raise ValueError(
            f"{path} was changed after this process had imported it, and spaCy keeps the "
            "components of the former file. Start the worker again."
        )
