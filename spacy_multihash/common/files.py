"""Write files and folders atomically: completely or not at all.

New files stay in a staging folder beside their target until they're complete. Killed commands leave
staging folders behind, and the next command that writes to the same target removes them.
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
    """Write a file atomically, and make its parent folders.

    A link stays a link, and its target is written. Devices, pipes and streams of this process, such
    as /dev/stdout, are written to directly.
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
    """Yield the path of a file to write, which replaces the target once it's complete.

    A link stays a link, and its target is replaced. Folders are made as needed.

    tidy (bool): Whether to look for leftovers of killed commands, which lists the folder.
    """
    target = Path(os.path.realpath(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    if tidy:
        remove_abandoned(target.parent, target.name)
    with staging(target.parent, target.name) as folder:
        yield folder / "new"
        (folder / "new").replace(target)


def write_json(path: Path, value: Any) -> None:  # noqa: ANN401 (whatever JSON can hold)
    """Write a JSON file atomically."""
    write_bytes(path, (srsly.json_dumps(value, indent=2) + "\n").encode("utf8"))


@contextmanager
def staging(parent: Path, name: str) -> Iterator[Path]:
    """Make a hidden folder for the new `name` in a folder, and remove it at the end."""
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
    """Remove the staging folders of a name, or all names, whose processes ended.

    A process locks its folder while it lives. Windows has no such lock, so folders stay.
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
    """Yield the path of a folder to write, which replaces the target once it's complete.

    At any time, a complete folder is at its place, or in a backup that `recover_folder` restores.
    If anything fails, the old folder is restored.
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
    """Restore a folder that a killed command was replacing, and remove its leftovers."""
    backup = _backup_of(target)
    if backup.exists() and not target.exists():
        backup.rename(target)
    remove_abandoned(target.parent, target.name)
    if backup.exists():
        with staging(target.parent, target.name) as folder, suppress(FileNotFoundError):
            backup.rename(folder / "old")  # so that a backup is complete even if we're killed here


def _backup_of(target: Path) -> Path:
    return target.with_name(f".{target.name}{_BACKUP}")


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


def _lock(folder: Path, *, wait: bool) -> Optional[int]:
    """Lock a staging folder until the returned descriptor is closed, or the process ends.

    Raises OSError if another process has the lock, unless wait is true, or if there's no folder.
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
    """Restore the state of Python's garbage collector.

    srsly turns it off while it reads MessagePack, and leaves it off if a message is damaged.
    """
    was_on = gc.isenabled()
    try:
        yield
    finally:
        (gc.enable if was_on else gc.disable)()


def unpack(message: bytes) -> Any:  # noqa: ANN401 (whatever a message holds)
    """Unpack a message.

    Raises ValueError if it's damaged, or TypeError if it has a map as a key.
    """
    with keep_collector():
        return srsly.msgpack_loads(message)
