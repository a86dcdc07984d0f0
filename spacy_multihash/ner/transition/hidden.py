"""The hidden layer of states in training: the largest piece of each sum, then dropout."""

from collections.abc import Sequence
from typing import NamedTuple, Optional

import numpy
from thinc.api import Ops, get_array_module

from ...common.types import Array
from ...compute.dropout_masks import DrawMask
from .states import Weights


class Hidden(NamedTuple):
    """The hidden layer of R states, and what its way back needs.

    values (R, nO) float32: After dropout.
    which (R, nO): The piece that was the largest; for one piece, whether it was kept.
    mask (R, nO) float32: Of dropout, None for none.
    """

    values: Array
    which: Array
    mask: Optional[Array]

    def take(self, rows: Array) -> "Hidden":
        """Take some of the states, by number or by a mask."""
        return Hidden(*(None if part is None else part[rows] for part in self))


class Mask(NamedTuple):
    """A mask of dropout in a quarter of the memory.

    kept (R, nO) bool: Which entries are not dropped.
    factor (float): What these are multiplied by.
    """

    kept: Array
    factor: float


def pack_mask(mask: Array) -> Mask:
    """Pack a mask (R, nO) float32."""
    return Mask(mask > 0, float(mask.max()) if mask.size else 0.0)


def unpack_mask(
    mask: Optional[Mask], rows: numpy.ndarray, shape: tuple[int, int]
) -> Optional[Array]:
    """Return some rows of a mask, of a shape, as when it was drawn; None for none."""
    if mask is None:
        return None
    return mask.kept[rows] * get_array_module(mask.kept).float32(mask.factor)


def join(hidden: Sequence[Hidden]) -> Hidden:
    """Put states one after the other."""
    if len(hidden) == 1:
        return hidden[0]
    xp = get_array_module(hidden[0].values)
    parts = zip(*hidden, strict=True)
    return Hidden(*(None if part[0] is None else xp.concatenate(part) for part in parts))


def hide(sums: Array, weights: Weights, draw: DrawMask, ops: Ops) -> Hidden:
    """Compute the hidden layer: sums (R, nO * nP) -> (R, nO).

    With one piece it is a ReLU. spaCy's ner has it in training, but not in prediction.
    """
    nO = sums.shape[1] // weights.nP
    if weights.nP == 1:
        which = sums >= 0
        values = sums * which
    else:
        values, which = ops.maxout(sums.reshape(len(sums), nO, weights.nP))
    mask = draw(values.shape) if weights.upper is not None else None
    if mask is not None:
        values *= mask
    return Hidden(values, which, mask)


def hide_backward(d_values: Array, hidden: Hidden, weights: Weights, ops: Ops) -> Array:
    """Go back through `hide`: (R, nO) -> (R, nO * nP)."""
    if hidden.mask is not None:
        d_values = d_values * hidden.mask
    if weights.nP == 1:
        return d_values * hidden.which
    d_sums: Array = ops.backprop_maxout(d_values, hidden.which, weights.nP)
    return d_sums.reshape(len(d_values), -1)
