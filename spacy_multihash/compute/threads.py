"""The chunks of a batch in threads of our own, each of which has single-threaded products."""

import os
from concurrent.futures import ThreadPoolExecutor, wait
from itertools import count
from typing import Callable, Iterator, List, Optional, Sequence, Tuple, TypeVar, cast

from thinc.api import Ops

from .blas import num_threads, single_threaded
from .chunks import on_cpu

# Blocks whose results are kept together, at least.
_FEW = 4

InT = TypeVar("InT")
OutT = TypeVar("OutT")
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
