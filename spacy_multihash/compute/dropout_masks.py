"""Dropout masks, drawn from 16 random bits an entry (thinc draws 53)."""

from typing import Optional

import numpy
from thinc.api import Ops

from ..common.types import Array
from .array_ops import on_cpu


def draw_mask(ops: Ops, shape: tuple[int, int], rate: float) -> Optional[Array]:
    """Draw a mask of entries 0 and 1 / (1 - rate), from numpy's random state; None if rate is 0.

    rate (float): The share of entries that are dropped, rounded to 1 / 65536. 16 random bits
        decide on an entry, where thinc takes 53, in a third of the time.
    """
    if rate <= 0:
        return None
    if not on_cpu(ops):
        return ops.get_dropout_mask(shape, rate)
    seed = numpy.random.randint(2**32, size=1, dtype="uint64")
    generator = numpy.random.Generator(numpy.random.SFC64(int(seed[0])))
    dropped = min(round(rate * 2**16), 2**16)  # of 2**16
    kept = numpy.float32(2**16 / max(2**16 - dropped, 1))
    return (generator.integers(2**16, size=shape, dtype="uint16") >= dropped) * kept
