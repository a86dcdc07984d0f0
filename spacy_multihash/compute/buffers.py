"""Temporary arrays, in memory that each thread reuses."""

import threading
from typing import cast

import numpy
from thinc.api import get_array_module

from ..common.types import Array

_local = threading.local()


def scratch(name: str, shape: tuple[int, int], like: Array) -> Array:
    """Return a float32 array of this shape, with arbitrary values.

    Each thread has one piece of memory for each name. So the array is valid until the thread asks
    for the same name again. On a GPU the memory comes from CuPy's pool, which reuses it as well.

    like (Array): An array on the device that the new one is for.
    """
    if not isinstance(like, numpy.ndarray):
        return get_array_module(like).empty(shape, dtype="float32")
    buffers: dict[str, Array] = _local.__dict__
    size = shape[0] * shape[1]
    if name not in buffers or buffers[name].size < size:
        buffers[name] = numpy.empty(size, dtype="float32")
    return cast(Array, buffers[name][:size].reshape(shape))


def take_rows(name: str, X: Array, rows: Array) -> Array:
    """Copy rows (M,) of X (N, W) -> (M, W) float32, in the memory of this name, see `scratch`."""
    out, xp = scratch(name, (len(rows), X.shape[1]), X), get_array_module(X)
    if xp is numpy:
        return X.take(rows, axis=0, out=out, mode="clip")  # the other modes copy once more
    return xp.take(X, rows, axis=0, out=out)  # CuPy's has no modes


def gather_windows(X: Array, reads: Array) -> Array:
    """Put the rows of each window side by side: (N, W) -> (M, C * W), valid until the next call."""
    M, C = reads.shape
    return take_rows("windows", X, reads.reshape(-1)).reshape(M, C * X.shape[1])
