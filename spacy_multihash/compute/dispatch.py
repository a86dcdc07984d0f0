"""Which kernels compute on a CPU: an instruction set's, or none (plain array code)."""

import os
from importlib import import_module
from types import ModuleType
from typing import Any, Optional

import numpy

from ..common.types import Array

kernels: Any
try:
    kernels = import_module(".kernels", __package__)
except ImportError:  # installed without a compiler
    kernels = None

VARIABLE = "SPACY_MULTIHASH_KERNELS"
NONE = "none"


def kernels_for(array: Array) -> Optional[ModuleType]:
    """Return the module of compiled kernels for an array, or None where array code computes.

    Array code computes on a GPU, where the package was installed without a compiler, and if it was
    asked for.
    """
    return kernels if _chosen != NONE and isinstance(array, numpy.ndarray) else None


def use_kernels(name: str) -> str:
    """Compute with the kernels of an instruction set, and return the name of the former kernels.

    The choice holds for the whole process. At first it's the environment variable
    SPACY_MULTIHASH_KERNELS, or else the fastest kernels that the machine has.

    name (str): "avx2", "baseline", or "none" for array code.

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
    """List the kernels that the machine has, the fastest first."""
    return [*(kernels.available() if kernels is not None else ()), NONE]


_chosen = NONE
use_kernels(os.environ.get(VARIABLE) or available_kernels()[0])
