"""All convolutions of an IteratedDilatedEncoder on one chunk of a batch, forward and back."""

from collections.abc import Callable, Sequence
from typing import NamedTuple, Optional

from thinc.api import get_array_module

from ..common.types import Array
from ..compute.buffers import scratch
from ..compute.convolution import (
    Convolution,
    ConvolutionTape,
    Gradients,
    convolve,
    convolve_backward,
)
from ..compute.dropout_masks import DrawMask
from .dilated_layout import Field

# Number of a pass -> gradient of the vectors after it, (N, nO) with row 0 zeros, or None.
PassGradient = Callable[[int], Optional[Array]]


class Step(NamedTuple):
    """One convolution on the way through an encoder.

    layer: Index of the layer that has its parameters; passes may share layers.
    dilation: Index of its dilation among the distinct ones.
    inner: Whether it is in the stack, where ReLU follows, and there may be residual connections.
    ends: If the step is the last of a pass through the stack, the number of the pass.
    """

    layer: int
    dilation: int
    inner: bool
    ends: Optional[int]


class Walk(NamedTuple):
    """All steps through an encoder, with the parameters of each layer."""

    steps: Sequence[Step]
    weights: Sequence[Convolution]
    residual: bool


class StepTape(NamedTuple):
    """What the way back needs of one step."""

    convolution: ConvolutionTape
    mask: Optional[Array]  # (N, nO), dropout


def plan_steps(field: Field, *, share: bool) -> list[Step]:
    """List the convolutions of an encoder: the first one, then those of each pass."""
    which = {dilation: i for i, dilation in enumerate(field.distinct)}
    steps = [Step(0, which[1], inner=False, ends=None)]
    for number in range(field.repeats):
        first = 1 if share else 1 + number * len(field.dilations)
        steps += [
            Step(first + i, which[dilation], inner=True, ends=None)
            for i, dilation in enumerate(field.dilations)
        ]
        steps[-1] = steps[-1]._replace(ends=number)
    return steps


def encode_dilated(X: Array, reads: Sequence[Array], walk: Walk) -> Array:
    """Compute the tokens of a chunk, for prediction.

    X (N, nI) float32, row 0 zeros -> (N, nO) float32, row 0 zeros, valid until the next call.
    """
    for number, step in enumerate(walk.steps):
        # There are two buffers: a step reads one and writes the other.
        weights = walk.weights[step.layer]
        Y = scratch(f"rows{number % 2}", (len(X), len(weights.b)), X)
        residual = walk.residual and step.inner
        convolve(X, reads[step.dilation], weights, Y, rectify=step.inner, residual=residual)
        X = Y
    return X


def encode_dilated_training(
    X: Array, reads: Sequence[Array], walk: Walk, draw_mask: DrawMask
) -> tuple[list[Array], list[StepTape]]:
    """Compute the vectors after each pass, (N, nO) each, and keep what the way back needs.

    Dropout applies to the vectors after each pass, and the next pass starts from the result.
    """
    passes, tapes = [], []
    for step in walk.steps:
        weights = walk.weights[step.layer]
        Y = get_array_module(X).empty((len(X), len(weights.b)), dtype="float32")
        residual = walk.residual and step.inner
        convolution_tape = convolve(
            X, reads[step.dilation], weights, Y, rectify=step.inner, residual=residual, keep=True
        )
        mask = None
        if step.ends is not None:
            mask = draw_mask(Y.shape)
            if mask is not None:
                Y *= mask
            passes.append(Y)
        tapes.append(StepTape(convolution_tape, mask))
        X = Y
    return passes, tapes


def encode_dilated_backward(
    gradient_of: PassGradient, reads: Sequence[Array], walk: Walk, tapes: Sequence[StepTape]
) -> tuple[Array, list[Gradients]]:
    """Go back from the gradients of the passes to dX (N, nI) and the steps' gradients, in order."""
    gradients = []
    shape = len(tapes[-1].convolution.X), len(walk.weights[-1].b)
    dY = get_array_module(tapes[-1].convolution.X).zeros(shape, dtype="float32")
    for step, (convolution_tape, mask) in zip(reversed(walk.steps), reversed(tapes), strict=True):
        weights = walk.weights[step.layer]
        d_pass = None if step.ends is None else gradient_of(step.ends)
        if d_pass is not None:
            dY = dY + d_pass
        if mask is not None:
            dY = dY * mask
        residual = walk.residual and step.inner
        dY, d_params = convolve_backward(
            dY, reads[step.dilation], weights, convolution_tape, residual=residual
        )
        gradients.append(d_params)
    return dY, gradients[::-1]
