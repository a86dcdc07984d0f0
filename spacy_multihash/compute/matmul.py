"""Matrix products by the BLAS that `blas.py` chooses."""

from typing import Optional, cast

import numpy
from thinc.api import Model, NumpyOps, get_array_module
from thinc.types import Floats2d

from ..common.types import Array
from .blas import chosen_blas, single_threaded

# thinc's ops, whose products are those of BLIS.
_BLIS = NumpyOps()
# Rows from which a contiguous copy of transposed weights pays.
MANY_ROWS = 128
# Multiply-adds up to which OpenBLAS leaves its threads alone by itself.
_SMALL = 2**18


def matmul(A: Array, B: Array, out: Optional[Array] = None) -> Array:
    """Multiply two matrices that are on the same device.

    A (M, K) float32, B (K, N) float32, each contiguous or transposed -> (M, N) float32.

    out (Array or None): A contiguous array (M, N) to write the result to. None makes a new one.
    """
    xp = get_array_module(A)
    if xp is not numpy or chosen_blas() == "numpy":
        return xp.matmul(A, B, out=out)
    (A, trans1), (B, trans2) = _untransposed(A), _untransposed(B)
    return _BLIS.gemm(A, B, out=out, trans1=trans1, trans2=trans2)


class ProductOps(NumpyOps):
    """thinc's NumpyOps, with the matrix products of the chosen BLAS."""

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
        if chosen_blas() == "blis" or out is not None or not x.dtype == y.dtype == "float32":
            return super().gemm(x, y, out=out, trans1=trans1, trans2=trans2)
        A = cast(Array, x.T if trans1 else x)
        B = cast(Array, y.T if trans2 else y)
        if A.size * B.shape[1] <= _SMALL:
            return numpy.matmul(A, B)
        return single_threaded(numpy.matmul, A, B)


def use_product_ops(model: Model) -> None:
    """Give ProductOps to all layers of a model that are on the CPU.

    Their matrix products are then those of the BLAS that `set_products` chose.

    model (Model): The model, which is changed in place.
    """
    ops = ProductOps()
    for node in model.walk():
        if type(node.ops) is NumpyOps:
            node.ops = ops


def _untransposed(X: Array) -> tuple[Array, bool]:
    """Return a matrix or its transpose, whichever is contiguous, and whether it is the latter."""
    transposed = X.strides[0] < X.strides[1]
    return (X.T, True) if transposed else (X, False)
