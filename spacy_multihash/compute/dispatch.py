"""Choose the kernels of a CPU: those of an instruction set, or none (plain array code)."""

import os
from importlib import import_module
from typing import Any

kernels: Any
try:
    kernels = import_module(".kernels", __package__)
except ImportError:  # installed without a compiler
    kernels = None

VARIABLE = "SPACY_MULTIHASH_KERNELS"
NONE = "none"


def use_kernels(name: str) -> str:
    """Compute with the kernels of an instruction set, and return the name of the former kernels.

    The choice holds for the whole process. At first it's the environment variable
    SPACY_MULTIHASH_KERNELS, or else what's fastest on processors of this kind: AVX-512 on Intel's,
    AVX2 on others. All processes on a machine choose the same, so their results are equal.

    name (str): "avx512", "avx2", "baseline", or "none" for array code.

    Raises ValueError for kernels that the machine does not have.
    """
    global chosen
    if name not in available_kernels():
        raise ValueError(
            f'This machine has no kernels "{name}". Choose one of: '
            f"{', '.join(available_kernels())}. {VARIABLE} sets it."
        )
    if kernels is not None and name != NONE:
        kernels.use(name)
    former, chosen = chosen, name
    return former


def chosen_kernels() -> str:
    """Return the name of the kernels that compute, "none" for array code."""
    return chosen


def available_kernels() -> list[str]:
    """List the kernels that the machine has, those with the widest vectors first."""
    return [*(kernels.available() if kernels is not None else ()), NONE]


chosen = NONE
use_kernels(os.environ.get(VARIABLE) or (NONE if kernels is None else kernels.best()))
