"""Context by windows: residual Maxout layers over a token and its neighbours."""

from collections.abc import Callable
from typing import Any, Optional

from thinc.api import Model
from thinc.types import Floats2d
from thinc.util import ArrayInfo

from ..common.nodes import Pinned, bound, no_backprop
from ..common.types import Array
from ..compute.array_ops import ArrayOps
from ..compute.dropout_masks import draw_mask
from ..compute.maxout import Layer, docs_between
from ..compute.maxout_norm import MaxoutNorm, gradients, parameters
from ..compute.ops import operations
from ..compute.plans import READING, Plan, Reading
from .docs import EncoderModel, join_docs, split_docs

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
    X, lengths = join_docs(ops, Xs, nO)
    if not is_train:
        encoder = plan.of(model, ops, _read_encoder)
        return split_docs(ops.encode(X, encoder, lengths), Xs), no_backprop(NAME)
    layers = _read_layers(READING, model)
    shapes, rate = docs_between(layers, lengths, pad=True), model.attrs["dropout_rate"]
    rows: Array = ops.xp.concatenate([ops.alloc2f(1, nO), X])
    caches: list[tuple[Array, Any, Optional[Array]]] = []
    for layer, docs in zip(layers, shapes, strict=True):
        mask = draw_mask(ops, (docs.rows, nO), rate)
        Y, cache = ops.window_maxout(rows, layer, docs, mask=mask, is_train=True)
        caches.append((rows, cache, mask))
        rows = Y
    Y_info = ArrayInfo.from_array(rows)

    def backprop(dYs: list[Floats2d]) -> list[Floats2d]:
        dY = ops.xp.concatenate([ops.alloc2f(1, nO), join_docs(ops, dYs, nO)[0]])
        Y_info.check_consistency(dY)
        steps = zip(model.layers, layers, shapes, caches, strict=True)
        for node, layer, docs, (X, cache, mask) in reversed(list(steps)):
            d_params = gradients(node)
            dY = ops.backprop_window_maxout(dY, X, layer, docs, cache, d_params, mask=mask)
        return split_docs(dY[1:], Xs)

    return split_docs(rows[1:], Xs), backprop


def _read_encoder(ops: ArrayOps, reading: Reading, model: EncoderModel) -> Any:  # noqa: ANN401
    return ops.encoder(_read_layers(reading, model), pad=True)


def _read_layers(reading: Reading, model: EncoderModel) -> list[Layer]:
    window = reading.attr(model, "window_size").value
    return [
        Layer(*parameters(layer, reading.param), window=window, residual=True, name=NAME)
        for layer in reading.layers(model)
    ]


def init(
    model: EncoderModel, X: Optional[list[Floats2d]] = None, Y: Optional[list[Floats2d]] = None
) -> None:
    """Draw the weights of all layers, first to last."""
    for layer in model.layers:
        layer.initialize()
