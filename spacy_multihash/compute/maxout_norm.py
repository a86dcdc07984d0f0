"""Maxout with layer normalization as one layer, in few passes over memory."""

from collections.abc import Callable
from typing import Optional, Union, cast

from thinc.api import Model, glorot_uniform_init
from thinc.types import Floats2d
from thinc.util import ArrayInfo

from ..common.checks import MAX_SIZE, check_whole
from ..common.memory import check_memory
from ..common.types import Array
from .chunks import row_chunks
from .matmul import MANY_ROWS
from .maxout import (
    Gradients,
    empty_tape,
    maxout_norm,
    maxout_norm_backward,
    norm_of_sums,
    weights_of,
)
from .side_by_side import SideBySide, add_up, products
from .threads import map_chunks

NAME = "maxout_norm"
MAX_PIECES = 256  # training keeps the number of the largest piece in 8 bits


def MaxoutNorm(nO: int, nI: Optional[int], *, nP: int = 3) -> Model[Floats2d, Floats2d]:
    """Take the largest of nP linear functions (maxout), and normalize each row of the result.

    The function and the initial weights are those of thinc's Maxout(nO, nI, nP, normalize=True)
    without dropout, in a single node.

        Y = norm(max_p(X W_p + b_p)) * G + beta,  norm(y) = (y - mean(y)) / sqrt(var(y) + 1e-8)

    X (N, nI) float32 -> Y (N, nO) float32. W (nO, nP, nI), b (nO, nP), G (nO,), beta (nO,).

    nO (int): Width of the result.
    nI (Optional[int]): Width of the input. None takes that of the sample at initialization.
    nP (int): Number of pieces, 1 to 256.

    Raises ValueError for dimensions out of range, for an input or a gradient of another width, and
    at initialization for weights beyond the memory.
    """
    check_whole(f"Layer '{NAME}'", "nO", nO, 1, MAX_SIZE)
    check_whole(f"Layer '{NAME}'", "nP", nP, 1, MAX_PIECES)
    if nI is not None:
        check_whole(f"Layer '{NAME}'", "nI", nI, 1)
    return Model(
        NAME,
        forward,
        init=init,
        dims={"nO": nO, "nI": nI, "nP": nP},
        params={"W": None, "b": None, "G": None, "beta": None},
    )


def forward(
    model: Model[Floats2d, Floats2d], X: Union[Floats2d, SideBySide], is_train: bool
) -> tuple[Floats2d, Callable]:
    """Compute chunk by chunk."""
    nI, nO = model.get_dim("nI"), model.get_dim("nO")
    if X.ndim != 2 or X.shape[1] != nI:
        raise ValueError(
            f"Layer 'maxout_norm' expects an input of shape (N, {nI}), was given shape {X.shape}. "
            "Build it with the width of the layers before it."
        )
    if isinstance(X, SideBySide):
        return _predict_parts(model, X)
    X = model.ops.as_contig(X, dtype="float32")
    weights = weights_of(model, len(X))
    Y = model.ops.alloc2f(len(X), nO, zeros=False)
    tape = empty_tape(Y) if is_train else None
    chunks = row_chunks(X)

    def compute(rows: slice) -> None:
        maxout_norm(X[rows], weights, Y[rows], tape and tape.rows(rows))

    map_chunks(model.ops, compute, chunks)
    Y_info = ArrayInfo.from_array(Y)

    def backprop(dY: Floats2d) -> Floats2d:
        if tape is None:
            return _refuse_to_go_back(dY)
        dY = model.ops.as_contig(dY, dtype="float32")
        Y_info.check_consistency(dY)
        dX = model.ops.alloc2f(len(X), nI, zeros=False)

        def differentiate(rows: slice) -> Gradients:
            return maxout_norm_backward(dY[rows], X[rows], weights, tape.rows(rows), dX[rows])

        for gradients in map_chunks(model.ops, differentiate, chunks):
            add_gradients(model, gradients)
        return dX

    return Y, backprop


def _predict_parts(model: Model[Floats2d, Floats2d], X: SideBySide) -> tuple[Floats2d, Callable]:
    """Multiply the distinct rows of each part, then add up and normalize chunk by chunk."""
    weights = weights_of(model, max(len(X), MANY_ROWS))
    parts = products(model.ops, X, cast(Array, weights.by_piece))
    Y = model.ops.alloc2f(len(X), model.get_dim("nO"), zeros=False)

    def compute(rows: slice) -> None:
        norm_of_sums(add_up(parts, rows), weights, Y[rows])

    map_chunks(model.ops, compute, row_chunks(parts[0].places))
    return Y, _refuse_to_go_back


def _refuse_to_go_back(dY: Floats2d) -> Floats2d:
    raise ValueError("Layer 'maxout_norm' cannot go back from a prediction: train instead.")


def init(
    model: Model[Floats2d, Floats2d], X: Optional[Floats2d] = None, Y: Optional[Floats2d] = None
) -> None:
    """Draw W Glorot-uniform. The bias is zero, and the norm has a gain of one and no shift."""
    if X is not None and not model.has_dim("nI"):
        model.set_dim("nI", X.shape[1])
    nO, nP, nI = (model.get_dim(dim) for dim in ("nO", "nP", "nI"))
    advice = "Take a smaller width, or fewer maxout pieces, in the config."
    check_memory(f"Layer '{NAME}'", [(nO, nP, nI)], advice)
    model.set_param("W", glorot_uniform_init(model.ops, (nO, nP, nI)))
    model.set_param("b", model.ops.alloc2f(nO, nP))
    model.set_param("G", model.ops.alloc1f(nO) + 1)
    model.set_param("beta", model.ops.alloc1f(nO))


def add_gradients(model: Model, gradients: Gradients) -> None:
    """Add the gradients of a chunk to the gradients of a MaxoutNorm."""
    for param, d_param in zip(("W", "b", "G", "beta"), gradients, strict=True):
        model.inc_grad(param, d_param.reshape(model.get_param(param).shape))
