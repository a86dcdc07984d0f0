"""Vectors that are drawn, and lists of arrays that are compared."""

from collections.abc import Iterable, Sequence
from itertools import pairwise
from typing import Any

import numpy
from numpy.testing import assert_allclose
from thinc.api import Ops, to_numpy


def random_vectors(n: int, width: int, seed: int = 0) -> numpy.ndarray:
    """(n, width) float32."""
    return numpy.random.default_rng(seed).normal(size=(n, width)).astype("float32")


def batch(ops: Ops, lengths: Sequence[int], width: int, seed: int = 0) -> list[Any]:
    """Random docs of these lengths, (length, width) float32 each."""
    rows = random_vectors(sum(lengths), width, seed=seed)
    ends = numpy.cumsum([0, *lengths])
    return [ops.asarray(rows[start:end]) for start, end in pairwise(ends)]


def flat(arrays: Sequence[Any]) -> numpy.ndarray:
    """Put the rows of all docs below each other."""
    return numpy.concatenate([to_numpy(array) for array in arrays])


def assert_all_close(found: Iterable[Any], expected: Iterable[Any], **tolerances: float) -> None:
    """Compare as many arrays, of the same shapes, one by one."""
    for one, other in zip(found, expected, strict=True):
        assert one.shape == other.shape
        assert_allclose(to_numpy(one), to_numpy(other), **tolerances)
