"""Check that weights fit in memory, before they're drawn."""

import os
from collections.abc import Iterable
from math import prod
from pathlib import Path
from typing import Optional

# Initial weights are drawn in float64 and kept in float32: for a moment, both are there.
BYTES = 12
_GIGA = 10**9
_MEMINFO = Path("/proc/meminfo")  # of Linux


def check_memory(where: str, shapes: Iterable[tuple[int, ...]], advice: str) -> None:
    """Raise ValueError if drawing weights of these shapes takes more memory than available.

    They take 12 bytes a number. On systems that don't report their memory, such as Windows, nothing
    is checked.

    where (str): The layer, for the message.
    shapes (Iterable[tuple[int, ...]]): The shapes of the weights.
    advice (str): What to do, such as which settings to change.
    """
    shapes = list(shapes)
    needed, available = BYTES * sum(map(prod, shapes)), available_memory()
    if available is not None and needed > available:
        # Many layers have the same shape, so we only report the largest.
        largest = " x ".join(map(str, max(shapes, key=prod)))
        raise ValueError(
            f"{where}: initial weights, the largest of shape {largest}, need "
            f"{needed / _GIGA:,.1f} GB of memory, but {available / _GIGA:,.1f} GB are available. "
            f"{advice}"
        )


def available_memory() -> Optional[int]:
    """Return the available memory in bytes, or None if it's unknown.

    Systems other than Linux report their total memory, not their free memory.
    """
    if _MEMINFO.is_file():
        lines = dict(line.split(":") for line in _MEMINFO.read_text().splitlines())
        return int(lines["MemAvailable"].split()[0]) * 1024
    names = getattr(os, "sysconf_names", {})
    if "SC_PHYS_PAGES" in names and "SC_PAGE_SIZE" in names:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    return None
