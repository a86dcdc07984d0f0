"""Files and folders that are written whole or not at all.

What is written stands in a folder of its own, beside its target, until it is whole. Commands that
were killed leave such folders behind, and the next one that writes to the same target removes them.
"""

import gc
import os
import shutil
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import mkdtemp
from typing import Any, Optional

import srsly

if sys.platform != "win32":
    import fcntl

_STAGING = ".spacy-multihash"
_BACKUP = ".spacy-multihash-backup"
_LOCK = "lock"


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file, whole or not at all, and the folders that lead to it.

    A link stays a link, and the file that it leads to is written. Bytes for a device, a pipe or a
    stream of this process, such as /dev/stdout, are written to it.
    """
    if (stream := standard_stream(path)) is not None or _is_special(path):
        sys.stdout.flush()  # what was printed before comes first
        with open(path if stream is None else os.dup(stream), "wb") as file_:
            file_.write(data)
        return
    with replacing_file(path) as new:
        new.write_bytes(data)


@contextmanager
def replacing_file(path: Path, *, tidy: bool = True) -> Iterator[Path]:
    """Give the path of a file to write, which takes the place of another when it is whole.

    A link stays a link, and the file that it leads to is replaced. Folders are made as needed.

    tidy (bool): Whether to look for what a killed command left, which reads the whole folder.
    """
    target = Path(os.path.realpath(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    if tidy:
        remove_abandoned(target.parent, target.name)
    with staging(target.parent, target.name) as folder:
        yield folder / "new"
        (folder / "new").replace(target)


def write_json(path: Path, value: Any) -> None:  # noqa: ANN401 (whatever JSON can hold)
    """Write a JSON file, whole or not at all."""
    write_bytes(path, (srsly.json_dumps(value, indent=2) + "\n").encode("utf8"))


@contextmanager
def staging(parent: Path, name: str) -> Iterator[Path]:
    """Make a hidden folder for what is to become `name` in a folder, and remove it at the end."""
    lock: Optional[int] = None
    while True:
        folder = Path(mkdtemp(prefix=f".{name}.", suffix=_STAGING, dir=parent))
        with suppress(OSError):  # a disk without locks
            lock = _lock(folder, wait=True)
        if folder.is_dir():  # no other process took it for abandoned before it was locked
            break
    try:
        yield folder
    finally:
        shutil.rmtree(folder, ignore_errors=True)
        if lock is not None:
            os.close(lock)


def remove_abandoned(parent: Path, name: Optional[str] = None) -> None:
    """Remove the staging folders of a name, or of all names, whose processes are gone.

    A lock, which ends with its process, tells which. On Windows there is no such lock, and they
    stay.
    """
    start = "." if name is None else f".{name}."
    for folder in parent.iterdir() if parent.is_dir() else ():
        if not (folder.name.startswith(start) and folder.name.endswith(_STAGING)):
            continue
        with suppress(OSError):  # another process writes, or removes the folder as well
            if (lock := _lock(folder, wait=False)) is not None:
                shutil.rmtree(folder, ignore_errors=True)
                os.close(lock)


@contextmanager
def replacing_folder(target: Path) -> Iterator[Path]:
    """Give the path of a folder to write, which takes the place of another when it is whole.

    At every moment, one of them is whole: at its place, or as a backup that `recover_folder` puts
    back. If anything fails, the former folder is at its place again.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    recover_folder(target)
    backup = _backup_of(target)
    with staging(target.parent, target.name) as folder:
        new = folder / "new"
        yield new
        if not target.exists():
            new.rename(target)
            return
        try:
            target.rename(backup)
            new.rename(target)
        finally:
            recover_folder(target)


def recover_folder(target: Path) -> None:
    """Put a folder back that was being replaced when a command was killed, and tidy up after it."""
    backup = _backup_of(target)
    if backup.exists() and not target.exists():
        backup.rename(target)
    remove_abandoned(target.parent, target.name)
    if backup.exists():
        with staging(target.parent, target.name) as folder, suppress(FileNotFoundError):
            backup.rename(folder / "old")  # so that a backup is whole, also where this is killed


def _backup_of(target: Path) -> Path:
    return target.with_name(f".{target.name}{_BACKUP}")


def _is_special(path: Path) -> bool:
    """Tell whether a path is a device, a pipe or a socket, or leads to one."""
    try:
        mode = path.stat().st_mode
    except FileNotFoundError:
        return False
    return not (stat.S_ISREG(mode) or stat.S_ISDIR(mode))


def standard_stream(path: Path) -> Optional[int]:
    """Return the number of this process's stream that a link leads to, None if it leads to none."""
    for number in (1, 2) if path.is_symlink() else ():
        with suppress(OSError):  # a stream that is closed, or a link that leads nowhere
            if os.path.samestat(path.stat(), os.fstat(number)):
                return number
    return None


def _lock(folder: Path, *, wait: bool) -> Optional[int]:
    """Lock a staging folder until the number that is returned is closed, or the process ends.

    Raises OSError if another process has the lock, unless told to wait, or if there is no folder.
    """
    if sys.platform == "win32":
        return None
    number = os.open(folder / _LOCK, os.O_RDWR | os.O_CREAT)
    try:
        fcntl.flock(number, fcntl.LOCK_EX | (0 if wait else fcntl.LOCK_NB))
    except OSError:
        os.close(number)
        raise
    return number


# MessagePack, read with the garbage collector left as it was


@contextmanager
def keep_collector() -> Iterator[None]:
    """Leave Python's garbage collector on or off, as it was.

    srsly turns it off while it reads MessagePack, and leaves it off where a message is damaged.
    """
    was_on = gc.isenabled()
    try:
        yield
    finally:
        (gc.enable if was_on else gc.disable)()


def unpack(message: bytes) -> Any:  # noqa: ANN401 (whatever a message holds)
    """Unpack a message.

    Raises ValueError or TypeError if it is damaged. TypeError: a map has a map as a key.
    """
    with keep_collector():
        return srsly.msgpack_loads(message)
