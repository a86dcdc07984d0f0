"""Rows of symbols by mmh3."""

import mmh3
import numpy

KEYS = numpy.random.default_rng(20221218).integers(0, 2**64, 3000, dtype="uint64")


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
