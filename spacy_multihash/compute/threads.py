"""Threads that share the chunks of a batch, while each matrix product has one thread."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import count
from typing import NamedTuple, Optional, TypeVar, cast

import numpy
from thinc.api import Ops

from .blas import num_threads, single_threaded
from .chunks import on_cpu

# How many chunks `map_few` computes at once, at least.
_FEW = 4

InT = TypeVar("InT")
OutT = TypeVar("OutT")
_executor: Optional[ThreadPoolExecutor] = None


# Rows from which another thread pays.
ROWS_PER_THREAD = 256


class Part(NamedTuple):
    """Docs of a batch, one after the other: their rows, and their lengths (D,) int64."""

    rows: slice
    lengths: numpy.ndarray


def in_parts(
    function: Callable[[int, int], object], number: int, *, rows: Optional[int] = None
) -> None:
    """Apply a function to the parts [first, last) of a range, each in a thread.

    rows (Optional[int]): The number of rows that the work is about; by default that of the range.
    """
    parts = _count_parts(number if rows is None else rows, number)
    bounds = [number * part // parts for part in range(parts + 1)]
    _apply(function, list(zip(bounds, bounds[1:], strict=False)))


def in_parts_of_docs(function: Callable[[Part], object], lengths: numpy.ndarray) -> None:
    """Apply a function to parts of a batch, each in a thread; no doc is cut.

    lengths (D,) int64: The numbers of tokens of the docs.
    """
    ends = lengths.cumsum()
    total = int(lengths.sum())
    parts = _count_parts(total, len(lengths))
    cuts = [0, *numpy.searchsorted(ends, [total * i // parts for i in range(1, parts)]).tolist()]
    tasks = []
    for first, last in zip(cuts, [*cuts[1:], len(lengths)], strict=True):
        if first < last:
            rows = slice(int(ends[first] - lengths[first]), int(ends[last - 1]))
            tasks.append((Part(rows, lengths[first:last]),))
    _apply(function, tasks)


def _count_parts(rows: int, most: int) -> int:
    return max(min(num_threads(), rows // ROWS_PER_THREAD, most), 1)


def _apply(function: Callable[..., object], tasks: Sequence[tuple]) -> None:
    """Call a function with the arguments of each task; the first task is this thread's own."""
    helpers = [_pool().submit(function, *task) for task in tasks[1:]]
    try:
        for task in tasks[:1]:
            function(*task)
    finally:
        wait(helpers)
    for helper in helpers:
        helper.result()


def map_chunks(ops: Ops, function: Callable[[InT], OutT], chunks: Sequence[InT]) -> list[OutT]:
    """Apply a function to each chunk, in as many threads as `num_threads` says; keep the order.

    Each thread takes one chunk after the other, so that a thread whose core is busy with another
    process just computes fewer of them. Meanwhile each matrix product has one thread. A GPU gets
    one chunk after the other.
    """
    shared = len(chunks) > 1 and on_cpu(ops)
    threads = min(num_threads(), len(chunks)) if shared else 1
    if threads < 2:
        return single_threaded(lambda: [function(chunk) for chunk in chunks])
    return single_threaded(_map_in_threads, function, chunks, threads)


def map_few(
    ops: Ops, function: Callable[[InT], OutT], chunks: Sequence[InT]
) -> Iterator[tuple[InT, OutT]]:
    """Apply a function as `map_chunks` does, to a few chunks at a time; yield each with its result.

    It is for large results, such as the gradients of all weights: few exist at a time.
    """
    few = max(_FEW, num_threads())
    for start in range(0, len(chunks), few):
        some = chunks[start : start + few]
        yield from zip(some, map_chunks(ops, function, some), strict=True)


def _map_in_threads(
    function: Callable[[InT], OutT], chunks: Sequence[InT], threads: int
) -> list[OutT]:
    results: list[Optional[OutT]] = [None] * len(chunks)
    numbers = count()  # the threads share it, so that each chunk is taken once

    def work() -> None:
        while (i := next(numbers)) < len(chunks):
            results[i] = function(chunks[i])

    helpers = [_pool().submit(work) for _ in range(threads - 1)]
    try:
        work()
    finally:
        # A helper that has not started by now has nothing left to do.
        started = [helper for helper in helpers if not helper.cancel()]
        wait(started)
    for helper in started:
        helper.result()
    return cast(list[OutT], results)


def _pool() -> ThreadPoolExecutor:
    global _executor
    if _executor is None:
        _executor = ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="spacy-multihash")
    return _executor


def _forget_pool() -> None:
    """Drop the pool in a forked process, which its threads do not survive."""
    global _executor
    _executor = None


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)
