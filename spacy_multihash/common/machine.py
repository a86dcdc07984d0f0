"""The machine that runs the code."""

import platform
from pathlib import Path


def cpu_name() -> str:
    """Return the model of the CPU, or its architecture where the system does not tell the model."""
    path = Path("/proc/cpuinfo")
    lines = path.read_text("utf8").splitlines() if path.is_file() else []
    names = (line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    return next(names, platform.processor())
