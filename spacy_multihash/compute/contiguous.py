"""Arrays as thinc's compiled kernels take them."""

from typing import Any, cast

import numpy
from thinc.api import Ops

from ..common.types import Array
from .chunks import on_cpu


def for_kernel(ops: Ops, X: Array, dtype: str) -> Array:
    """Copy an array that a kernel refuses: not contiguous, of another type, or read-only.

    Any other array is returned as it is.
    """
    if on_cpu(ops):
        return numpy.require(X, dtype, ["C", "W"])
    return ops.as_contig(X, dtype=cast(Any, dtype))  # CuPy has no read-only arrays
