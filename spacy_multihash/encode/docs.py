"""Join and split the arrays of docs."""

from collections.abc import Sequence
from itertools import accumulate

import numpy
from thinc.api import Model, Ops
from thinc.types import Floats2d

from ..common.types import Array
from ..compute.array_ops import for_kernel

EncoderModel = Model[list[Floats2d], list[Floats2d]]


def join_docs(ops: Ops, arrays: Sequence[Array], width: int) -> tuple[Array, numpy.ndarray]:
    """Concatenate the arrays of docs: (N, width) float32 contiguous.

    Also returns the lengths of non-empty docs, (D,) int64 on the host. Raises ValueError if the
    arrays have another width.
    """
    lengths = numpy.array([len(array) for array in arrays if len(array)], dtype="int64")
    if len(arrays) == 0:
        return ops.alloc2f(0, width), lengths
    joined = arrays[0] if len(arrays) == 1 else ops.xp.concatenate(arrays)
    if joined.shape[1] != width:
        raise ValueError(
            f"The encoder takes vectors of tokens of width {width}, got {joined.shape[1]}. Build "
            "it with the width of the layers around it."
        )
    return for_kernel(ops, joined, "float32"), lengths


def split_docs(rows: Array, arrays: Sequence[Array]) -> list[Array]:
    """Split the rows of the batch by doc, as many for each doc as its array has."""
    ends = accumulate(len(array) for array in arrays)
    return [rows[end - len(array) : end] for array, end in zip(arrays, ends, strict=True)]
