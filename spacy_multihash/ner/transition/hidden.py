"""The hidden layer of states in training: the largest piece of each sum, then dropout."""

from collections.abc import Sequence
from typing import NamedTuple, Optional

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
