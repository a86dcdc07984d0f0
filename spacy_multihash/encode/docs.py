"""Join and split the arrays of docs."""

from collections.abc import Sequence
from itertools import accumulate
from typing import Optional

import numpy
from thinc.api import Model, Ops
from thinc.types import Floats2d

from ..common.types import Array
from ..compute.dispatch import kernels_for
from ..compute.maxout import Layer
from ..compute.ops import for_kernel
from ..compute.threads import Part, in_parts_of_docs

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
            f"Expected vectors of tokens of width {width}, was given {joined.shape[1]}. Build the "
            "encoder with the width of the layers around it."
        )
    return for_kernel(ops, joined, "float32"), lengths


def split_docs(rows: Array, arrays: Sequence[Array]) -> list[Array]:
    """Split the rows of the batch by doc, as many for each doc as its array has."""
    ends = accumulate(len(array) for array in arrays)
    return [rows[end - len(array) : end] for array, end in zip(arrays, ends, strict=True)]


def encode_at_once(
    X: Array, layers: Sequence[Layer], lengths: numpy.ndarray, *, pad: bool
) -> Optional[Array]:
    """Compute all layers of an encoder in one compiled call, or return None without kernels.

    X (N, nI) float32 -> Y (N, nO) float32.

    lengths (D,) int64: The numbers of tokens of the docs.
    pad (bool): Whether docs have padding around them as in spaCy's encoder, instead of zeros.
    """
    kernels = kernels_for(X)
    if kernels is None:
        return None
    Y = numpy.empty((len(X), len(layers[-1].W)), dtype="float32")

    def encode(part: Part) -> None:
        kernels.encode(X[part.rows], layers, pad, part.lengths, len(X), Y[part.rows])

    in_parts_of_docs(encode, lengths)
    return Y
