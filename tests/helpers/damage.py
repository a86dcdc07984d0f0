"""Damage of files, and a disk that is full."""

import random
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


def damaged(data: bytes, number: int = 4) -> Iterator[bytes]:
    """Cut data, flip bits, and change bytes, more often near the start."""
    rng = random.Random(len(data))
    for kind in range(number):
        place = rng.randrange(len(data) if kind % 2 else min(len(data), 48))
        other = bytearray(data)
        if kind % 4 == 0:
            other[place] = rng.randrange(256)
        elif kind % 4 == 1:
            del other[place:]
        else:
            other[place] ^= 1 << rng.randrange(8)
        yield bytes(other)


def check_damage(path: Path, load: Callable[[], object], inside: Path, number: int = 4) -> None:
    """Check that each damage of a file gives an error that names it, or does no harm.

    inside (Path): What errors have to name: the file, or a folder with it.
    """
    data = path.read_bytes()
    for other in damaged(data, number):
        path.write_bytes(other)
        try:
            load()
        except (OSError, ValueError) as error:
            assert str(inside) in str(error)
    path.write_bytes(data)


@contextmanager
def full_disk(size: int = 100) -> Iterator[None]:
    """Let no file become larger than some bytes."""
    resource = pytest.importorskip("resource")
    former = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, former[1]))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, former)
