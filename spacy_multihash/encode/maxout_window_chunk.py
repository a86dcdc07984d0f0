"""All layers of a MaxoutWindowEncoder on one chunk of a batch, forward and back."""

from collections.abc import Sequence
from typing import NamedTuple, Optional

from thinc.api import get_array_module

from ..common.types import Array
from ..compute.buffers import gather_windows, scratch
from ..compute.dropout_masks import DrawMask
from ..compute.maxout import (
    Gradients,
    MaxoutTape,
    Weights,
    empty_tape,
    maxout_norm,
    maxout_norm_backward,
)


class LayerTape(NamedTuple):
    """What the way back needs of one layer that computed M rows from N."""

    before: Array  # (N, W), the rows that its windows read
    reads: Array  # (M, 2 * window_size + 1), see `Layout`
    maxout: MaxoutTape
    mask: Optional[Array]  # (M, W), dropout


def encode(X: Array, reads: Sequence[Array], weights: Sequence[Weights]) -> Array:
    """Compute the tokens of a chunk, for prediction.

    X (N, W) float32, row 0 zeros -> (M, W) float32, row 0 padding, valid until the next call.
    """
    for layer, (layer_weights, rows) in enumerate(zip(weights, reads, strict=True)):
        windows = gather_windows(X, rows)
        # There are two buffers: a layer reads one and writes the other.
        Y = scratch(f"rows{layer % 2}", (len(rows), X.shape[1]), X)
        maxout_norm(windows, layer_weights, Y)
        Y += _centre(windows, X.shape[1])
        del windows  # the next layer takes the memory again
        X = Y
    return X


def encode_training(
    X: Array, reads: Sequence[Array], weights: Sequence[Weights], draw_mask: DrawMask
) -> tuple[Array, list[LayerTape]]:
    """Compute the tokens of a chunk, and keep what the way back needs."""
    tapes = []
    for layer_weights, rows in zip(weights, reads, strict=True):
        windows = gather_windows(X, rows)
        Y = get_array_module(X).empty((len(rows), X.shape[1]), dtype="float32")
        maxout_tape = empty_tape(Y)
        maxout_norm(windows, layer_weights, Y, maxout_tape)
        mask = draw_mask(Y.shape)
        if mask is not None:
            Y *= mask
        Y += _centre(windows, X.shape[1])
        del windows
        tapes.append(LayerTape(X, rows, maxout_tape, mask))
        X = Y
    return X, tapes


def encode_backward(
    dY: Array, tapes: Sequence[LayerTape], weights: Sequence[Weights]
) -> tuple[Array, list[Gradients]]:
    """Go back: dY (M, W), row 0 zeros -> dX (N, W), and the gradients of each layer in order.

    Row 0 of dX is the gradient of the padding.
    """
    gradients = []
    for tape, layer_weights in zip(reversed(tapes), reversed(weights), strict=True):
        windows = gather_windows(tape.before, tape.reads)
        # One row more than there are windows, for `_scatter`.
        padded = scratch("d_windows", (tape.reads.size + 1, dY.shape[1]), dY)
        d_windows = padded[:-1].reshape(windows.shape)
        d_inner = dY if tape.mask is None else dY * tape.mask
        gradients.append(
            maxout_norm_backward(d_inner, windows, layer_weights, tape.maxout, d_windows)
        )
        _centre(d_windows, dY.shape[1])[:] += dY  # the residual connection
        dY = _scatter(padded, tape.reads, len(tape.before))
        del windows, padded, d_windows
    return dY, gradients[::-1]


def _scatter(padded: Array, reads: Array, N: int) -> Array:
    """Add up the gradients of each row from all windows that read it: (M * C + 1, W) -> (N, W).

    A row other than row 0 stands at most once in each column of `reads`. So its gradients can be
    gathered in a fixed order instead of scattered. The last row of `padded`, which is set to zero
    here, stands for the columns that a row is not in.
    """
    xp = get_array_module(padded)
    M, C = reads.shape
    padded[-1] = 0
    places = xp.full((C, N), M * C)  # where row n stands in column c
    for column in range(C):
        places[column, reads[:, column]] = xp.arange(column, M * C, C)
    dX = padded[places[0]]
    for column in range(1, C):
        dX += padded[places[column]]
    dX[0] = padded[:-1][reads.reshape(-1) == 0].sum(axis=0)
    return dX


def _centre(windows: Array, W: int) -> Array:
    """View the token in the centre of each window: (M, C * W) -> (M, W)."""
    start = windows.shape[1] // W // 2 * W
    return windows[:, start : start + W]
