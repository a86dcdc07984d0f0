"""Which BLAS computes a matrix product, and in how many threads: decided here and nowhere else.

On a GPU, CuPy does. On a CPU, thinc takes BLIS, in one thread. Numpy brings a BLAS of its own,
OpenBLAS in its wheels, and that one is faster at every size that an encoder or a parser has, as
long as it stays out of its thread pool. Measured on two cores of a Xeon (AVX-512), GFLOP/s of
(N, 288) @ (288, 288), weights contiguous:

    N                        1      8     32    128   1024  16384
    BLIS                   4.7     25     66     95     96     85
    OpenBLAS, 1 thread      39    112    112    150    157    131
    OpenBLAS, 2 threads     40    113    122    203    231    272
    the same, weights transposed as thinc keeps them
    OpenBLAS, 1 thread      38     27     72    128    152    127
    OpenBLAS, 2 threads     39     10     95    170    255    255

Its threads wait for each other in every product: worth less than 2 for the sizes above, and a
standstill when another process takes one of the cores. So a product has one thread, and the chunks
of a batch go to threads of our own (`threads.py`), which meet only at the end.
`benchmarks/speed.py` measures both on your machine.
"""

import multiprocessing
import os
import threading
from functools import cache
from typing import NamedTuple, Optional

from threadpoolctl import LibController, ThreadpoolController

VARIABLE = "SPACY_MULTIHASH_PRODUCTS"
# BLAS libraries that are worth calling in the place of BLIS.
_FAST = ("openblas", "mkl")


class Setting(NamedTuple):
    """The user's choice: a BLAS ("auto", "numpy" or "blis"), and a number of threads or None."""

    blas: str
    threads: Optional[int]

    def __str__(self) -> str:
        """Write it as users do."""
        return self.blas if self.threads is None else f"{self.blas}:{self.threads}"


def set_products(setting: str) -> str:
    """Choose the BLAS of matrix products on the CPU, and the number of threads; return the former.

    setting (str): "auto", "numpy" or "blis", with ":threads" behind it if threads are to be
        limited: "auto:1", "numpy:4". The environment variable SPACY_MULTIHASH_PRODUCTS gives the
        first setting. "auto" takes numpy's BLAS if it is OpenBLAS or MKL, else BLIS. Without a
        number there are as many threads as numpy's BLAS may use (OMP_NUM_THREADS, threadpoolctl),
        and one in a process of `nlp.pipe(n_process=...)`.

    Raises ValueError if the setting is none of these.
    """
    global _setting
    former, _setting = str(_setting), _parse(setting, "set_products")
    return former


def chosen_blas() -> str:
    """Name the BLAS that the setting leads to on this machine, "numpy" or "blis"."""
    return _auto() if _setting.blas == "auto" else _setting.blas


def num_threads() -> int:
    """Count the threads that chunks may be computed in."""
    if _setting.threads is not None:
        return _setting.threads
    if multiprocessing.parent_process() is not None:
        return 1
    return single_threaded.allowed()


class SingleThreaded:
    """Keeps numpy's BLAS to one thread. Threads may enter together, and again inside."""

    def __init__(self) -> None:
        """Nobody is inside yet."""
        self.lock = threading.Lock()
        self.inside = 0
        self.saved: list[tuple[LibController, int]] = []

    def __enter__(self) -> None:
        """Limit each BLAS, unless somebody has done so."""
        with self.lock:
            self.inside += 1
            if self.inside == 1:
                self.saved = [(library, library.get_num_threads()) for library in _libraries()]
                for library, n in self.saved:
                    if n != 1:
                        library.set_num_threads(1)

    def __exit__(self, *_: object) -> None:
        """Give each BLAS its threads back when the last one leaves."""
        with self.lock:
            self.inside -= 1
            if self.inside == 0:
                for library, n in self.saved:
                    if n != 1:
                        library.set_num_threads(n)

    def allowed(self) -> int:
        """Count the threads that BLAS may use when nobody is inside."""
        with self.lock:
            if self.inside:
                return max((n for _, n in self.saved), default=1)
            return max((library.get_num_threads() for library in _libraries()), default=1)


@cache
def _libraries() -> list[LibController]:
    return ThreadpoolController().select(user_api="blas").lib_controllers


@cache
def _auto() -> str:
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


single_threaded = SingleThreaded()
_setting = _parse(os.environ.get(VARIABLE, "auto"), f"Environment variable {VARIABLE}")
