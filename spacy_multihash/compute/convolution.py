"""A dilated convolution, forward and back, on rows that one thread holds in its cache."""

from typing import NamedTuple, Optional

import numpy
from thinc.api import get_array_module

from ..common.types import Array
from .buffers import gather_windows
from .layernorm import denormalize, normalize
from .matmul import MANY_ROWS, matmul


class Convolution(NamedTuple):
    """The parameters of a convolution over windows of C tokens, laid out for matrix products."""

    W: Array  # (nO, C * nI), as the layer keeps it
    transposed: Optional[Array]  # (C * nI, nO), contiguous, for many rows only
    flipped: Optional[Array]  # (C * nO, nI), for the convolution on the way back
    b: Array  # (nO,)
    norm: Optional[tuple[Array, Array]]  # G and beta, (nO,) each, of layer normalization


class ConvolutionTape(NamedTuple):
    """What the way back needs of a convolution that computed N rows from N rows."""

    X: Array  # (N, nI), its input
    active: Optional[Array]  # (N, nO) bool, where ReLU passed its input on
    Xhat: Optional[Array]  # (N, nO), normalized
    scale: Optional[Array]  # (N, 1), 1 / standard deviation


class Gradients(NamedTuple):
    """The gradients of the parameters, from one chunk."""

    W: Array  # (nO, C * nI)
    b: Array  # (nO,)
    norm: Optional[tuple[Array, Array]]  # of G and beta, (nO,) each


def lay_out_weights(
    W: Array, b: Array, norm: Optional[tuple[Array, Array]], C: int, N: int, *, is_train: bool
) -> Convolution:
    """Lay out the parameters of a convolution over windows of C tokens, for N rows."""
    xp = get_array_module(W)
    many = N >= MANY_ROWS or xp is not numpy
    flipped = _flip(W, C) if is_train else None
    return Convolution(W, xp.ascontiguousarray(W.T) if many else None, flipped, b, norm)


def convolve(
    X: Array,
    reads: Array,
    weights: Convolution,
    out: Array,
    *,
    rectify: bool,
    residual: bool,
    keep: bool = False,
) -> ConvolutionTape:
    """Compute [X +] [norm] [relu] (windows(X) W + b), X (N, nI) -> out (N, nO), row 0 zeros.

    keep (bool): Whether to keep what the way back needs.
    """
    xp = get_array_module(X)
    windows = gather_windows(X, reads)
    if weights.transposed is not None:
        matmul(windows, weights.transposed, out=out)
    else:
        # BLAS is slow at a few rows times a transposed matrix, but not the other way around.
        out[:] = matmul(weights.W, windows.T).T
    out += weights.b
    if rectify:
        xp.maximum(out, 0, out=out)
    active = out > 0 if keep and rectify else None
    Xhat = scale = None
    if weights.norm is not None:
        G, beta = weights.norm
        scale = normalize(out, out)
        Xhat = out.copy() if keep else None
        out *= G
        out += beta
    if residual:
        out += X
    out[0] = 0
    return ConvolutionTape(X, active, Xhat, scale)


def convolve_backward(
    dY: Array, reads: Array, weights: Convolution, tape: ConvolutionTape, *, residual: bool
) -> tuple[Array, Gradients]:
    """Go back: dY (N, nO), row 0 zeros -> dX (N, nI), row 0 zeros, and the gradients.

    The windows that read row n are those whose rows a window around n reads. So the way back is a
    convolution as well, with the order of the window's rows reversed in the weights.
    """
    ones = get_array_module(dY).ones(len(dY), dtype="float32")  # column sums are products as well
    d_sums, d_norm = dY, None
    if weights.norm is not None:
        d_norm = ones @ (dY * tape.Xhat), ones @ dY
        d_sums = denormalize(dY, weights.norm[0], tape.Xhat, tape.scale)
    if tape.active is not None:
        d_sums = d_sums * tape.active
    d_W = matmul(d_sums.T, gather_windows(tape.X, reads))
    d_b = ones @ d_sums
    dX = matmul(gather_windows(d_sums, reads), weights.flipped)
    if residual:
        dX += dY
    return dX, Gradients(d_W, d_b, d_norm)


def _flip(W: Array, C: int) -> Array:
    """Reverse the order of the window's rows in the weights: W (nO, C * nI) -> (C * nO, nI)."""
    nO, columns = W.shape
    flipped = W.reshape(nO, C, columns // C)[:, ::-1].transpose(1, 0, 2)
    return get_array_module(W).ascontiguousarray(flipped).reshape(C * nO, columns // C)
