"""Batches cut into chunks of whole docs and of pieces of long docs."""

from collections.abc import Sequence
from itertools import zip_longest
from typing import NamedTuple

import numpy
from thinc.api import Model, get_array_module

from ..common.types import Array
from ..compute.chunks import count_chunks

# The tokens [start, end) of a doc.
Extent = tuple[int, int]


class Segment(NamedTuple):
    """The tokens [start, end) of a doc, which are computed together.

    doc: Index of the doc in the batch.
    first: Where the doc begins among the tokens of the batch.
    length: Number of tokens of the whole doc.
    """

    doc: int
    first: int
    length: int
    start: int
    end: int


class Chunk(NamedTuple):
    """Segments that are computed together.

    start, end: The tokens [start, end) of the whole batch that the segments hold.
    """

    segments: list[Segment]
    start: int
    end: int


def split_docs(lengths: Sequence[int], size: int) -> list[Chunk]:
    """Cut a batch into chunks of about `size` tokens: short docs together, long docs in pieces.

    Empty docs are in no chunk.
    """
    total = sum(lengths)
    number = count_chunks(total, size)
    chunks: list[Chunk] = []
    segments: list[Segment] = []
    start = end = 0
    for doc, length in enumerate(lengths):
        pieces = (round(length * number / total) or 1) if length else 0
        for piece in range(pieces):
            low, high = length * piece // pieces, length * (piece + 1) // pieces
            segments.append(Segment(doc, end - low, length, low, high))
            end += high - low
            if end * number >= total * (len(chunks) + 1):
                chunks.append(Chunk(segments, start, end))
                segments, start = [], end
    return chunks


def read_rows(arrays: Sequence[Array], chunk: Chunk, extents: Sequence[Extent]) -> Array:
    """Put a row of zeros, and for each segment an extent of its doc, into one array (N, W) float32.

    arrays: An array (len(doc), W) for each doc of the batch.
    """
    parts = [
        arrays[segment.doc][low:high]
        for segment, (low, high) in zip(chunk.segments, extents, strict=True)
    ]
    xp = get_array_module(parts[0])
    row_0 = xp.zeros((1, parts[0].shape[1]), dtype="float32")
    return xp.ascontiguousarray(xp.concatenate([row_0, *parts]), dtype="float32")


def add_rows(rows: Array, chunk: Chunk, extents: Sequence[Extent], out: Array) -> None:
    """Reverse `read_rows`: add rows (N, W) to `out`, the tokens of the batch, but for row 0."""
    start = 1
    for segment, (low, high) in zip(chunk.segments, extents, strict=True):
        end = start + high - low
        out[segment.first + low : segment.first + high] += rows[start:end]
        start = end


def split_rows(rows: Array, arrays: Sequence[Array]) -> list[Array]:
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
