"""MessagePack, read with the garbage collector left as it was."""

import gc
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import srsly


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
