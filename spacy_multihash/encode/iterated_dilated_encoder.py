"""Wide context with few parameters: a stack of dilated convolutions, applied repeatedly.

Prediction and training stand side by side: what changes in one has to change in the other.
"""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Optional

from thinc.api import LayerNorm, Linear, Model
from thinc.types import Floats2d, Floats3d

from ..common.memory import check_memory
from ..common.nodes import LINEAR
from ..common.pinned import Pinned
from ..common.types import Array
from ..compute.convolution import Gradients, lay_out_weights
from ..compute.dropout_masks import DrawMask, mask_drawers
from ..compute.threads import map_chunks, map_few
from .dilated_layout import DilatedLayout, Field, cut_chunks, lay_out_dilated
from .dilated_stack import (
    StepTape,
    Walk,
    encode_dilated,
    encode_dilated_backward,
    encode_dilated_training,
    plan_steps,
)
from .initializers import identity_init, residual_init
from .segments import Chunk, add_rows, check_shapes, read_rows, split_rows

EncoderModel = Model[list[Floats2d], list[Floats2d]]
# Gradients of the passes, (N, nO) or None each -> gradients of the input, [(len(doc), nI)].
PassesBackprop = Callable[[Sequence[Optional[Floats2d]]], list[Floats2d]]

NAME = "iterated_dilated_encoder"


class DilatedChunkTape(NamedTuple):
    """What the way back needs of one chunk that went through all steps."""

    chunk: Chunk
    layout: DilatedLayout
    steps: list[StepTape]


def IteratedDilatedEncoder(
    nO: int,
    *,
    dilations: list[int],
    repeats: int,
    window_size: int,
    share: bool = True,
    residual: bool = False,
    normalize: bool = False,
) -> EncoderModel:
    """Encode each token in its context, by iterated dilated convolutions (Strubell et al. 2017).

    D_d is a convolution that reads the tokens at distances -w * d, ..., -d, 0, d, ..., w * d
    (equation 4). In every layer, it reads zeros beyond the ends of a doc.

        first convolution  Y = D_1 X                                (equation 5)
        in the stack       Y = relu(D_d Y), for each dilation d     (equations 6 and 7)
        repeats            the stack again, on its own result       (equation 8)

    The result is that of the last pass; `begin_passes` returns the result of each pass.

    Xs [(len(doc), nI) float32] -> Ys [(len(doc), nO) float32].

    nO (int): Width of the result. The width of the input is found at initialization.
    dilations (list[int]): The dilation of each convolution of the stack.
    repeats (int): Number of passes through the stack.
    window_size (int): Number of tokens on each side that a convolution reads, w.
    share (bool): Whether all passes have the same parameters.
    residual (bool): Whether each convolution of the stack adds its result to its input.
    normalize (bool): Whether the result of each convolution is normalized, after ReLU and before
        the input is added.

    Initial weights: a convolution whose input is as wide as its result starts as the identity on
    the token itself (appendix A.1). Other weights are drawn Glorot-uniform, and so are the weights
    of convolutions with residual connections, which are an identity already. If the results of
    residual convolutions are not normalized, their weights are divided by the number of results
    that are added up.

    Raises ValueError for an input or a gradient of another shape.
    """
    columns = 2 * window_size + 1
    identity = identity_init(columns)
    inner = identity
    if residual:
        inner = residual_init(1 if normalize else repeats * len(dilations))
    convolutions = [Linear(nO, init_W=identity)] + [
        Linear(nO, nO * columns, init_W=inner)
        for _ in range((1 if share else repeats) * len(dilations))
    ]
    norms = [LayerNorm(nO) for _ in convolutions] if normalize else []
    return Model(
        NAME,
        forward,
        init=init,
        layers=[*convolutions, *norms],
        dims={"nO": nO, "nI": None},
        attrs={
            "dilations": Pinned(dilations),
            "repeats": Pinned(repeats),
            "window_size": Pinned(window_size),
            "residual": Pinned(int(residual)),
            "dropout_rate": 0.0,
        },
    )


def forward(
    model: EncoderModel, Xs: list[Floats2d], is_train: bool
) -> tuple[list[Floats2d], Callable]:
    """Compute chunks of docs through all convolutions; the result is that of the last pass."""
    if not is_train:
        return _predict(model, Xs), _no_way_back
    passes, backprop_passes = begin_passes(model, Xs)

    def backprop(dYs: list[Floats2d]) -> list[Floats2d]:
        check_shapes(model, "a gradient", dYs, [(len(X), model.get_dim("nO")) for X in Xs])
        d_last = model.ops.xp.concatenate(dYs) if dYs else passes[-1]
        return backprop_passes([None] * (len(passes) - 1) + [d_last])

    return split_rows(passes[-1], Xs), backprop


def init(
    model: EncoderModel, X: Optional[list[Floats2d]] = None, Y: Optional[list[Floats2d]] = None
) -> None:
    """Fill the weights of all convolutions, first to last.

    Raises ValueError for weights beyond the memory.
    """
    if X:
        model.set_dim("nI", X[0].shape[1])
    elif not model.has_dim("nI"):
        model.set_dim("nI", model.get_dim("nO"))
    model.layers[0].set_dim("nI", model.get_dim("nI") * _columns(model))
    shapes = [(layer.get_dim("nO"), layer.get_dim("nI")) for layer in _convolutions(model)]
    advice = "Take a smaller width or window_size, or fewer dilations or repeats, in the config."
    check_memory(f"Layer '{NAME}'", shapes, advice)
    for layer in model.layers:
        layer.initialize()


def field_of(model: EncoderModel) -> Field:
    """Return the receptive field of an encoder."""
    dilations, repeats, window_size = (
        model.attrs[name].value for name in ("dilations", "repeats", "window_size")
    )
    return Field(tuple(dilations), repeats, window_size)


def begin_passes(model: EncoderModel, Xs: list[Floats2d]) -> tuple[Floats3d, PassesBackprop]:
    """Begin an update: compute the vectors of all N tokens after each pass.

    Xs [(len(doc), nI) float32] -> (repeats, N, nO) float32. The backprop callback takes the
    gradient of each pass, (N, nO) float32, or None if a pass has none. It returns the gradients of
    the input, [(len(doc), nI) float32].
    """
    _check_input(model, Xs)
    tokens, nO = sum(map(len, Xs)), model.get_dim("nO")
    walk = _plan(model, tokens, is_train=True)
    Y = model.ops.alloc3f(model.attrs["repeats"].value, tokens, nO, zeros=False)
    chunks = cut_chunks(model.ops, Xs, field_of(model), is_train=True)
    masks = mask_drawers(model.ops, model.attrs["dropout_rate"], len(chunks))

    def train(task: tuple[Chunk, DrawMask]) -> DilatedChunkTape:
        chunk, draw_mask = task
        layout = lay_out_dilated(model.ops, chunk, field_of(model))
        X = read_rows(Xs, chunk, layout.extents)
        passes, step_tapes = encode_dilated_training(X, layout.reads, walk, draw_mask)
        for number, rows in enumerate(passes):
            Y[number, chunk.start : chunk.end] = rows[layout.kept]
        return DilatedChunkTape(chunk, layout, step_tapes)

    tapes = map_chunks(model.ops, train, list(zip(chunks, masks, strict=True)))

    def backprop(d_passes: Sequence[Optional[Floats2d]]) -> list[Floats2d]:
        def differentiate(tape: DilatedChunkTape) -> tuple[Array, list[Gradients]]:
            chunk, layout, step_tapes = tape

            def gradient_of(number: int) -> Optional[Array]:
                d_pass = d_passes[number]
                if d_pass is None:
                    return None
                rows = model.ops.alloc2f(len(layout.reads[0]), nO)
                rows[layout.kept] = d_pass[chunk.start : chunk.end]
                return rows

            return encode_dilated_backward(gradient_of, layout.reads, walk, step_tapes)

        dX = model.ops.alloc2f(tokens, model.get_dim("nI"))
        for (chunk, layout, _), (rows, gradients) in map_few(model.ops, differentiate, tapes):
            add_rows(rows, chunk, layout.extents, dX)
            for step, step_gradients in zip(walk.steps, gradients, strict=True):
                _add_gradients(model, step.layer, step_gradients)
        return split_rows(dX, Xs)

    return Y, backprop


def _predict(model: EncoderModel, Xs: list[Floats2d]) -> list[Floats2d]:
    _check_input(model, Xs)
    tokens = sum(map(len, Xs))
    walk = _plan(model, tokens, is_train=False)
    Y = model.ops.alloc2f(tokens, model.get_dim("nO"), zeros=False)

    def predict(chunk: Chunk) -> None:
        layout = lay_out_dilated(model.ops, chunk, field_of(model))
        X = read_rows(Xs, chunk, layout.extents)
        rows = encode_dilated(X, layout.reads, walk)
        Y[chunk.start : chunk.end] = rows[layout.kept]

    map_chunks(model.ops, predict, cut_chunks(model.ops, Xs, field_of(model), is_train=False))
    return split_rows(Y, Xs)


def _no_way_back(dYs: list[Floats2d]) -> list[Floats2d]:
    raise ValueError(
        f"Layer '{NAME}' cannot go back from a prediction, which keeps nothing for the way back. "
        "Call begin_update, or call the model with is_train=True."
    )


def _plan(model: EncoderModel, tokens: int, *, is_train: bool) -> Walk:
    field, convolutions, norms = field_of(model), _convolutions(model), _norms(model)
    weights = [
        lay_out_weights(
            layer.get_param("W"),
            layer.get_param("b"),
            (norms[i].get_param("G"), norms[i].get_param("b")) if norms else None,
            _columns(model),
            tokens,
            is_train=is_train,
        )
        for i, layer in enumerate(convolutions)
    ]
    share = len(convolutions) == 1 + len(field.dilations)
    return Walk(plan_steps(field, share=share), weights, bool(model.attrs["residual"].value))


def _convolutions(model: EncoderModel) -> list[Model]:
    return [layer for layer in model.layers if layer.name == LINEAR]


def _norms(model: EncoderModel) -> list[Model]:
    return model.layers[len(_convolutions(model)) :]


def _add_gradients(model: EncoderModel, layer: int, gradients: Gradients) -> None:
    convolution = model.layers[layer]
    convolution.inc_grad("W", gradients.W)
    convolution.inc_grad("b", gradients.b)
    if gradients.norm is not None:
        for name, gradient in zip(("G", "b"), gradients.norm, strict=True):
            _norms(model)[layer].inc_grad(name, gradient)


def _columns(model: EncoderModel) -> int:
    return 2 * model.attrs["window_size"].value + 1


def _check_input(model: EncoderModel, Xs: list[Floats2d]) -> None:
    check_shapes(model, "an input", Xs, [(len(X), model.get_dim("nI")) for X in Xs])
