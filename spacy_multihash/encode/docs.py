"""The arrays of docs as one, and back."""

from collections.abc import Callable, Sequence
from itertools import zip_longest

import numpy
from thinc.api import Model, Ops
from thinc.types import Floats2d

from ..common.types import Array

EncoderModel = Model[list[Floats2d], list[Floats2d]]


def join_docs(ops: Ops, arrays: Sequence[Array], width: int) -> tuple[Array, numpy.ndarray]:
    """Put the arrays of docs one after the other: (N, width) float32 contiguous.

    Returns the lengths of docs with tokens too, (D,) int64 on the host.
    """
    lengths = numpy.array([len(array) for array in arrays], dtype="int64")
    if len(arrays) == 0:
        return ops.alloc2f(0, width), lengths
    joined = arrays[0] if len(arrays) == 1 else ops.xp.concatenate(arrays)
    return ops.as_contig(joined, dtype="float32"), lengths[lengths > 0]


def split_docs(rows: Array, arrays: Sequence[Array]) -> list[Array]:
    """Cut the rows of the whole batch into those of each doc, as many as its array has."""
    ends = numpy.cumsum([len(array) for array in arrays]).tolist()
    return [rows[end - len(array) : end] for array, end in zip(arrays, ends, strict=True)]


def check_shapes(
    model: Model, what: str, arrays: Sequence[Array], expected: list[tuple[int, ...]]
) -> None:
    """Raise ValueError if the array of a doc has another shape than expected, or is missing."""
    shapes = [array.shape for array in arrays]
    if shapes != expected:
        pairs = zip_longest(shapes, expected, fillvalue="no array")
        doc, (was, wanted) = next((doc, pair) for doc, pair in enumerate(pairs) if len({*pair}) > 1)
        raise ValueError(
            f"Layer '{model.name}' expects {what} of shape {wanted} for doc {doc}, was given "
            f"{was}. Build it with the width of the layers around it."
        )


def no_backprop(name: str) -> Callable:
    """Return a callback that says why there's no backward pass."""

    def backprop(dYs: list[Floats2d]) -> list[Floats2d]:
        raise ValueError(
            f"Layer '{name}' cannot go back from a prediction. Call begin_update, or call the "
            "model with is_train=True."
        )

    return backprop
