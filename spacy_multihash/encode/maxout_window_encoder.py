"""Context by windows: residual Maxout layers over a token and its neighbours."""

from collections.abc import Callable
from typing import Any, Optional

from thinc.api import Model
from thinc.types import Floats2d
from thinc.util import ArrayInfo

from ..common.nodes import Pinned, bound, no_backprop
from ..common.types import Array, EncoderModel
from ..compute.array_ops import ArrayOps, Layer, docs_between, join_docs, split_docs
from ..compute.maxout_norm import MaxoutNorm, gradients, parameters
from ..compute.ops import operations
from ..compute.plans import Plan, Reading

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
        bound(forward, Plan()),
        init=init,
        layers=layers,
        dims={"nO": nO, "nI": nO},
        attrs={"window_size": Pinned(window_size), "dropout_rate": 0.0},
    )


def forward(
    plan: Plan, model: EncoderModel, Xs: list[Floats2d], is_train: bool
) -> tuple[list[Floats2d], Callable]:
    """Compute all layers: in one call in prediction, layer by layer in training."""
    ops, nO = operations(model.ops), model.get_dim("nO")
    (X, lengths), sizes = join_docs(ops, Xs, nO), [*map(len, Xs)]
    layers, encoder = plan.of(model, ops, _read_layers)
    if not is_train:
        return split_docs(ops.encode(X, encoder, lengths), sizes), no_backprop(NAME)
    shapes, rate = docs_between(layers, lengths, pad=True), model.attrs["dropout_rate"]
    Y: Array = ops.xp.concatenate([ops.alloc2f(1, nO), X])
    caches: list[tuple[Array, Any, Optional[Array]]] = []
    for layer, docs in zip(layers, shapes, strict=True):
        X, mask = Y, ops.draw_mask((docs.rows, nO), rate)
        Y, cache = ops.window_maxout(X, layer, docs, mask=mask, is_train=True)
        caches.append((X, cache, mask))
    Y_info = ArrayInfo.from_array(Y)

    def backprop(dYs: list[Floats2d]) -> list[Floats2d]:
        dY = ops.xp.concatenate([ops.alloc2f(1, nO), join_docs(ops, dYs, nO)[0]])
        Y_info.check_consistency(dY)
        steps = zip(model.layers, layers, shapes, caches, strict=True)
        for node, layer, docs, (X, cache, mask) in reversed(list(steps)):
            d_params = gradients(node)
            dY = ops.backprop_window_maxout(dY, X, layer, docs, cache, d_params, mask=mask)
        return split_docs(dY[1:], sizes)

    return split_docs(Y[1:], sizes), backprop


def _read_layers(ops: ArrayOps, reading: Reading, model: EncoderModel) -> tuple[list[Layer], Any]:
    window = reading.attr(model, "window_size").value
    layers = [
        Layer(*parameters(layer, reading.param), window=window, residual=True, name=NAME)
        for layer in reading.layers(model)
    ]
    return layers, ops.encoder(layers, pad=True)


def init(
    model: EncoderModel, X: Optional[list[Floats2d]] = None, Y: Optional[list[Floats2d]] = None
) -> None:
    """Draw the weights of all layers, first to last."""
    for layer in model.layers:
        layer.initialize()
