"""Which BLAS computes a matrix product, and in how many threads: decided here and nowhere else.

On a GPU, CuPy computes it. On a CPU, thinc uses BLIS in one thread. Numpy brings a BLAS of its own,
OpenBLAS in its wheels. OpenBLAS is faster at every size that an encoder or a parser has, as long as
it does not use its thread pool. GFLOP/s of (N, 288) @ (288, 288), measured on two cores of a Xeon
(AVX-512):

    N                        1      8     32    128   1024  16384
    weights contiguous
    BLIS                   4.7     25     66     95     96     85
    OpenBLAS, 1 thread      39    112    112    150    157    131
    OpenBLAS, 2 threads     40    113    122    203    231    272
    weights transposed, as thinc keeps them
    OpenBLAS, 1 thread      38     27     72    128    152    127
    OpenBLAS, 2 threads     39     10     95    170    255    255

OpenBLAS's threads wait for each other in every product. Two of them are less than twice as fast as
one at most of the sizes above, and come to a standstill when another process takes one of the
cores. So a product has one thread, and the chunks of a batch go to threads of our own
(`threads.py`), which wait for each other only at the end. `python -m benchmarks` measures
spaCy with either on your machine.
"""

import multiprocessing
import os
import threading
from collections.abc import Callable, Iterable
from functools import cache
from typing import NamedTuple, Optional, TypeVar

from threadpoolctl import LibController, ThreadpoolController

VARIABLE = "SPACY_MULTIHASH_PRODUCTS"
# BLAS libraries that are faster than BLIS.
_FAST = ("openblas", "mkl")

OutT = TypeVar("OutT")


class Setting(NamedTuple):
    """The user's choice: a BLAS ("auto", "numpy" or "blis"), and a number of threads or None."""

    blas: str
    threads: Optional[int]

    def __str__(self) -> str:
        """Write the setting as users do."""
        return self.blas if self.threads is None else f"{self.blas}:{self.threads}"


def set_products(setting: str) -> str:
    """Choose the BLAS of matrix products on the CPU and the number of threads.

    The setting is of the whole process. The environment variable SPACY_MULTIHASH_PRODUCTS gives the
    first one.

    setting (str): "auto", "numpy" or "blis". "auto" takes numpy's BLAS if it is OpenBLAS or MKL,
        and BLIS otherwise. A number of threads may follow, as in "auto:1" and "numpy:4". Without
        one, there are as many threads as numpy's BLAS may use (OMP_NUM_THREADS, threadpoolctl),
        and one in a process of `nlp.pipe(n_process=...)`.
    RETURNS (str): The former setting.

    Raises ValueError if the setting is none of these.
    """
    global _setting
    former, _setting = str(_setting), _parse(setting, "set_products")
    return former


def chosen_blas() -> str:
    """Return the BLAS that the setting means on this machine, "numpy" or "blis"."""
    return _auto() if _setting.blas == "auto" else _setting.blas


def num_threads() -> int:
    """Return the number of threads that may compute chunks."""
    if _setting.threads is not None:
        return _setting.threads
    if multiprocessing.parent_process() is not None:
        return 1
    return _limit.allowed()


def single_threaded(function: Callable[..., OutT], *arguments: object) -> OutT:
    """Call a function while numpy's BLAS has one thread. Any number of calls may be under way.

    An interrupt (Ctrl-C) at any moment leaves BLAS the threads it had. That is why this is no
    context manager: an interrupt at the start of its `__exit__` would keep it from leaving.
    """
    holder = object()
    try:
        _limit.hold(holder)
        return function(*arguments)
    finally:
        try:
            _limit.release(holder)
        except BaseException:
            _limit.release(holder)
            raise


class _Limit:
    """Who wants BLAS to have one thread, and how many each BLAS had before.

    Each step can be interrupted and taken again: what is to be undone is noted before it is done.
    """

    def __init__(self) -> None:
        self.lock = threading.RLock()
        self.holders: set[object] = set()
        self.saved: list[tuple[LibController, int]] = []

    def hold(self, holder: object) -> None:
        with self.lock:
            self.holders.add(holder)
            if not self.saved:
                self.saved = _library_threads()
                _set_threads((library, 1) for library, n in self.saved if n != 1)

    def release(self, holder: object) -> None:
        with self.lock:
            if not self.holders - {holder}:
                self.restore()
            self.holders.discard(holder)

    def restore(self) -> None:
        _set_threads((library, n) for library, n in self.saved if n != 1)
        self.saved = []

    def allowed(self) -> int:
        """Return the number of threads that BLAS may use when nobody limits it."""
        with self.lock:
            return max((n for _, n in self.saved or _library_threads()), default=1)


def _library_threads() -> list[tuple[LibController, int]]:
    return [(library, library.get_num_threads()) for library in _libraries()]


def _set_threads(numbers: Iterable[tuple[LibController, int]]) -> None:
    for library, n in numbers:
        _let_go(library)
        library.set_num_threads(n)
        _let_go(library)


def _let_go(library: LibController) -> None:
    """Let any thread of Python set the number of threads of OpenBLAS, which all of them share.

    From 3.8 on, threadpoolctl does nothing in other threads than the first that has set it.
    """
    if hasattr(library, "clear_controlling_thread"):
        library.clear_controlling_thread(force=True)


def _wait_for_lock() -> None:
    """Let no other thread look for libraries, or set their threads, while the process is forked.

    A lock that it has then stays locked in the child, for ever.
    """
    _limit.lock.acquire()


def _release_lock() -> None:
    _limit.lock.release()


def _forget_holders() -> None:
    """Drop the holders in a forked process, which the parent's other threads do not survive."""
    global _limit
    former, _limit = _limit, _Limit()
    former.restore()


@cache
def _libraries() -> list[LibController]:
    return ThreadpoolController().select(user_api="blas").lib_controllers


@cache
def _auto() -> str:
    with _limit.lock:
        fast = any(library.internal_api in _FAST for library in _libraries())
    return "numpy" if fast else "blis"


def _parse(setting: str, where: str) -> Setting:
    blas, colon, threads = setting.strip().partition(":")
    known = blas in ("auto", "numpy", "blis")
    if not known or (colon and not (threads.isdecimal() and int(threads) >= 1)):
        raise ValueError(
            f'{where}: expected "auto", "numpy" or "blis", or one of them with a number of threads '
            f'from 1, such as "auto:1", was: {setting!r}.'
        )
    return Setting(blas, int(threads) if colon else None)


_limit = _Limit()
_setting = _parse(os.environ.get(VARIABLE, "auto"), f"Environment variable {VARIABLE}")

if hasattr(os, "register_at_fork"):
    os.register_at_fork(
        before=_wait_for_lock, after_in_parent=_release_lock, after_in_child=_forget_holders
    )
