"""Files that are written whole or not at all."""

from pathlib import Path
from typing import Any
from uuid import uuid4

import srsly


def write_bytes(path: Path, data: bytes) -> None:
    """Write a file, whole or not at all, and the folders that lead to it."""
    path.parent.mkdir(parents=True, exist_ok=True)
    # Each process writes to a name of its own, also where machines share a disk.
    partial = path.with_name(f"{path.name}.{uuid4().hex}.partial")
    try:
        partial.write_bytes(data)
        partial.replace(path)
    finally:
        partial.unlink(missing_ok=True)


def write_json(path: Path, value: Any) -> None:  # noqa: ANN401 (whatever JSON can hold)
    """Write a JSON file, whole or not at all."""
    write_bytes(path, (srsly.json_dumps(value, indent=2) + "\n").encode("utf8"))
