"""thinc's operations, with products of the compiled kernels."""

from typing import Any, Optional

import numpy
from thinc.api import Model, NumpyOps, Ops
from thinc.types import Floats2d

from ..common.types import Array
from .dispatch import NONE, chosen_kernels, kernels, kernels_for
from .threads import in_parts


class KernelOps(NumpyOps):
    """thinc's NumpyOps, with faster products of rows and weights."""

    def gemm(
        self,
        x: Floats2d,
        y: Floats2d,
        *,
        out: Optional[Floats2d] = None,
        trans1: bool = False,
        trans2: bool = False,
    ) -> Floats2d:
        """Multiply two matrices, each transposed first if asked for, as `Ops.gemm` does."""
        compiled = kernels_for(x)
        arrays = (x, y) if out is None else (x, y, out)
        is_plain = all(a.dtype == "float32" and a.flags.c_contiguous for a in arrays)
        if compiled is None or trans1 or not trans2 or not is_plain:
            return super().gemm(x, y, out=out, trans1=trans1, trans2=trans2)
        product: Any = numpy.empty((len(x), len(y)), dtype="float32") if out is None else out
        in_parts(lambda first, last: compiled.product(x, y, first, last, product), len(x))
        return product

    def cblas(self) -> Any:  # noqa: ANN401
        """Return the products that spaCy's parser calls from C."""
        return super().cblas() if chosen_kernels() == NONE else kernels.make_cblas()


def use_kernel_ops(model: Model) -> None:
    """Give KernelOps to all layers of a model that are on the CPU, in place."""
    ops = KernelOps()
    for node in model.walk():
        if type(node.ops) is NumpyOps:
            node.ops = ops


def on_cpu(ops: Ops) -> bool:
    """Tell whether arrays are numpy's and not CuPy's."""
    return ops.device_type == "cpu"


def for_kernel(ops: Ops, X: Array, dtype: str) -> Array:
    """Copy an array that compiled code refuses: with gaps, misaligned, of another type, read-only.

    Any other array is returned as it is.
    """
    if isinstance(X, numpy.ndarray) and X.dtype == dtype and X.flags.carray:
        return X
    if on_cpu(ops):
        return numpy.require(X, dtype, ["C", "W", "A"])
    contiguous: Any = ops.as_contig
    return contiguous(X, dtype=dtype)  # CuPy has no read-only arrays
