"""Threads that share the chunks of a batch, while each matrix product has one thread."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import count
from typing import Optional, TypeVar, cast

from thinc.api import Ops

from .blas import num_threads, single_threaded
from .chunks import on_cpu

# How many chunks `map_few` computes at once, at least.
_FEW = 4

InT = TypeVar("InT")
OutT = TypeVar("OutT")
_executor: Optional[ThreadPoolExecutor] = None


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
