"""Rows of symbols: those of mmh3, and what inspect-rows prints."""

import json
from typing import Any

import mmh3
import numpy
from hypothesis import strategies as st

from tests.helpers.cli import ok

KEYS = numpy.random.default_rng(20221218).integers(0, 2**64, 3000, dtype="uint64")
# Rows of a few symbols in a small table: many of them collide.
ROWS = st.integers(1, 6).flatmap(
    lambda k: st.lists(st.lists(st.integers(0, 3), min_size=k, max_size=k), min_size=1, max_size=12)
)


def reference_rows(ids: list[int], nV: int, num_hashes: int, seeds: list[int]) -> list[list[int]]:
    """Hash with mmh3, one id and one word at a time."""
    rows = []
    for key in ids:
        words: list[int] = []
        for seed in seeds:
            digest = mmh3.hash_bytes(key.to_bytes(8, "little"), seed, x64arch=True)
            words += [int.from_bytes(digest[i : i + 4], "little") for i in range(0, 16, 4)]
        rows.append([word % nV for word in words[:num_hashes]])
    return rows


def inspected(*args: Any) -> dict[str, Any]:
    """What the command inspect-rows prints as JSON, and nothing else."""
    return json.loads(ok("inspect-rows", *args, "--json").stdout)
