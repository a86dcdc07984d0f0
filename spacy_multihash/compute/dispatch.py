"""Which kernels compute on a CPU: an instruction set's, or none (plain array code)."""

import os
from importlib import import_module
from time import perf_counter
from typing import Any

import numpy

kernels: Any
try:
    kernels = import_module(".kernels", __package__)
except ImportError:  # installed without a compiler
    kernels = None

VARIABLE = "SPACY_MULTIHASH_KERNELS"
NONE = "none"
# How many times as fast as AVX2 AVX-512 has to be: some processors gain nothing from its wider
# vectors, or get slower at everything else while they compute with them.
GAIN = 1.2
TURNS = 8


def use_kernels(name: str) -> str:
    """Compute with the kernels of an instruction set, and return the name of the former kernels.

    The choice holds for the whole process. At first it's the environment variable
    SPACY_MULTIHASH_KERNELS, or else what's fastest on the machine. Where the processor has AVX-512,
    half a millisecond of products at import tells whether it's 1.2 times as fast as AVX2.

    name (str): "avx512", "avx2", "baseline", or "none" for array code.

    Raises ValueError for kernels that the machine does not have.
    """
    global _chosen
    if name not in available_kernels():
        raise ValueError(
            f'This machine has no kernels "{name}". Choose one of: '
            f"{', '.join(available_kernels())}. {VARIABLE} sets it."
        )
    if kernels is not None and name != NONE:
        kernels.use(name)
    former, _chosen = _chosen, name
    return former


def chosen_kernels() -> str:
    """Return the name of the kernels that compute, "none" for array code."""
    return _chosen


def available_kernels() -> list[str]:
    """List the kernels that the machine has, those with the widest vectors first."""
    return [*(kernels.available() if kernels is not None else ()), NONE]


def _fastest() -> str:
    """Return the name of the machine's fastest kernels, after timing those with AVX-512."""
    first, second, *_ = *available_kernels(), NONE
    if first != "avx512":
        return first
    wide, narrow = _time_products(first, second)
    return first if GAIN * wide < narrow else second


def _time_products(*names: str) -> list[float]:
    """Time products of many rows in turns, and return the shortest times in seconds."""
    X, Y = numpy.ones((2, 96, 96), dtype="float32")
    seconds = dict.fromkeys(names, numpy.inf)
    for _ in range(TURNS):
        for name in names:
            kernels.use(name)
            start = perf_counter()
            kernels.product(X, X, 0, len(X), Y)
            seconds[name] = min(seconds[name], perf_counter() - start)
    return [*seconds.values()]


_chosen = NONE
use_kernels(os.environ.get(VARIABLE) or _fastest())
