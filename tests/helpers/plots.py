"""Plots in files, where matplotlib is installed."""

from importlib.util import find_spec
from pathlib import Path

import pytest

needs_matplotlib = pytest.mark.skipif(
    find_spec("matplotlib") is None,
    reason="matplotlib is not installed: pip install 'spacy-multihash[plots]'",
)


def is_png(path: Path) -> bool:
    return path.read_bytes().startswith(b"\x89PNG\r\n")
