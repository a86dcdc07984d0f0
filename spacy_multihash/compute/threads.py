"""The chunks of a batch in threads of our own, each of which has single-threaded products."""

import os
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import count
from typing import Optional, TypeVar, cast

from thinc.api import Ops

from .blas import num_threads, single_threaded
from .chunks import on_cpu

# Chunks whose results are kept together, at least.
_FEW = 4

InT = TypeVar("InT")
OutT = TypeVar("OutT")
_executor: Optional[ThreadPoolExecutor] = None


def map_chunks(ops: Ops, function: Callable[[InT], OutT], chunks: Sequence[InT]) -> list[OutT]:
    """Apply a function to each chunk, in as many threads as products may use; keep the order.

    The chunks are taken one by one, so that a thread whose core is taken by another process just
    does fewer. Each product has one thread meanwhile. A GPU gets one chunk after the other.
    """
    threads = min(num_threads(), len(chunks)) if on_cpu(ops) else 1
    if threads < 2:
        with single_threaded:
            return [function(chunk) for chunk in chunks]
    results: list[Optional[OutT]] = [None] * len(chunks)
    numbers = count()  # shared by the threads: each number is given out once

    def work() -> None:
        while (i := next(numbers)) < len(chunks):
            results[i] = function(chunks[i])

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
    return cast(list[OutT], results)


def map_few(
    ops: Ops, function: Callable[[InT], OutT], chunks: Sequence[InT]
) -> Iterator[tuple[InT, OutT]]:
    """Apply a function as `map_chunks` does, a few chunks at a time; yield each with its result.

    For results that take memory until they are used, as gradients of all weights do.
    """
    few = max(_FEW, num_threads())
    for start in range(0, len(chunks), few):
        some = chunks[start : start + few]
        yield from zip(some, map_chunks(ops, function, some), strict=True)


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
