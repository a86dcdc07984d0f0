"""A dilated convolution, forward and back, on rows that one thread holds in its cache.

Longer than a layer's file, because what its weights begin with belongs to how they are laid out.
"""

from typing import NamedTuple, Optional

import numpy
from thinc.api import get_array_module

from ..common.types import Array
from .buffers import gather_windows
from .layernorm import denormalize, normalize
from .matmul import MANY_ROWS, matmul


class Convolution(NamedTuple):
    """The parameters of a convolution over windows of C tokens, as the products want them."""

    W: Array  # (nO, C * nI), as it is kept
    transposed: Optional[Array]  # (C * nI, nO), contiguous, where there are many rows
    flipped: Optional[Array]  # (C * nO, nI), of the convolution that takes gradients back
    b: Array  # (nO,)
    norm: Optional[tuple[Array, Array]]  # G and beta, (nO,) each, of layer normalization


class ConvolutionTape(NamedTuple):
    """What the way back needs of a convolution, which computed N rows from as many."""

    X: Array  # (N, nI), its input
    active: Optional[Array]  # (N, nO) bool, what ReLU let through
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
    """Lay the parameters of a convolution over windows of C tokens out for N rows."""
    xp = get_array_module(W)
    many = N >= MANY_ROWS or xp is not numpy
    flipped = _turn_around(W, C) if is_train else None
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
        # A few rows times a transposed matrix are slow in BLAS, the other way around is not.
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

    Row n is read by those windows that it would itself read if the window were turned around. So
    the way back is a convolution as well, with the weights turned around.
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


def _turn_around(W: Array, C: int) -> Array:
    """Give the weights of the way back: W (nO, C * nI) -> (C * nO, nI)."""
    nO, columns = W.shape
    turned = W.reshape(nO, C, columns // C)[:, ::-1].transpose(1, 0, 2)
    return get_array_module(W).ascontiguousarray(turned).reshape(C * nO, columns // C)
