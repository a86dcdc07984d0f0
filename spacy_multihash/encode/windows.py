"""Which rows each window of an encoder reads, layer by layer, in a chunk of a batch."""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy

from ..common.types import Array
from .segments import Extent, Segment

# Length of a doc, and the start and end of the part of it that is computed.
Sizes = tuple[int, int, int]
# Tokens up to which the layout of a single doc is kept, in at most a few MB.
SHORT = 64


class Layout(NamedTuple):
    """Which rows a chunk has before the first layer of an encoder, and what each layer reads.

    extents: For each segment, the tokens [start, end) of its doc that the first layer reads.
    reads: For each layer, (M, 2 * window_size + 1) int64: the rows of the layer's input that each
        of the M rows of its output reads. Row 0 is the padding, see `lay_out`. The rows of the
        segments follow, one segment after the other.
    """

    extents: list[Extent]
    reads: list[Array]


def lay_out(segments: Sequence[Segment], depth: int, window_size: int) -> Layout:
    """Find the rows that each layer computes for the segments, and what their windows read.

    spacy.MaxoutWindowEncoder.v2 puts depth * window_size rows of zeros around each doc, and
    computes all of them in all layers. They do not stay zero, but most of them are equal or unused:

    - A padding row further than layer * window_size from the doc has seen nothing of it. One row,
      row 0, stands for all of these.
    - Nothing reads a row further than (depth - layer) * window_size from the segment. So it is left
      out.

    What remains at depth 8 is 32 rows of padding for a doc, in all layers together, where spaCy has
    64.
    """
    sizes = tuple(segment[2:] for segment in segments)
    if len(sizes) == 1 and sizes[0][0] <= SHORT:
        return _lay_out_again(sizes, depth, window_size)
    return _lay_out(sizes, depth, window_size)


def dilated_windows(
    bounds: tuple[Array, Array], window_size: int, dilations: Sequence[int]
) -> list[Array]:
    """Find what windows read where all layers have the same rows.

    The result is (N, 2 * window_size + 1) int64 for each dilation. Row 0 stands for all that lies
    beyond the segments. The rows of the segments follow, one segment after the other.

    bounds: For each segment, the position of its first row in the doc, and the one after its last.
    """
    return [_windows(bounds, bounds, window_size, dilation) for dilation in dilations]


def _lay_out(sizes: tuple[Sizes, ...], depth: int, window_size: int) -> Layout:
    doc_end, start, end = numpy.asarray(sizes, dtype="int64").T

    def bounds(layer: int) -> tuple[Array, Array]:
        needed, touched = (depth - layer) * window_size, layer * window_size
        low = numpy.maximum(start - needed, -touched)
        return low, numpy.minimum(end + needed, doc_end + touched)

    reads = []
    before = bounds(0)
    extents = list(zip(*(bound.tolist() for bound in before), strict=True))
    for layer in range(1, depth + 1):
        after = bounds(layer)
        reads.append(_windows(before, after, window_size))
        before = after
    return Layout(extents, reads)


# A pipeline that gets one short doc after the other would spend a fifth of its time here.
_lay_out_again = lru_cache(maxsize=256)(_lay_out)


def _windows(
    before: tuple[Array, Array],
    after: tuple[Array, Array],
    window_size: int,
    dilation: int = 1,
) -> Array:
    """Number the rows of the segments before a layer, and find those that each row after it reads.

    before, after: For each segment, the position of its first row in the doc, and the one after its
        last, before and after the layer.
    dilation: The distance of neighbours in a window.
    """
    (low, high), (new_low, new_high) = before, after
    sizes, new_sizes = high - low, new_high - new_low
    # Row 0 is the padding, so that segments begin at row 1.
    first, new_first = (1 + numpy.cumsum(each) - each for each in (sizes, new_sizes))
    last, new_last = first + sizes - 1, new_first + new_sizes - 1
    # The token in row r after the layer is in row r + shift before it.
    shift = first - low + new_low - new_first
    offsets = numpy.arange(-window_size, window_size + 1) * dilation
    centre = numpy.arange(1, 1 + new_sizes.sum()) + numpy.repeat(shift, new_sizes)
    reads = numpy.zeros((1 + len(centre), len(offsets)), dtype="int64")
    for column, offset in enumerate(offsets):
        numpy.add(centre, offset, out=reads[1:, column])
    # Only windows near the ends of a segment can reach beyond it. Rows of short segments repeat.
    near = numpy.arange(min(window_size * (1 + dilation), int(new_sizes.max(initial=0))))[:, None]
    rows = numpy.concatenate(
        [numpy.minimum(new_first + near, new_last), numpy.maximum(new_last - near, new_first)]
    )
    beyond = (reads[rows] < first[:, None]) | (reads[rows] > last[:, None])
    reads[rows] = numpy.where(beyond, 0, reads[rows])
    reads.flags.writeable = False  # layouts of short docs are kept, for all encoders
    return reads
