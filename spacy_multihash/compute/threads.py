"""Share a batch among threads. The kernels release Python's lock, so threads run side by side."""

import multiprocessing
import os
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor, wait
from typing import NamedTuple, Optional

import numpy

from ..common.arguments import Positive, checked

VARIABLE = "SPACY_MULTIHASH_THREADS"
# Rows from which another thread pays.
ROWS_PER_THREAD = 256


class Part(NamedTuple):
    """A part of a batch: the rows of its docs, in order, and their lengths (D,) int64."""

    rows: slice
    lengths: numpy.ndarray


@checked
def set_threads(number: Optional[Positive]) -> Optional[int]:
    """Set how many threads share a batch on the CPU, in the whole process.

    The results are the same to the last bit with any number of threads. A single doc is computed by
    one thread.

    number (Optional[int]): The number of threads. None takes it from the environment variable
        SPACY_MULTIHASH_THREADS or OMP_NUM_THREADS. Without them, a process of
        `nlp.pipe(n_process=...)` has a single thread, and other processes a thread for each core.
    RETURNS (Optional[int]): The former number.

    Raises ValueError for anything else.
    """
    global _number
    former, _number = _number, number
    return former


def num_threads() -> int:
    """Return the number of threads that share a batch."""
    if _number is not None:
        return _number
    for variable in (VARIABLE, "OMP_NUM_THREADS"):
        value = os.environ.get(variable, "")
        if value.isdecimal() and int(value) >= 1:
            return int(value)
    if multiprocessing.parent_process() is not None:
        return 1
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def in_parts(
    function: Callable[[int, int], object], number: int, *, rows: Optional[int] = None
) -> None:
    """Apply a function to the parts [first, last) of a range, each in a thread.

    rows (Optional[int]): The number of rows that the work is about. None: of the range.
    """
    parts = _count_parts(number if rows is None else rows, number)
    if parts == 1:
        function(0, number)
        return
    bounds = [number * part // parts for part in range(parts + 1)]
    _apply(function, list(zip(bounds, bounds[1:], strict=False)))


def in_parts_of_docs(
    function: Callable[[Part], object], lengths: numpy.ndarray, total: int
) -> None:
    """Apply a function to parts of a batch, each in a thread; no doc is cut.

    lengths (D,) int64: The numbers of tokens of the docs.
    total (int): Their sum.
    """
    parts = _count_parts(total, len(lengths))
    if parts == 1 and len(lengths):
        function(Part(slice(0, total), lengths))
        return
    ends = lengths.cumsum()
    cuts = [0, *numpy.searchsorted(ends, [total * i // parts for i in range(1, parts)]).tolist()]
    tasks = []
    for first, last in zip(cuts, [*cuts[1:], len(lengths)], strict=True):
        if first < last:
            rows = slice(int(ends[first] - lengths[first]), int(ends[last - 1]))
            tasks.append((Part(rows, lengths[first:last]),))
    _apply(function, tasks)


def _count_parts(rows: int, most: int) -> int:
    if rows < 2 * ROWS_PER_THREAD:
        return 1
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


def _pool() -> ThreadPoolExecutor:
    global _executor
    if _executor is None:
        _executor = ThreadPoolExecutor(os.cpu_count(), thread_name_prefix="spacy-multihash")
    return _executor


def _forget_pool() -> None:
    """Drop the pool in a forked process, which its threads do not survive."""
    global _executor
    _executor = None


_number: Optional[int] = None
_executor: Optional[ThreadPoolExecutor] = None

if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_forget_pool)
