"""Maxout over windows of rows, with layer normalization: parameters, docs and windows.

    sums    =  W_p window(X)_i + b_p, for each piece p
    Y_i     =  norm(max_p sums) * G + beta, times a mask of dropout, plus X_i

Each of the steps after the sums is optional. `window_maxout` of the operations computes them: array
code in array_ops.py, kernels in ops.py.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Optional

import numpy

from ..common.types import Array


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


# The gradients of a layer's params, to add to in place.
Gradients = tuple[Array, Array, Optional[Array], Optional[Array]]


def docs_between(layers: Sequence[Layer], lengths: numpy.ndarray, *, pad: bool) -> list[Docs]:
    """List the rows before and after each layer of an encoder.

    spacy.MaxoutWindowEncoder.v2 puts depth * window rows of zeros around each doc, and computes all
    of them in all layers. They don't stay zero, but most of them are equal or unused: after layer
    l, a row further than l * window from the doc has seen nothing of it, and nothing reads a row
    further than (depth - l) * window. So one row replaces equal rows, and unused rows are left out.

    lengths (D,) int64: The numbers of tokens of the docs.
    pad (bool): Whether docs have padding around them as in spaCy's encoder, instead of zeros.
    """
    if not pad:
        return [Docs(lengths)] * len(layers)
    depth, window = len(layers), layers[0].window
    padding = [window * min(layer, depth - layer) for layer in range(depth + 1)]
    return [
        Docs(lengths, before, after, pad=True)
        for before, after in zip(padding, padding[1:], strict=False)
    ]


def reads_of(docs: Docs, layer: Layer) -> numpy.ndarray:
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


def windows_of(xp: Any, X: Array, reads: numpy.ndarray) -> Array:  # noqa: ANN401
    """Put the rows of each window side by side: (N, nI) -> (M, S * nI)."""
    if reads.shape[1] == 1:
        return X
    if (reads < 0).any():
        X = xp.concatenate([X, xp.zeros((1, X.shape[1]), dtype="float32")])
    return X[xp.asarray(reads)].reshape(len(reads), reads.shape[1] * X.shape[1])


def centre_of(windows: Array, nI: int) -> Array:
    """View the row in the centre of each window: (M, S * nI) -> (M, nI)."""
    start = windows.shape[1] // nI // 2 * nI
    return windows[:, start : start + nI]
