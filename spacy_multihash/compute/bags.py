"""Sums of rows of a table: each token has any number of symbols, and each symbol falls on K rows.

On a GPU, and without a compiler, array code computes the same.
"""

from typing import NamedTuple, Optional

import numpy
from thinc.api import Ops

from ..common.types import Array
from .dispatch import kernels_for
from .ops import for_kernel
from .threads import in_parts


class Bags(NamedTuple):
    """The rows of the symbols of U tokens.

    rows (M, K) int32: The rows of each symbol, token by token. The table must have them.
    weights (M, K) float32: Factors of the rows, or None.
    ends (U,) int64, on the CPU: Where the symbols of each token end. None: a symbol a token.
    mean (bool): Whether sums are divided by the number of symbols.
    """

    rows: Array
    weights: Optional[Array] = None
    ends: Optional[numpy.ndarray] = None
    mean: bool = False

    @property
    def num_tokens(self) -> int:
        """The number of tokens, U."""
        return len(self.rows if self.ends is None else self.ends)

    def lengths(self) -> numpy.ndarray:
        """Count the symbols of each token, (U,) int64; there must be ends."""
        return numpy.diff(self.ends, prepend=0)  # type: ignore[arg-type]


def gather_sum(ops: Ops, E: Array, bags: Bags) -> Array:
    """Sum the rows of each token: E (nV, W) float32 -> vectors (U, W) float32."""
    U = bags.num_tokens
    kernels = kernels_for(E)
    if kernels is not None:
        vectors = numpy.empty((U, E.shape[1]), dtype="float32")
        in_parts(lambda first, last: kernels.gather_sum(E, bags, first, last, vectors), U)
        return vectors
    of_symbols: Array = ops.alloc2f(len(bags.rows), E.shape[1])
    for k, rows in enumerate(bags.rows.T):
        of_symbols += E[rows] if bags.weights is None else E[rows] * bags.weights[:, k : k + 1]
    if bags.ends is None:
        return of_symbols
    sums: Array = ops.alloc2f(U, E.shape[1])
    ops.scatter_add(sums, _owners(ops, bags), of_symbols)
    return sums * _shares(ops, bags)


def scatter_sum(ops: Ops, dE: Array, bags: Bags, d_vectors: Array) -> None:
    """Add the gradient of each token's vector, (U, W), to the gradients of its rows, dE (nV, W).

    On the CPU, the gradients of a row add up in the order of the tokens, whatever the threads.
    """
    kernels = kernels_for(dE)
    if kernels is not None:
        in_parts(
            lambda first, last: kernels.scatter_sum(dE, bags, d_vectors, first, last),
            dE.shape[1],  # each thread adds to some columns of all rows
            rows=len(bags.rows),
        )
        return
    d_symbols = _of_symbols(ops, bags, d_vectors)
    for k, rows in enumerate(bags.rows.T):
        d_rows = d_symbols if bags.weights is None else d_symbols * bags.weights[:, k : k + 1]
        ops.scatter_add(dE, for_kernel(ops, rows, "int32"), for_kernel(ops, d_rows, "float32"))


def gather_dot(ops: Ops, E: Array, bags: Bags, d_vectors: Array) -> Array:
    """Compute the gradient of the weights (M, K) from the gradient of the vectors (U, W)."""
    d_weights: Array = ops.alloc2f(*bags.rows.shape)
    kernels = kernels_for(E)
    if kernels is not None:
        in_parts(
            lambda first, last: kernels.gather_dot(E, bags, first, last, d_vectors, d_weights),
            bags.num_tokens,
        )
        return d_weights
    d_symbols = _of_symbols(ops, bags, d_vectors)
    for k, rows in enumerate(bags.rows.T):
        d_weights[:, k] = ops.xp.einsum("nd,nd->n", E[rows], d_symbols)
    return d_weights


def for_sums(ops: Ops, X: Array) -> Array:
    """Give the gradient of sums as kernels read it: float32, and each row contiguous."""
    if isinstance(X, numpy.ndarray) and X.dtype == "float32" and X.flags.aligned:
        if X.strides[1] == 4 and X.strides[0] >= 0:
            return X  # columns of a larger array, too
    return for_kernel(ops, X, "float32")


def _of_symbols(ops: Ops, bags: Bags, d_vectors: Array) -> Array:
    """Give each symbol the gradient of its token's vector, (M, W)."""
    if bags.ends is None:
        return d_vectors
    return (d_vectors * _shares(ops, bags))[_owners(ops, bags)]


def _owners(ops: Ops, bags: Bags) -> Array:
    """List the token of each symbol, (M,) int32."""
    lengths = bags.lengths()
    return ops.asarray1i(numpy.repeat(numpy.arange(len(lengths)), lengths))  # type: ignore[arg-type]


def _shares(ops: Ops, bags: Bags) -> Array:
    """Give what sums are multiplied with, (U, 1) float32."""
    lengths = bags.lengths().clip(1) if bags.mean else numpy.ones(bags.num_tokens)
    shares: Array = (1 / lengths)[:, None]
    return ops.asarray(shares, dtype="float32")
