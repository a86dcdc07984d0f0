"""Wide context with few parameters: a stack of dilated convolutions, applied repeatedly."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, NamedTuple, Optional, cast

from thinc.api import LayerNorm, Linear, Model, Ops, glorot_uniform_init
from thinc.types import Floats2d
from thinc.util import ArrayInfo

from ..common.arguments import checked
from ..common.nodes import LINEAR, Pinned, bound, no_backprop
from ..common.types import Array, EncoderModel
from ..compute.array_ops import (
    ArrayOps,
    Docs,
    Gradients,
    Layer,
    for_kernel,
    join_docs,
    split_docs,
)
from ..compute.maxout_norm import gradients
from ..compute.ops import operations
from ..compute.plans import READING, Plan, Reading, read_param

# Gradients of the passes, (N, nO) or None each -> gradients of the input, [(len(doc), nI)].
PassesBackprop = Callable[[Sequence[Optional[Floats2d]]], list[Floats2d]]

NAME = "iterated_dilated_encoder"


class Step(NamedTuple):
    """A convolution of an encoder.

    nodes: The convolution and its norm, if any; passes may share them.
    layer: Their parameters.
    ends: Whether it's the last of a pass through the stack.
    """

    nodes: list[Model]
    layer: Layer
    ends: bool


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

    Returns the last pass's result; `begin_passes` returns all passes' results.

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

    Raises ValueError if an input or gradient has the wrong shape.
    """
    columns = 2 * window_size + 1
    identity = partial(_identity_init, columns)
    inner = identity
    if residual:
        inner = partial(_residual_init, 1 if normalize else repeats * len(dilations))
    convolutions = [Linear(nO, init_W=identity)] + [
        Linear(nO, nO * columns, init_W=inner)
        for _ in range((1 if share else repeats) * len(dilations))
    ]
    norms = [LayerNorm(nO) for _ in convolutions] if normalize else []
    return Model(
        NAME,
        bound(forward, Plan()),
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
    plan: Plan, model: EncoderModel, Xs: list[Floats2d], is_train: bool
) -> tuple[list[Floats2d], Callable]:
    """Compute all convolutions, and return the last pass's result."""
    if not is_train:
        ops = operations(model.ops)
        X, lengths = join_docs(ops, Xs, model.get_dim("nI"))
        encoder = plan.of(model, ops, _read_encoder)
        return split_docs(ops.encode(X, encoder, lengths), [*map(len, Xs)]), no_backprop(NAME)
    passes, backprop_passes = begin_passes(model, Xs)
    Y_info = ArrayInfo.from_array(passes[-1])

    def backprop(dYs: list[Floats2d]) -> list[Floats2d]:
        d_last = join_docs(model.ops, dYs, model.get_dim("nO"))[0]
        Y_info.check_consistency(d_last)
        return backprop_passes([None] * (len(passes) - 1) + [d_last])

    return split_docs(passes[-1], [*map(len, Xs)]), backprop


def _read_encoder(ops: ArrayOps, reading: Reading, model: EncoderModel) -> Any:  # noqa: ANN401
    return ops.encoder([step.layer for step in _steps(model, reading)], pad=False)


def init(
    model: EncoderModel, X: Optional[list[Floats2d]] = None, Y: Optional[list[Floats2d]] = None
) -> None:
    """Fill the weights of all convolutions, first to last."""
    if X:
        model.set_dim("nI", X[0].shape[1])
    elif not model.has_dim("nI"):
        model.set_dim("nI", model.get_dim("nO"))
    columns = 2 * model.attrs["window_size"].value + 1
    model.layers[0].set_dim("nI", model.get_dim("nI") * columns)
    for layer in model.layers:
        layer.initialize()


@checked
def effective_input_width(dilations: Sequence[int], repeats: int, window_size: int) -> int:
    """Return the number of tokens that a token's vector depends on, including the token.

    The formula is from Strubell et al. 2017, section 3.1, for a first convolution and `repeats`
    passes through the stack.

    dilations (Sequence[int]): The dilation of each convolution of the stack.
    repeats (int): Number of passes through the stack.
    window_size (int): Number of tokens on each side that a convolution reads.
    RETURNS (int): The number of tokens.
    """
    return 1 + 2 * window_size * (1 + repeats * sum(dilations))


def begin_passes(model: EncoderModel, Xs: list[Floats2d]) -> tuple[list[Floats2d], PassesBackprop]:
    """Begin an update: compute the vectors of all N tokens after each pass.

    Xs [(len(doc), nI) float32] -> repeats of (N, nO) float32. The backprop callback takes the
    gradient of each pass, (N, nO) float32, or None if a pass has none. It returns the gradients of
    the input, [(len(doc), nI) float32].
    """
    ops, rate, steps = operations(model.ops), model.attrs["dropout_rate"], _steps(model)
    X, lengths = join_docs(ops, Xs, model.get_dim("nI"))
    docs = Docs(lengths)
    passes: list[Array] = []
    caches: list[tuple[Array, Any, Optional[Array]]] = []
    for step in steps:
        Y, cache = ops.window_maxout(X, step.layer, docs, is_train=True)
        mask = ops.draw_mask(Y.shape, rate) if step.ends else None
        if mask is not None:
            Y *= mask
        caches.append((X, cache, mask))
        passes += [Y] * step.ends
        X = Y

    def backprop(d_passes: Sequence[Optional[Floats2d]]) -> list[Floats2d]:
        later = list(d_passes)
        dY: Array = ops.alloc2f(*passes[-1].shape)
        for step, (X, cache, mask) in zip(reversed(steps), reversed(caches), strict=True):
            d_pass = later.pop() if step.ends else None
            if d_pass is not None:
                dY = dY + d_pass
            if mask is not None:
                dY = dY * mask
            dY, d_params = for_kernel(ops, dY, "float32"), _gradients(step)
            dY = ops.backprop_window_maxout(dY, X, step.layer, docs, cache, d_params)
        return split_docs(dY, [*map(len, Xs)])

    return passes, backprop


def _steps(model: EncoderModel, reading: Reading = READING) -> list[Step]:
    """List the convolutions of an encoder: the first, then those in each pass."""
    dilations, repeats, window, residual = (
        reading.attr(model, name).value
        for name in ("dilations", "repeats", "window_size", "residual")
    )
    convolutions = [layer for layer in model.layers if layer.name == LINEAR]
    norms = reading.layers(model)[len(convolutions) :]
    nodes = [[layer, *norms[i : i + 1]] for i, layer in enumerate(convolutions)]
    # Read once, as passes that share their weights have the same nodes
    params = [
        [
            read_param(reading, node, name, 2 if name == "W" else 1)
            for node in of_one
            for name in node.param_names
        ]
        for of_one in nodes
    ]
    share = len(convolutions) == 1 + len(dilations)
    # The number and dilation of each convolution in the stack
    walk = [
        (1 + i + (0 if share else repeat * len(dilations)), dilation)
        for repeat in range(repeats)
        for i, dilation in enumerate(dilations)
    ]
    steps = []
    for place, (number, dilation) in enumerate([(0, 1), *walk]):
        W, b, *norm = cast(list[Array], params[number])
        G, beta = norm or (None, None)
        inner = place > 0
        layer = Layer(
            W[:, None], b[:, None], G, beta, window, dilation, inner, inner and residual, NAME
        )
        steps.append(Step(nodes[number], layer, inner and place % len(dilations) == 0))
    return steps


def _gradients(step: Step) -> Gradients:
    dW, db = gradients(step.nodes[0], ("W", "b"))
    dG, dbeta = gradients(step.nodes[1], ("G", "b")) if step.nodes[1:] else (None, None)
    return dW[:, None], db[:, None], dG, dbeta


def _identity_init(C: int, ops: Ops, shape: tuple[int, ...]) -> Floats2d:
    """Fill the weights of a convolution over windows of C tokens, W (nO, C * nI).

    If input and result have the same width, the convolution starts as the identity on the token
    itself (Strubell et al. 2017, appendix A.1). Otherwise W is drawn Glorot-uniform.
    """
    nO, columns = shape
    if columns != C * nO:
        return cast(Floats2d, glorot_uniform_init(ops, shape))
    centre = C // 2 * nO
    W = ops.alloc2f(nO, columns)
    W[:, centre : centre + nO] = ops.xp.eye(nO, dtype="float32")
    return W


def _residual_init(number: int, ops: Ops, shape: tuple[int, ...]) -> Floats2d:
    """Fill the weights of a residual convolution, W (nO, C * nI).

    W is drawn Glorot-uniform, and divided by the number of convolutions that add to the same
    vector. Otherwise vectors and gradients would grow by a factor with every pass, where passes
    share their weights.
    """
    return cast(Floats2d, glorot_uniform_init(ops, shape) / number)
