"""Maxout with layer normalization, forward and back, on rows that one thread holds in its cache.

Numpy's passes over an array are cheap while a chunk is in the cache (`chunks.CHUNK`), and expensive
otherwise. For rows of 96 with a window of 3, all passes together take about a quarter of the time
of the matrix product. Half of that quarter is reading the 288 sums again, for the bias and for the
largest piece. On a GPU, each function is one launch besides the product (`gpu.py`).
"""

from typing import NamedTuple, Optional, cast

import numpy
from thinc.api import Model, NumpyOps, get_array_module

from ..common.types import Array
from . import gpu
from .buffers import scratch
from .layernorm import denormalize, normalize
from .matmul import MANY_ROWS, matmul

_CPU = NumpyOps()


class Weights(NamedTuple):
    """The parameters of a layer, laid out for matrix products."""

    W: Array  # (nO * nP, nI), as the layer keeps it
    by_piece: Optional[Array]  # (nI, nP * nO), transposed, with the columns of a piece together
    b: Array  # (nO * nP,), or (nP * nO,) piece by piece
    G: Array  # (nO,)
    beta: Array  # (nO,)


class MaxoutTape(NamedTuple):
    """What the way back needs of N rows."""

    Xhat: Array  # (N, nO), normalized
    scale: Array  # (N, 1), 1 / standard deviation
    which: Array  # (N, nO) uint8, the piece that was the largest, the first of equals

    def rows(self, rows: slice) -> "MaxoutTape":
        """View the tape of a chunk of rows."""
        return MaxoutTape(self.Xhat[rows], self.scale[rows], self.which[rows])


class Gradients(NamedTuple):
    """The gradients of the parameters, from one chunk."""

    W: Array  # (nO * nP, nI)
    b: Array  # (nO * nP,)
    G: Array  # (nO,)
    beta: Array  # (nO,)


def weights_of(model: Model, N: int) -> Weights:
    """Lay out the parameters of a MaxoutNorm, for N rows.

    For many rows, a copy of W with the columns of a piece together pays: the product of contiguous
    matrices is faster, and vector instructions can compare the pieces.
    """
    W, b, G, beta = (cast(Array, model.get_param(name)) for name in ("W", "b", "G", "beta"))
    nO, nP, nI = W.shape
    kept = W.reshape(nO * nP, nI)
    if N < MANY_ROWS and isinstance(W, numpy.ndarray):
        return Weights(kept, None, b.reshape(nO * nP), G, beta)
    by_piece = model.ops.xp.empty((nI, nP, nO), dtype="float32")
    # With all outputs at once, a CPU's cache would hold few columns: they are powers of 2 apart.
    at_once = 32 if isinstance(W, numpy.ndarray) else nO
    for start in range(0, nO, at_once):
        by_piece[:, :, start : start + at_once] = W[start : start + at_once].transpose(2, 1, 0)
    b = model.ops.as_contig(b.T).reshape(nP * nO)
    return Weights(kept, by_piece.reshape(nI, nP * nO), b, G, beta)


def empty_tape(like: Array) -> MaxoutTape:
    """Make an unfilled tape for the rows of a result, on its device."""
    xp = get_array_module(like)
    N, nO = like.shape
    return MaxoutTape(
        xp.empty((N, nO), "float32"), xp.empty((N, 1), "float32"), xp.empty((N, nO), "uint8")
    )


def maxout_norm(X: Array, weights: Weights, out: Array, tape: Optional[MaxoutTape] = None) -> None:
    """Compute norm(max_p(X W_p + b_p)) * G + beta.

    X (N, nI) float32 -> out (N, nO) float32. The tape is filled if it is given.
    """
    norm_of_sums(_sums(X, weights), weights, out, tape)


def norm_of_sums(
    sums: Array, weights: Weights, out: Array, tape: Optional[MaxoutTape] = None
) -> None:
    """Compute the rest of `maxout_norm` from the products of the rows, which are overwritten.

    sums (N, nO * nP), or (N, nP * nO) piece by piece -> out (N, nO).
    """
    if not isinstance(sums, numpy.ndarray):
        gpu.maxout_norm_forward(sums, weights.b, weights.G, weights.beta, out, *(tape or ()))
        return
    sums += weights.b
    largest = _largest(_pieces(sums, weights), out, tape and tape.which)
    normalized = tape.Xhat if tape else out
    scale = normalize(largest, normalized)
    if tape:
        tape.scale[:] = scale
    numpy.multiply(normalized, weights.G, out=out)
    out += weights.beta


def maxout_norm_backward(
    dY: Array, X: Array, weights: Weights, tape: MaxoutTape, dX: Array
) -> Gradients:
    """Go back through `maxout_norm`: dY (N, nO) -> dX (N, nI). Returns the other gradients."""
    xp = get_array_module(dY)
    if xp is numpy:
        d_sums = _to_pieces(denormalize(dY, weights.G, tape.Xhat, tape.scale), tape.which, weights)
    else:
        nP = len(weights.b) // len(weights.G)
        d_sums = gpu.maxout_norm_backward(dY, weights.G, *tape, nP)
    matmul(d_sums, weights.W, out=dX)
    dY_Xhat = xp.multiply(dY, tape.Xhat, out=scratch("dY_Xhat", dY.shape, dY))
    ones = xp.ones(len(dY), dtype="float32")  # column sums are products as well
    return Gradients(matmul(d_sums.T, X), ones @ d_sums, ones @ dY_Xhat, ones @ dY)


def _sums(X: Array, weights: Weights) -> Array:
    """Multiply the rows by the weights, without the bias: X (N, nI) -> (N, nO * nP)."""
    N, columns = len(X), len(weights.b)
    if weights.by_piece is not None:
        return matmul(X, weights.by_piece, out=scratch("sums", (N, columns), X))
    # BLAS is slow at a few rows times a large transposed matrix, but not the other way around.
    return matmul(weights.W, X.T, out=scratch("sums", (columns, N), X)).T


def _pieces(sums: Array, weights: Weights) -> list[Array]:
    """View the pieces of the sums: (N, nO * nP) -> nP arrays (N, nO)."""
    nO = len(weights.G)
    nP = sums.shape[1] // nO
    if weights.by_piece is not None:
        return [sums[:, piece * nO : (piece + 1) * nO] for piece in range(nP)]
    return [sums[:, piece::nP] for piece in range(nP)]


def _largest(pieces: list[Array], out: Array, which: Optional[Array]) -> Array:
    """Take the largest of the pieces (N, nO) -> (N, nO), in `out` if there are several pieces."""
    largest, *others = pieces
    if which is not None:
        which.fill(0)
    for piece, values in enumerate(others, 1):
        if which is not None:
            # The last piece that is larger than all before it is the largest. This is four times as
            # fast as a masked assignment.
            beats = (values > largest).view("uint8")
            numpy.maximum(which, beats * numpy.uint8(piece), out=which)
        largest = numpy.maximum(largest, values, out=out)
    return largest


def _to_pieces(dY: Array, which: Array, weights: Weights) -> Array:
    """Give the gradient to the piece that was the largest: dY (N, nO) -> (N, nO * nP)."""
    nP = len(weights.b) // dY.shape[1]
    return _CPU.backprop_maxout(dY, which.astype("int32"), nP).reshape(len(dY), -1)
