"""Write files and folders completely or not at all.

They're written in a hidden folder beside their target, and then moved to its place.
"""

import gc
import os
import stat
import sys
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Optional

import srsly

# Hidden folders end with it. A killed command leaves its own behind.
STAGING = ".spacy-multihash"


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
def staging(parent: Path, name: str) -> Iterator[Path]:
    """Make a hidden folder for the new `name` in a folder, and remove it at the end."""
    with TemporaryDirectory(prefix=f".{name}.", suffix=STAGING, dir=parent) as folder:
        yield Path(folder)


@contextmanager
def replacing_file(path: Path) -> Iterator[Path]:
    """Yield the path of a file to write, which replaces the target once it's complete.

    A link stays a link, and its target is replaced. Folders are made as needed.
    """
    target = Path(os.path.realpath(path))
    target.parent.mkdir(parents=True, exist_ok=True)
    with staging(target.parent, target.name) as folder:
        yield folder / "new"
        (folder / "new").replace(target)


@contextmanager
def replacing_folder(target: Path) -> Iterator[Path]:
    """Yield the path of a folder to write, which replaces the target once it's complete.

    If anything fails, the old folder stays.
    """
    target.parent.mkdir(parents=True, exist_ok=True)
    with staging(target.parent, target.name) as folder:
        new, old = folder / "new", folder / "old"
        yield new
        try:
            if target.exists():
                target.rename(old)
            new.rename(target)
        except BaseException:
            if old.exists() and not target.exists():
                old.rename(target)
            raise


def write_json(path: Path, value: Any) -> None:  # noqa: ANN401 (whatever JSON can hold)
    """Write a JSON file atomically."""
    write_bytes(path, (srsly.json_dumps(value, indent=2) + "\n").encode("utf8"))


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
