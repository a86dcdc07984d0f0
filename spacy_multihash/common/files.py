"""Write files and folders completely or not at all, and read files that may be damaged.

A file is written in a hidden folder beside its target, and then replaces the target in one step. A
folder can't replace another in one step: the old folder is renamed, the new folder takes its
place, and the old folder is removed. If a command is killed in between, `recover` puts the old
folder back.
"""

import errno
import gc
import os
import re
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from shutil import rmtree
from tempfile import TemporaryDirectory
from typing import Any, BinaryIO, Optional, Union

import numpy
import srsly

# Hidden folders for what isn't written completely end with it. A killed command leaves its own.
STAGING = ".spacy-multihash"
# A hidden folder that is being replaced ends with it.
FORMER = ".spacy-multihash-former"
# What numpy says, without a number, if it can't write an array to a file.
_NOT_WRITTEN = re.compile(r"\d+ requested and \d+ written")
# Errors of a rename while another process replaces the same folder, and how often to try again.
_MOVED = (errno.EEXIST, errno.ENOENT, errno.ENOTEMPTY)
_ATTEMPTS = 100


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file atomically, and make its parent folders.

    A link stays a link, and its target is written. Devices, pipes and streams of this process, such
    as /dev/stdout, are written to directly. Raises OSError with the path.
    """
    if (stream := standard_stream(path)) is not None or _is_special(path):
        with naming(path):
            sys.stdout.flush()  # what was printed before comes first
            with open(path if stream is None else os.dup(stream), "wb") as file_:
                file_.write(data)
        return
    with replacing_file(path) as new:
        new.write_bytes(data)


@contextmanager
def staging(target: Path) -> Iterator[Path]:
    """Make a hidden folder beside a target, and its parent folders, and remove it at the end.

    OSErrors that name the hidden folder, or no path, name the target instead.
    """
    with naming(target):
        target.parent.mkdir(parents=True, exist_ok=True)
        with TemporaryDirectory(
            prefix=f".{target.name}.", suffix=STAGING, dir=target.parent, ignore_cleanup_errors=True
        ) as folder:
            yield Path(folder)


def check_writable(target: Path, name: str) -> None:
    """Check that `staging` can make its hidden folder, before the work whose result it's for.

    name (str): The option or argument, for the message.

    Raises ValueError, or OSError with the path.
    """
    if os.path.ismount(target):
        raise OSError(
            errno.EBUSY, "a mount point can't be replaced, give a folder in it", str(target)
        )
    folder = next(folder for folder in target.parents if folder.exists())
    if not folder.is_dir() or not os.access(folder, os.W_OK | os.X_OK):
        raise ValueError(f"{name} can't be written: {folder} isn't a writable folder.")
    with naming(target), TemporaryDirectory(prefix=f".{target.name}.", suffix=FORMER, dir=folder):
        pass


@contextmanager
def replacing_file(path: Path) -> Iterator[Path]:
    """Yield the path of a file to write, which replaces the target once it's complete.

    A link stays a link, and its target is replaced. Folders are made as needed. OSErrors name the
    target.
    """
    target = Path(os.path.realpath(path))
    with staging(target) as folder:
        yield folder / "new"
        (folder / "new").replace(target)


@contextmanager
def replacing_folder(path: Path) -> Iterator[Path]:
    """Yield the path of a folder to write, which replaces the target once it's complete.

    If anything fails, the old folder stays. If this process is killed, `recover` finds either
    folder. A link stays a link, and its target is replaced. OSErrors name the target.
    """
    target = Path(os.path.realpath(path))
    recover(target)
    with staging(target) as folder:
        yield folder / "new"
        _replace_folder(folder / "new", target)


def _replace_folder(new: Path, target: Path) -> None:
    former = _former(target)
    try:
        for attempt in range(_ATTEMPTS):
            try:
                if target.exists():
                    target.rename(former)
                new.rename(target)
                break
            except OSError as error:
                if attempt + 1 == _ATTEMPTS or error.errno not in _MOVED:
                    raise
                recover(target)
    finally:
        recover(target)


def recover(path: Union[str, Path]) -> None:
    """Tidy up after a command that was killed while it replaced a folder.

    If the folder is missing, its former version is put back. Otherwise the former is removed. If
    this isn't permitted, nothing happens. Call it before a look at what's at a path.
    """
    target = Path(os.path.realpath(path))
    former = _former(target)
    with suppress(OSError):
        if not former.exists():
            return
        if target.exists():
            rmtree(former, ignore_errors=True)
        else:
            former.rename(target)


def is_leftover(path: Path) -> bool:
    """Check if a killed command may have left this hidden file or folder."""
    return path.name.startswith(".") and path.name.endswith((STAGING, FORMER))


def _former(target: Path) -> Path:
    return target.with_name(f".{target.name}{FORMER}")


@contextmanager
def naming(path: Path) -> Iterator[None]:
    """Let OSErrors of the disk name a path if they name no path, or one of its hidden folders."""
    try:
        yield
    except OSError as error:
        hidden = str(path.with_name(f".{path.name}."))
        names = [str(name) for name in (error.filename, error.filename2) if name is not None]
        is_of_disk = error.errno is not None or _NOT_WRITTEN.search(str(error))
        if not is_of_disk or (names and not any(name.startswith(hidden) for name in names)):
            raise
        why = error.strerror or str(error)
        raise OSError(error.errno or errno.EIO, why, str(path)) from error


def write_json(path: Path, value: Any) -> None:  # noqa: ANN401 (whatever JSON can hold)
    """Write a JSON file atomically."""
    write_bytes(path, (srsly.json_dumps(value, indent=2) + "\n").encode("utf8"))


def check_new(path: Path, met: dict[tuple[int, int], Path]) -> None:
    """Raise ValueError for a file or folder that was met before, by this name or by a link.

    met (dict[tuple[int, int], Path]): What was met, to which this is added.
    """
    if not path.exists():
        return  # whoever reads it says so
    status = path.stat()
    key = status.st_dev, status.st_ino
    if key in met and status.st_ino:  # 0 where the file system has no numbers
        kind = "folder" if path.is_dir() else "file"
        raise ValueError(
            f"{path} is the same {kind} as {met[key]}, and would count more than once. Leave one "
            "of them out."
        )
    met[key] = path


def _is_special(path: Path) -> bool:
    """Check if a path is, or links to, a device, a pipe or a socket."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def standard_stream(path: Path) -> Optional[int]:
    """Return the number of this process's stream that a path links to, or None."""
    for number in (1, 2) if path.is_symlink() else ():
        with suppress(OSError):  # a closed stream, or a broken link
            if os.path.samestat(path.stat(), os.fstat(number)):
                return number
    return None


# Files that may be damaged


class UnreadableFile(ValueError):
    """A file or folder can't be read. The message names it, and says what to do."""


# What `reading` calls the bytes of a component, of which it names the part.
BYTES = "the bytes"


@contextmanager
def reading(
    path: Union[str, Path], repair: str = "copy or make it again", *, component: str = ""
) -> Iterator[None]:
    """Raise whatever a damaged file makes its readers raise as `UnreadableFile`.

    OSErrors of the disk, such as for a missing file, stay OSErrors, and name the path.

    path (Union[str, Path]): The file. If spaCy reads a folder, the message names the file in it.
    repair (str): What to do with a damaged file.
    component (str): The component that it belongs to, if it's known.
    """
    try:
        with keep_collector():
            yield
    except (ImportError, UnreadableFile):
        raise
    except Exception as error:  # json, zlib, numpy, srsly, spaCy and thinc raise anything
        file_ = being_read(error, path)
        if isinstance(error, OSError) and error.errno is not None:
            if error.filename is not None:
                raise
            raise OSError(error.errno, error.strerror, str(file_)) from error
        kind = "" if type(error) is ValueError else f"{type(error).__name__}: "
        owner = component and f' of component "{component}"'
        raise UnreadableFile(
            f"Cannot read {file_}{owner} ({kind}{str(error).strip()}). If it's damaged, {repair}."
        ) from error


def read_json_map(path: Path, **kinds: type) -> dict[str, Any]:
    """Read a JSON object. Raises the errors of `reading`.

    kinds (type): The types of some values, which may be missing or null.
    """
    with reading(path):
        value = srsly.read_json(path)
        if not isinstance(value, dict):
            raise ValueError(f"it must be a JSON object, got {type(value).__name__}")
        for name, kind in kinds.items():
            if not isinstance(value.get(name), (kind, type(None))):
                raise ValueError(f"{name} must be a {kind.__name__}, got {value[name]!r:.60}")
        return value


def being_read(error: BaseException, path: Union[str, Path]) -> Union[str, Path]:
    """Return the file in a folder that spaCy, or srsly for it, was reading at an error.

    The frames of the traceback know it. Returns the path itself if they don't.
    """
    file_, traceback = path, error.__traceback__
    while traceback is not None:
        here = traceback.tb_frame.f_locals
        names = ("filepath", "config_path", "meta_path", "path")
        paths = [here[name] for name in names if name in here]
        of_spacy = traceback.tb_frame.f_code.co_name if "key" in here else ""
        if of_spacy == "from_disk":  # spaCy's loop over the files
            paths = [Path(here["path"]) / str(here["key"])]
        elif of_spacy == "from_dict" and path == BYTES:
            file_ = f"{here['key']} in {BYTES}"
        file_ = next((p for p in paths if isinstance(p, Path) and _contains(path, p)), file_)
        traceback = traceback.tb_next
    return file_


def _contains(folder: Union[str, Path], path: Path) -> bool:
    return Path(folder) in path.parents and path.exists()


@contextmanager
def keep_collector() -> Iterator[None]:
    """Restore the state of Python's garbage collector.

    srsly turns it off while it reads MessagePack, and leaves it off if a message is damaged.
    """
    was_on = gc.isenabled()
    try:
        yield
    finally:
        (gc.enable if was_on else gc.disable)()


def unpack(message: bytes) -> Any:  # noqa: ANN401 (whatever a message holds)
    """Unpack a message. Raises ValueError or TypeError if it's damaged: see `reading`."""
    with keep_collector():
        return srsly.msgpack_loads(message)


def check_npy(file_: BinaryIO, size: int) -> numpy.dtype:
    """Check that a file of an array has the bytes that its header promises, before it's read.

    file_ (BinaryIO): At its start, where it's left again.
    size (int): The bytes of the file.

    Returns the dtype of the array. Raises ValueError.
    """
    version = numpy.lib.format.read_magic(file_)
    read_header = (
        numpy.lib.format.read_array_header_1_0
        if version == (1, 0)
        else numpy.lib.format.read_array_header_2_0
    )
    shape, _, dtype = read_header(file_)
    expected, actual = dtype.itemsize, size - file_.tell()
    for length in shape:  # Python's integers don't overflow
        expected *= length
    if dtype.hasobject or min(shape, default=0) < 0 or expected != actual:
        raise ValueError(
            f"its header promises an array {shape} of {dtype}, {expected:,} bytes, but {actual:,} "
            "follow"
        )
    file_.seek(0)
    return dtype
