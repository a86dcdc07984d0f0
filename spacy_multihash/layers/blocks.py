"""Work in blocks: each on memory that is there already, several in threads."""

import os
import threading
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import count
from typing import Callable, Dict, Iterator, List, Optional, Sequence, Tuple, TypeVar, cast

import numpy
from thinc.api import Ops, get_array_module

from ..common.types import Array
from ..products import num_threads, single_threaded

# Rows of a block. A block of 1024 x 288 floats, in and out, is about the cache of one core (2 MB);
# smaller ones pay more for Python, larger ones for memory: 51, 55, 62, 66 and 66 thousand tokens a
# second at 128, 256, 512, 1024 and 2048 (width 96, depth 8).
BLOCK = 1024
# In training, smaller, so that a usual batch of 1000 words is enough for two threads.
TRAINING_BLOCK = 512
# A GPU takes a usual batch at once.
GPU_BLOCK = 2**16
# Blocks whose results are kept together, at least.
_FEW = 4

InT = TypeVar("InT")
OutT = TypeVar("OutT")

_local = threading.local()
_executor: Optional[ThreadPoolExecutor] = None


def map_blocks(ops: Ops, function: Callable[[InT], OutT], blocks: Sequence[InT]) -> List[OutT]:
    """Apply a function to each block, in as many threads as products may use; keep the order.

    The blocks are taken one by one, so that a thread whose core is taken by another process just
    does fewer. Each product has one thread meanwhile. A GPU gets one block after the other.
    """
    threads = min(num_threads(), len(blocks)) if on_cpu(ops) else 1
    if threads < 2:
        with single_threaded:
            return [function(block) for block in blocks]
    results: List[Optional[OutT]] = [None] * len(blocks)
    numbers = count()  # shared by the threads: each number is given out once

    def work() -> None:
        while (i := next(numbers)) < len(blocks):
            results[i] = function(blocks[i])

    with single_threaded:
        helpers = [_pool().submit(work) for _ in range(threads - 1)]
        try:
            work()
        finally:
            # A helper that has not begun by now is not needed any more.
            started = [helper for helper in helpers if not helper.cancel()]
            wait(started)
        for helper in started:
            helper.result()
    return cast(List[OutT], results)


def map_few(
    ops: Ops, function: Callable[[InT], OutT], blocks: Sequence[InT]
) -> Iterator[Tuple[InT, OutT]]:
    """Apply a function as `map_blocks` does, a few blocks at a time; yield each with its result.

    For results that take memory until they are used, as gradients of all weights do.
    """
    few = max(_FEW, num_threads())
    for start in range(0, len(blocks), few):
        some = blocks[start : start + few]
        yield from zip(some, map_blocks(ops, function, some), strict=True)


def on_cpu(ops: Ops) -> bool:
    """Tell whether arrays are numpy's."""
    return ops.device_type == "cpu"


def count_blocks(rows: int, size: int) -> int:
    """Say how many blocks of about `size` rows to make: 1, or an even number.

    Equal blocks in an even number keep two threads busy to the end.
    """
    return 2 * round(rows / size / 2) or 1


def row_blocks(X: Array) -> List[slice]:
    """Cut rows into blocks."""
    rows, size = len(X), BLOCK if isinstance(X, numpy.ndarray) else GPU_BLOCK
    number = count_blocks(rows, size) if rows else 0
    return [slice(i * rows // number, (i + 1) * rows // number) for i in range(number)]


def scratch(name: str, shape: Tuple[int, int], like: Array) -> Array:
    """Give a float32 array of this shape, with anything in it, that the next call gives again.

    Each thread has its own. It is valid until the same name is asked for again in the thread. On a
    GPU the memory comes from CuPy's pool, which does the same.

    like (Array): An array on the device that is meant.
    """
    if not isinstance(like, numpy.ndarray):
        return get_array_module(like).empty(shape, dtype="float32")
    buffers: Dict[str, Array] = _local.__dict__
    size = shape[0] * shape[1]
    if name not in buffers or buffers[name].size < size:
        buffers[name] = numpy.empty(size, dtype="float32")
    return cast(Array, buffers[name][:size].reshape(shape))


def take_rows(name: str, X: Array, rows: Array) -> Array:
    """Copy rows (M,) of X (N, W) to (M, W) float32, in memory of this name: see `scratch`."""
    out, xp = scratch(name, (len(rows), X.shape[1]), X), get_array_module(X)
    if xp is numpy:
        return X.take(rows, axis=0, out=out, mode="clip")  # the other modes copy once more
    return xp.take(X, rows, axis=0, out=out)  # CuPy's has no modes


def _pool() -> ThreadPoolExecutor:
    global _executor
    if _executor is None:
        _executor = ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="spacy-multihash")
    return _executor


def _forget_pool() -> None:
    """Threads do not survive a fork."""
    global _executor
    _executor = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)
