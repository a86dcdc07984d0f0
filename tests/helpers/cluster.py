"""What workers do in tests: functions of a module, which other processes can import."""

import os
import signal
import time
from collections.abc import Callable
from pathlib import Path
from typing import Optional


def wait_for_workers(address: str, number: int) -> list[int]:
    """Wait until a scheduler has as many workers, and return the numbers of their processes."""
    from distributed import Client

    with Client(address, set_as_default=False) as client:
        wait_until(lambda: len(client.nthreads()) == number)
        return [*client.run(os.getpid).values()]


def wait_until(holds: Callable[[], bool], seconds: float = 120, every: float = 0.1) -> None:
    """Wait until something holds, looked at every few moments. Raises TimeoutError in the end."""
    end = time.monotonic() + seconds
    while not holds():
        if time.monotonic() > end:
            raise TimeoutError(f"waited {seconds:g} seconds in vain")
        time.sleep(every)


def halve(number: int) -> float:
    """Halve a number, unless it is negative."""
    if number < 0:
        raise ValueError(f"{number} is negative")
    return number / 2


def process_of(item: object) -> int:
    """Tell which process does an item."""
    return os.getpid()


def ignores_interrupts(item: object) -> bool:
    """Tell whether a process ignores Ctrl-C."""
    return signal.getsignal(signal.SIGINT) is signal.SIG_IGN


def threads(item: object) -> set[Optional[str]]:
    """Return the numbers of threads that the environment sets."""
    from spacy_multihash.scale.cluster import THREADS

    return {os.environ.get(name) for name in THREADS}


def fail_first(path: Path) -> int:
    """Write this process's number to a file, and fail unless it was there."""
    if not path.exists():
        path.write_text(str(os.getpid()))
        raise OSError(f"{path.name} was not there")
    return os.getpid()


def die_first(path: Path) -> int:
    """Kill this process, unless it is another one than the first."""
    if not path.exists():
        path.write_text(str(os.getpid()))
        os.kill(os.getpid(), signal.SIGKILL)
    return os.getpid()


def die_if_negative(number: int) -> float:
    """Kill this process, unless a number is halved."""
    if number < 0:
        time.sleep(0.3)  # in which others come to wait for this worker
        os.kill(os.getpid(), signal.SIGKILL)
    return halve(number)
