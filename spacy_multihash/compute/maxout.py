"""Maxout over windows of rows, with layer normalization: forward and backward.

    sums    =  W_p window(X)_i + b_p, for each piece p
    Y_i     =  norm(max_p sums) * G + beta, times a mask of dropout, plus X_i

Each of the steps after the sums is optional. On a CPU the compiled kernels do all of them at once.
Elsewhere plain array code does, and the kernels are tested against it.
"""

from typing import NamedTuple, Optional, cast

import numpy
from thinc.api import get_array_module
from thinc.backends import get_array_ops

from ..common.types import Array
from . import gpu
from .dispatch import kernels_for
from .threads import in_parts


class Layer(NamedTuple):
    """The parameters of a layer over windows of S = 2 * window + 1 rows.

    W (nO, nP, S * nI), b (nO, nP): The linear functions.
    G, beta (nO,): Gain and shift of layer normalization, or None for none.
    dilation: The distance of neighbours in a window.
    relu: Whether Y is 0 where the sum of a single piece is negative.
    residual: Whether X is added.
    name: The layer's, for messages.
    """

    W: Array
    b: Array
    G: Optional[Array] = None
    beta: Optional[Array] = None
    window: int = 0
    dilation: int = 1
    relu: bool = False
    residual: bool = False
    name: str = "maxout"

    @property
    def params(self) -> tuple[Array, Array, Optional[Array], Optional[Array]]:
        """The parameters."""
        return self.W, self.b, self.G, self.beta


class Docs(NamedTuple):
    """The rows of D docs, one after the other, before and after a layer.

    lengths (D,) int64: The numbers of tokens, on the host.
    before, after: How many rows of padding there are on each side of a doc.
    pad: Whether the first row of all stands for the padding beyond these rows. Otherwise windows
        read zeros there.
    """

    lengths: numpy.ndarray
    before: int = 0
    after: int = 0
    pad: bool = False

    @property
    def rows(self) -> int:
        """The number of rows after the layer, M."""
        return self.pad + int(self.lengths.sum()) + 2 * self.after * len(self.lengths)


class Cache(NamedTuple):
    """What the backward pass needs of M rows.

    which (M, nO) uint8: The piece that was the largest, the first of equals. With `relu`, 1 where
        the sum is positive.
    Xhat (M, nO), scale (M,): The normalized rows, and 1 / standard deviation; None without a norm.
    """

    which: Array
    Xhat: Optional[Array]
    scale: Optional[Array]


def forward(
    X: Array, layer: Layer, docs: Docs, *, mask: Optional[Array] = None, is_train: bool = False
) -> tuple[Array, Optional[Cache]]:
    """Compute a layer: X (N, nI) float32 contiguous -> Y (M, nO), and a cache in training.

    mask (Optional[Array]): Of dropout, (M, nO).
    """
    kernels = kernels_for(X)
    if kernels is None:
        return _forward(X, layer, docs, mask)
    shape = docs.rows, len(layer.W)
    Y = numpy.empty(shape, dtype="float32")
    cache = None
    if is_train:
        norm = layer.G is not None
        cache = Cache(
            numpy.empty(shape, dtype="uint8"),
            numpy.empty(shape, dtype="float32") if norm else None,
            numpy.empty(len(Y), dtype="float32") if norm else None,
        )

    def compute(first: int, last: int) -> None:
        kernels.maxout(X, layer, docs, first, last, Y, mask, *(cache or ()))

    in_parts(compute, len(Y))
    return Y, cache


def backward(
    dY: Array,
    X: Array,
    layer: Layer,
    docs: Docs,
    cache: Cache,
    gradients: tuple[Array, Array, Optional[Array], Optional[Array]],
    *,
    mask: Optional[Array] = None,
) -> Array:
    """Go back: dY (M, nO) float32 contiguous -> dX (N, nI). Adds to the gradients of `params`.

    Sums over rows are taken in an order that doesn't depend on threads.
    """
    kernels = kernels_for(X)
    d_inner = dY if mask is None else dY * mask
    if kernels is None:
        return _backward(dY, d_inner, X, layer, docs, cache, gradients)
    which, Xhat, scale = cache
    d_sums, dX = numpy.empty_like(dY), numpy.empty_like(X)

    def to_sums(first: int, last: int) -> None:
        nI = X.shape[1]
        kernels.back_to_sums(d_inner, layer, nI, first, last, d_sums, which, Xhat, scale)

    def to_input(first: int, last: int) -> None:
        kernels.back_to_input(d_sums, layer, docs, first, last, dX, which, dY)

    def to_weights(first: int, last: int) -> None:
        kernels.back_to_weights(
            d_sums, layer, docs, first, last, X, which, d_inner, Xhat, *gradients
        )

    in_parts(to_sums, len(dY))
    in_parts(to_input, len(dX))
    in_parts(to_weights, dY.shape[1], rows=len(dY))
    return dX


def _forward(
    X: Array, layer: Layer, docs: Docs, mask: Optional[Array]
) -> tuple[Array, Optional[Cache]]:
    xp, (nO, nP, columns) = get_array_module(X), layer.W.shape
    windows = _windows(X, _reads(docs, layer))
    if xp is not numpy and layer.G is not None and not layer.relu:
        by_piece = layer.W.transpose(1, 0, 2).reshape(nP * nO, columns)
        b = xp.ascontiguousarray(layer.b.T)
        Y = xp.empty((len(windows), nO), dtype="float32")
        cache = Cache(xp.empty(Y.shape, "uint8"), xp.empty_like(Y), xp.empty(len(Y), "float32"))
        sums = windows @ by_piece.T
        gpu.maxout_norm_forward(
            sums, b, layer.G, layer.beta, Y, cache.Xhat, cache.scale, cache.which
        )
    else:
        sums = windows @ layer.W.reshape(nO * nP, columns).T + layer.b.reshape(-1)
        sums = sums.reshape(len(windows), nO, nP)
        Y, which = sums.max(axis=2), sums.argmax(axis=2).astype("uint8")
        if layer.relu:
            which = (Y > 0).astype("uint8")
            Y = xp.maximum(Y, 0)
        Xhat = scale = None
        if layer.G is not None:
            centred = Y - Y.mean(axis=1, keepdims=True)
            scale = 1 / xp.sqrt((centred**2).mean(axis=1) + numpy.float32(1e-8))
            Xhat = centred * scale[:, None]
            Y = Xhat * layer.G + layer.beta
        cache = Cache(which, Xhat, scale)
    if mask is not None:
        Y *= mask
    if layer.residual:
        Y += _centre(windows, X.shape[1])
    return Y, cache


def _backward(
    dY: Array,
    d_inner: Array,
    X: Array,
    layer: Layer,
    docs: Docs,
    cache: Cache,
    gradients: tuple[Array, Array, Optional[Array], Optional[Array]],
) -> Array:
    xp, (nO, nP, columns) = get_array_module(X), layer.W.shape
    which, Xhat, scale = cache
    dW, db, dG, dbeta = gradients
    if dG is not None:
        dG += (d_inner * Xhat).sum(axis=0)
        dbeta += d_inner.sum(axis=0)
    if xp is not numpy and layer.G is not None and not layer.relu:
        d_sums = gpu.maxout_norm_backward(d_inner, layer.G, Xhat, scale, which, nP)
    else:
        d = d_inner
        if layer.G is not None:
            d = d * layer.G
            share = (d * Xhat).mean(axis=1, keepdims=True)
            d = (d - d.mean(axis=1, keepdims=True) - Xhat * share) * cast(Array, scale)[:, None]
        if layer.relu:
            d = d * which
        is_largest = xp.ones((1, 1, 1), bool) if nP == 1 else which[:, :, None] == xp.arange(nP)
        d_sums = (d[:, :, None] * is_largest).reshape(len(d), nO * nP)
    reads = _reads(docs, layer)
    dW += (d_sums.T @ _windows(X, reads)).reshape(dW.shape)
    db += d_sums.sum(axis=0).reshape(db.shape)
    d_windows = d_sums @ layer.W.reshape(nO * nP, columns)
    if layer.residual:
        _centre(d_windows, X.shape[1])[:] += dY
    if layer.window == 0:
        return d_windows
    dX = xp.zeros((len(X) + 1, X.shape[1]), dtype="float32")
    rows = xp.asarray((reads % len(dX)).ravel(), dtype="int32")
    get_array_ops(dX).scatter_add(dX, rows, d_windows.reshape(len(rows), X.shape[1]))
    return dX[:-1]


def _reads(docs: Docs, layer: Layer) -> numpy.ndarray:
    """Find the rows that the window of each row reads, (M, S) int64; -1 stands for zeros."""
    lengths, sizes = docs.lengths + 2 * docs.before, docs.lengths + 2 * docs.after
    doc = numpy.repeat(numpy.arange(len(sizes)), sizes)
    place = numpy.arange(len(doc)) - numpy.repeat(sizes.cumsum() - sizes, sizes)
    offsets = layer.dilation * numpy.arange(-layer.window, layer.window + 1)
    reads = (place - docs.after + docs.before)[:, None] + offsets
    beyond = (reads < 0) | (reads >= lengths[doc][:, None])
    reads += docs.pad + (lengths.cumsum() - lengths)[doc][:, None]
    reads[beyond] = 0 if docs.pad else -1
    first = numpy.zeros((int(docs.pad), len(offsets)), dtype="int64")
    return numpy.concatenate([first, reads])


def _windows(X: Array, reads: numpy.ndarray) -> Array:
    """Put the rows of each window side by side: (N, nI) -> (M, S * nI)."""
    if reads.shape[1] == 1:
        return X
    xp = get_array_module(X)
    if (reads < 0).any():
        X = xp.concatenate([X, xp.zeros((1, X.shape[1]), dtype="float32")])
    return X[xp.asarray(reads)].reshape(len(reads), reads.shape[1] * X.shape[1])


def _centre(windows: Array, nI: int) -> Array:
    """View the row in the centre of each window: (M, S * nI) -> (M, nI)."""
    start = windows.shape[1] // nI // 2 * nI
    return windows[:, start : start + nI]
