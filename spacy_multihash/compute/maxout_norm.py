"""Maxout with layer normalization as one layer, in few passes over memory."""

from collections.abc import Callable, Sequence
from typing import Any, Optional

import numpy
from thinc.api import Model, glorot_uniform_init
from thinc.types import Floats2d
from thinc.util import ArrayInfo

from ..common.checks import MAX_SIZE, check_whole
from ..common.nodes import no_backprop
from ..common.types import Array
from .array_ops import Docs, Layer, for_kernel
from .ops import operations

NAME = "maxout_norm"
PARAMS = ("W", "b", "G", "beta")
MAX_PIECES = 256  # training keeps the number of the largest piece in 8 bits


def MaxoutNorm(nO: int, nI: Optional[int], *, nP: int = 3) -> Model[Floats2d, Floats2d]:
    """Take the largest of nP linear functions (maxout), and normalize each row of the result.

    The function and the initial weights are the same as with thinc's
    Maxout(nO, nI, nP, normalize=True) without dropout, in a single node.

        Y = norm(max_p(X W_p + b_p)) * G + beta,  norm(y) = (y - mean(y)) / sqrt(var(y) + 1e-8)

    X (N, nI) float32 -> Y (N, nO) float32. W (nO, nP, nI), b (nO, nP), G (nO,), beta (nO,).

    nO (int): Width of the result.
    nI (Optional[int]): Width of the input. None takes the width of the sample at initialization.
    nP (int): Number of pieces, 1 to 256.

    Raises ValueError for dimensions out of range, and for an input or a gradient of another width.
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
        params=dict.fromkeys(PARAMS),
    )


def forward(
    model: Model[Floats2d, Floats2d], X: Floats2d, is_train: bool
) -> tuple[Floats2d, Callable]:
    """Compute all rows at once."""
    nI = model.get_dim("nI")
    if X.ndim != 2 or X.shape[1] != nI:
        raise ValueError(
            f"Layer 'maxout_norm' expects an input of shape (N, {nI}), got shape {X.shape}. "
            "Build it with the width of the layers before it."
        )
    X = for_kernel(model.ops, X, "float32")
    layer, docs = Layer(*parameters(model), name=NAME), Docs(numpy.array([len(X)]))
    ops = operations(model.ops)
    Y, cache = ops.window_maxout(X, layer, docs, is_train=is_train)
    Y_info = ArrayInfo.from_array(Y)

    if cache is None:
        return Y, no_backprop(NAME)

    def backprop(dY: Floats2d) -> Floats2d:
        dY = for_kernel(model.ops, dY, "float32")
        Y_info.check_consistency(dY)
        return ops.backprop_window_maxout(dY, X, layer, docs, cache, gradients(model))

    return Y, backprop


def init(
    model: Model[Floats2d, Floats2d], X: Optional[Floats2d] = None, Y: Optional[Floats2d] = None
) -> None:
    """Draw W Glorot-uniform. The bias is 0, and the norm has a gain of 1 and no shift."""
    if X is not None and not model.has_dim("nI"):
        model.set_dim("nI", X.shape[1])
    nO, nP, nI = (model.get_dim(dim) for dim in ("nO", "nP", "nI"))
    model.set_param("W", glorot_uniform_init(model.ops, (nO, nP, nI)))
    model.set_param("b", model.ops.alloc2f(nO, nP))
    model.set_param("G", model.ops.alloc1f(nO) + 1)
    model.set_param("beta", model.ops.alloc1f(nO))


def parameters(
    model: Model, get: Callable[[Model, str], Any] = Model.get_param
) -> tuple[Array, Array, Array, Array]:
    """Return the parameters of a MaxoutNorm: W, b, G and beta.

    get (Callable): Reads a parameter; a plan's `Reading.param` notes where it was.
    """
    return get(model, "W"), get(model, "b"), get(model, "G"), get(model, "beta")


def gradients(model: Model, names: Sequence[str] = PARAMS) -> tuple[Array, ...]:
    """Return the gradients of parameters, to add to in place."""
    for name in names:
        if not model.has_grad(name):
            model.set_grad(name, model.ops.alloc(model.get_param(name).shape))
    return tuple(model.get_grad(name) for name in names)
