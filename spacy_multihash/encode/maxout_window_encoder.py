"""Context by windows: residual Maxout layers over a token and its neighbours.

Prediction and training stand side by side: what changes in one has to change in the other.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Optional

from thinc.api import Model
from thinc.types import Floats2d

from ..common.pinned import Pinned
from ..compute.chunks import CHUNK, GPU_CHUNK, TRAINING_CHUNK, on_cpu
from ..compute.dropout_masks import DrawMask, mask_drawers
from ..compute.maxout import Gradients, Weights, weights_of
from ..compute.maxout_norm import MaxoutNorm, add_gradients
from ..compute.threads import map_chunks, map_few
from .maxout_window_chunk import LayerTape, encode, encode_backward, encode_training
from .segments import Chunk, Extent, add_rows, check_shapes, read_rows, split_docs, split_rows
from .windows import Layout, lay_out

EncoderModel = Model[list[Floats2d], list[Floats2d]]

NAME = "maxout_window_encoder"


class WindowChunkTape(NamedTuple):
    """What the way back needs of one chunk that went through all layers."""

    chunk: Chunk
    extents: list[Extent]
    layers: list[LayerTape]


def MaxoutWindowEncoder(nO: int, *, window_size: int, nP: int, depth: int) -> EncoderModel:
    """Encode each token together with its neighbours, in `depth` residual layers.

    The function is that of spacy.MaxoutWindowEncoder.v2, with the same padding around docs:

        X_(l+1)[i] = X_l[i] + MaxoutNorm_l([X_l[i-w], ..., X_l[i], ..., X_l[i+w]])

    A chunk of docs goes through all layers at once. So the memory of prediction does not grow with
    the batch, except for its output. Training keeps what the way back needs.

    Xs [(len(doc), nO) float32] -> Ys [(len(doc), nO) float32].

    nO (int): Width of input and result.
    window_size (int): Number of neighbours on each side, w.
    nP (int): Number of maxout pieces.
    depth (int): Number of layers.

    Raises ValueError for an input or a gradient of another shape.
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
    """Compute chunks of docs through all layers."""
    check_shapes(model, "an input", Xs, [(len(X), model.get_dim("nO")) for X in Xs])
    tokens = sum(map(len, Xs))
    weights = [weights_of(layer, tokens) for layer in model.layers]
    return _begin_update(model, Xs, weights) if is_train else _predict(model, Xs, weights)


def init(
    model: EncoderModel, X: Optional[list[Floats2d]] = None, Y: Optional[list[Floats2d]] = None
) -> None:
    """Draw the weights of all layers, first to last."""
    for layer in model.layers:
        layer.initialize()


def _predict(
    model: EncoderModel, Xs: list[Floats2d], weights: Sequence[Weights]
) -> tuple[list[Floats2d], Callable]:
    Y = _empty(model, Xs)

    def predict(chunk: Chunk) -> None:
        layout = _lay_out(model, chunk)
        X = read_rows(Xs, chunk, layout.extents)
        Y[chunk.start : chunk.end] = encode(X, layout.reads, weights)[1:]

    map_chunks(model.ops, predict, _chunks(model, Xs, CHUNK))
    return split_rows(Y, Xs), _no_way_back


def _begin_update(
    model: EncoderModel, Xs: list[Floats2d], weights: Sequence[Weights]
) -> tuple[list[Floats2d], Callable]:
    Y = _empty(model, Xs)
    chunks = _chunks(model, Xs, TRAINING_CHUNK)
    masks = mask_drawers(model.ops, model.attrs["dropout_rate"], len(chunks))

    def train(task: tuple[Chunk, DrawMask]) -> WindowChunkTape:
        chunk, draw_mask = task
        layout = _lay_out(model, chunk)
        X = read_rows(Xs, chunk, layout.extents)
        rows, layer_tapes = encode_training(X, layout.reads, weights, draw_mask)
        Y[chunk.start : chunk.end] = rows[1:]
        return WindowChunkTape(chunk, layout.extents, layer_tapes)

    tapes = map_chunks(model.ops, train, list(zip(chunks, masks, strict=True)))

    def backprop(dYs: list[Floats2d]) -> list[Floats2d]:
        check_shapes(model, "a gradient", dYs, [X.shape for X in Xs])

        def differentiate(tape: WindowChunkTape) -> tuple[Floats2d, list[Gradients]]:
            tokens = [(segment.start, segment.end) for segment in tape.chunk.segments]
            return encode_backward(read_rows(dYs, tape.chunk, tokens), tape.layers, weights)

        dX = model.ops.alloc2f(*Y.shape)
        for tape, (rows, gradients) in map_few(model.ops, differentiate, tapes):
            add_rows(rows, tape.chunk, tape.extents, dX)
            for layer, layer_gradients in zip(model.layers, gradients, strict=True):
                add_gradients(layer, layer_gradients)
        return split_rows(dX, Xs)

    return split_rows(Y, Xs), backprop


def _no_way_back(dYs: list[Floats2d]) -> list[Floats2d]:
    raise ValueError(
        f"Layer '{NAME}' cannot go back from a prediction, which keeps nothing for the way back. "
        "Call begin_update, or call the model with is_train=True."
    )


def _chunks(model: EncoderModel, Xs: list[Floats2d], size: int) -> list[Chunk]:
    return split_docs([len(X) for X in Xs], size if on_cpu(model.ops) else GPU_CHUNK)


def _lay_out(model: EncoderModel, chunk: Chunk) -> Layout:
    extents, reads = lay_out(chunk.segments, len(model.layers), model.attrs["window_size"].value)
    return Layout(extents, [model.ops.asarray(rows) for rows in reads])


def _empty(model: EncoderModel, Xs: list[Floats2d]) -> Floats2d:
    return model.ops.alloc2f(sum(map(len, Xs)), model.get_dim("nO"), zeros=False)
