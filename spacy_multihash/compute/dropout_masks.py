"""Dropout masks that several threads can draw at once."""

from collections.abc import Callable
from typing import Optional

import numpy
from thinc.api import Ops

from ..common.types import Array
from .chunks import on_cpu

# Draws a mask of a shape, of entries 0 and 1 / (1 - rate); or gives None if nothing is dropped.
DrawMask = Callable[[tuple[int, int]], Optional[Array]]


def draw_mask(ops: Ops, shape: tuple[int, int], rate: float) -> Optional[Array]:
    """Draw a mask of entries 0 and 1 / (1 - rate), from numpy's random state; None if rate is 0."""
    return mask_drawers(ops, rate, 1)[0](shape)


def mask_drawers(ops: Ops, rate: float, count: int) -> list[DrawMask]:
    """Make a function that draws masks for each of `count` chunks, from numpy's random state.

    The same random state gives the same masks, in whatever order the chunks are computed.

    rate (float): The share of entries that are dropped, rounded to 1 / 65536. 16 random bits
        decide on an entry, where thinc takes 53, in a third of the time.
    """
    if rate <= 0:
        return [lambda shape: None] * count
    if not on_cpu(ops):
        return [lambda shape: ops.get_dropout_mask(shape, rate)] * count
    seeds = numpy.random.randint(2**32, size=count, dtype="uint64")
    return [_drawer(int(seed), rate) for seed in seeds]


def _drawer(seed: int, rate: float) -> DrawMask:
    generator = numpy.random.Generator(numpy.random.SFC64(seed))
    dropped = min(round(rate * 2**16), 2**16)  # of 2**16
    kept = numpy.float32(2**16 / max(2**16 - dropped, 1))

    def draw(shape: tuple[int, int]) -> Array:
        bits = generator.integers(2**16, size=shape, dtype="uint16")
        return (bits >= dropped) * kept

    return draw
