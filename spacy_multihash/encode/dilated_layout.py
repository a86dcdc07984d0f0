"""How a batch is cut for dilated convolutions, and which rows their windows read."""

from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy
from thinc.api import Ops

from ..common.types import Array
from ..compute.chunks import CHUNK, GPU_CHUNK, TRAINING_CHUNK, on_cpu
from .segments import Chunk, Extent, split_docs
from .windows import SHORT, Sizes, dilated_windows

# Pieces of docs read tokens beyond their ends, up to the reach of the encoder on each side. A chunk
# is at least this many times as long as the reach.
_REACHES = 8


class Field(NamedTuple):
    """The receptive field of an encoder, and the windows that it comes from."""

    dilations: tuple[int, ...]
    repeats: int
    window_size: int

    @property
    def input_width(self) -> int:
        """The number of tokens that the vector of a token depends on, itself included."""
        return effective_input_width(*self)

    @property
    def reach(self) -> int:
        """How far the vector of a token sees on each side."""
        return self.input_width // 2

    @property
    def distinct(self) -> tuple[int, ...]:
        """The dilations, each once: 1, which the first convolution has, and the others."""
        return tuple(sorted({1, *self.dilations}))


class DilatedLayout(NamedTuple):
    """Which token each row of a chunk holds, in all layers of an encoder alike.

    Row 0 holds zeros, for what lies around a doc. The other rows hold the tokens of the segments,
    and the tokens of their docs that the encoder can see from there.

    extents: For each segment, the tokens [start, end) of its doc that are computed.
    reads: For each distinct dilation, (N, 2 * window_size + 1) int64: the rows that each window
        reads.
    kept: The rows of the segments themselves, (M,) int64.
    """

    extents: list[Extent]
    reads: list[Array]
    kept: Array


def effective_input_width(dilations: Sequence[int], repeats: int, window_size: int) -> int:
    """Return the number of tokens that the vector of a token depends on, itself included.

    The formula is that of Strubell et al. 2017, section 3.1, for a first convolution and `repeats`
    passes through the stack.

    dilations (Sequence[int]): The dilation of each convolution of the stack.
    repeats (int): Number of passes through the stack.
    window_size (int): Number of tokens on each side that a convolution reads.
    RETURNS (int): The number of tokens.
    """
    return 1 + 2 * window_size * (1 + repeats * sum(dilations))


def cut_chunks(ops: Ops, Xs: Sequence[Array], field: Field, *, is_train: bool) -> list[Chunk]:
    """Cut a batch into chunks that are long compared with the reach of the encoder."""
    usual = TRAINING_CHUNK if is_train else CHUNK
    size = max(usual, _REACHES * field.reach) if on_cpu(ops) else GPU_CHUNK
    return split_docs([len(X) for X in Xs], size)


def lay_out_dilated(ops: Ops, chunk: Chunk, field: Field) -> DilatedLayout:
    """Find the rows of a chunk, and what the windows of each dilation read.

    Windows read zeros beyond the rows of a segment. At the ends of a doc, this is right. Where a
    doc was cut, it is wrong: but after all layers, the error has not spread into the segment.
    """
    sizes = tuple(segment[2:] for segment in chunk.segments)
    short = len(sizes) == 1 and sizes[0][0] <= SHORT
    layout = (_lay_out_again if short else _lay_out)(sizes, field)
    reads = [ops.asarray(rows) for rows in layout.reads]
    return DilatedLayout(layout.extents, reads, ops.asarray(layout.kept))


def _lay_out(sizes: tuple[Sizes, ...], field: Field) -> DilatedLayout:
    ends, starts, stops = numpy.asarray(sizes, dtype="int64").T
    low = numpy.maximum(starts - field.reach, 0)
    high = numpy.minimum(stops + field.reach, ends)
    reads = dilated_windows((low, high), field.window_size, field.distinct)
    # For a segment whose rows begin at `first`, row r holds token r - first + low.
    shift = 1 + numpy.cumsum(high - low) - high
    lengths = stops - starts
    token = numpy.arange(lengths.sum()) - numpy.repeat(numpy.cumsum(lengths) - stops, lengths)
    kept = token + numpy.repeat(shift, lengths)
    kept.flags.writeable = False  # as that of `reads`: the layout may be kept
    return DilatedLayout(list(zip(low.tolist(), high.tolist(), strict=True)), reads, kept)


_lay_out_again = lru_cache(maxsize=256)(_lay_out)
