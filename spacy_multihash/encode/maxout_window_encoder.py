"""Context by windows: residual Maxout layers over a token and its neighbours."""

from collections.abc import Callable
from typing import Optional

from thinc.api import Model
from thinc.types import Floats2d
from thinc.util import ArrayInfo

from ..common.nodes import Pinned, no_backprop
from ..common.types import Array
from ..compute.dropout_masks import draw_mask
from ..compute.maxout import Cache, Docs, Layer, backward
from ..compute.maxout import forward as maxout_forward
from ..compute.maxout_norm import MaxoutNorm, gradients, parameters
from .docs import EncoderModel, encode_at_once, join_docs, split_docs

NAME = "maxout_window_encoder"


def MaxoutWindowEncoder(nO: int, *, window_size: int, nP: int, depth: int) -> EncoderModel:
    """Encode each token together with its neighbours, in `depth` residual layers.

    It's equivalent to spacy.MaxoutWindowEncoder.v2, with the same padding around docs:

        X_(l+1)[i] = X_l[i] + MaxoutNorm_l([X_l[i-w], ..., X_l[i], ..., X_l[i+w]])

    Xs [(len(doc), nO) float32] -> Ys [(len(doc), nO) float32].

    nO (int): Width of input and result.
    window_size (int): Number of neighbours on each side, w.
    nP (int): Number of maxout pieces.
    depth (int): Number of layers.

    Raises ValueError if an input or gradient has the wrong shape.
    """
    layers = [MaxoutNorm(nO, nO * (2 * window_size + 1), nP=nP) for _ in range(depth)]
    return Model(
        NAME,
        forward,
        init=init,
        layers=layers,
        dims={"nO": nO, "nI": nO},
        attrs={"window_size": Pinned(window_size), "dropout_rate": 0.0},
    )


def forward(
    model: EncoderModel, Xs: list[Floats2d], is_train: bool
) -> tuple[list[Floats2d], Callable]:
    """Compute all layers.

    spacy.MaxoutWindowEncoder.v2 puts depth * window_size rows of zeros around each doc, and
    computes all of them in all layers. They don't stay zero, but most of them are equal or unused:
    after layer l, a row further than l * window_size from the doc has seen nothing of it, and
    nothing reads a row further than (depth - l) * window_size. So one row replaces equal rows, and
    unused rows are left out.
    """
    nO, depth, window = model.get_dim("nO"), len(model.layers), model.attrs["window_size"].value
    X, lengths = join_docs(model.ops, Xs, nO)
    layers = [
        Layer(*parameters(layer), window=window, residual=True, name=NAME) for layer in model.layers
    ]
    at_once = None if is_train else encode_at_once(X, layers, lengths, pad=True)
    if at_once is not None:
        return split_docs(at_once, Xs), no_backprop(NAME)
    padding = [window * min(layer, depth - layer) for layer in range(depth + 1)]
    shapes = [
        Docs(lengths, before, after, pad=True)
        for before, after in zip(padding, padding[1:], strict=False)
    ]
    rate = model.attrs["dropout_rate"] if is_train else 0.0
    rows: Array = model.ops.xp.concatenate([model.ops.alloc2f(1, nO), X])
    caches: list[tuple[Array, Optional[Cache], Optional[Array]]] = []
    for layer, docs in zip(layers, shapes, strict=True):
        mask = draw_mask(model.ops, (docs.rows, nO), rate)
        Y, cache = maxout_forward(rows, layer, docs, mask=mask, is_train=is_train)
        caches.append((rows, cache, mask))
        rows = Y
    Y_info = ArrayInfo.from_array(rows)

    def backprop(dYs: list[Floats2d]) -> list[Floats2d]:
        dY = model.ops.xp.concatenate([model.ops.alloc2f(1, nO), join_docs(model.ops, dYs, nO)[0]])
        Y_info.check_consistency(dY)
        steps = zip(model.layers, layers, shapes, caches, strict=True)
        for node, layer, docs, (X, cache, mask) in reversed(list(steps)):
            dY = backward(dY, X, layer, docs, cache, gradients(node), mask=mask)
        return split_docs(dY[1:], Xs)

    return split_docs(rows[1:], Xs), backprop if is_train else no_backprop(NAME)


def init(
    model: EncoderModel, X: Optional[list[Floats2d]] = None, Y: Optional[list[Floats2d]] = None
) -> None:
    """Draw the weights of all layers, first to last."""
    for layer in model.layers:
        layer.initialize()
