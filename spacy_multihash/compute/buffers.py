"""Temporary arrays, in memory that each thread reuses."""

import os
import threading
from typing import cast
from weakref import ReferenceType, ref

import numpy
from thinc.api import get_array_module

from ..common.types import Array

VARIABLE = "SPACY_MULTIHASH_CHECK_BUFFERS"

_checked = os.environ.get(VARIABLE, "0") not in ("", "0")


class _Local(threading.local):
    """The memory of one thread, by name, and what it was last handed out as while checked."""

    def __init__(self) -> None:
        self.buffers: dict[str, Array] = {}
        self.handed_out: dict[str, ReferenceType[Array]] = {}


_local = _Local()


def check_buffers(on: bool) -> bool:
    """Switch checks of the use of buffers on or off, for tests. Returns the former setting.

    With checks, an array of `scratch` begins as NaN, and RuntimeError is raised if a buffer is
    asked for again while an array in its memory is still in use. The environment variable
    SPACY_MULTIHASH_CHECK_BUFFERS=1 switches them on from the start. They take time: they are for
    work on the kernels. Arrays on a GPU are not checked.
    """
    global _checked
    former, _checked = _checked, on
    return former


def scratch(name: str, shape: tuple[int, int], like: Array) -> Array:
    """Return a float32 array of this shape, with arbitrary values.

    Each thread has one piece of memory for each name. So the array is valid until the thread asks
    for the same name again. On a GPU the memory comes from CuPy's pool, which reuses it as well.

    like (Array): An array on the device that the new one is for.

    Raises RuntimeError for a buffer that is in use, if `check_buffers` is on.
    """
    if not isinstance(like, numpy.ndarray):
        return get_array_module(like).empty(shape, dtype="float32")
    buffers = _local.buffers
    size = shape[0] * shape[1]
    if name not in buffers or buffers[name].size < size:
        buffers[name] = numpy.empty(size, dtype="float32")
    memory = _check(name, buffers[name]) if _checked else buffers[name]
    return cast(Array, memory[:size].reshape(shape))


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


def _check(name: str, memory: Array) -> Array:
    """Fill memory with NaN and view it, after a check that no view of it is left."""
    former = _local.handed_out.get(name)
    if former is not None and former() is not None:
        raise RuntimeError(
            f"Buffer '{name}' is asked for again while an array in its memory is still in use: "
            "it would be overwritten. Copy the array, delete it when it is done with, or give one "
            "of the two a name of its own."
        )
    memory.fill(numpy.nan)
    # All views of an array have the array as their base that has no array for a base itself: it is
    # alive as long as they are.
    base = numpy.asarray(memory.data)
    _local.handed_out[name] = ref(base)
    return base
