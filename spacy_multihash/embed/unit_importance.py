"""Importance parameters that are fixed at 1, for all symbols."""

from typing import Callable

from thinc.api import Model
from thinc.types import Floats2d, Ints1d

from ..common.types import AttrLayer

NAME = "unit_importance"


def unit_importance(nO: int) -> AttrLayer:
    """Give each symbol importance parameters of 1, which are not trained.

    ids (N,) uint64 -> weights (N, nO) float32.

    nO (int): Number of importance parameters, one per component vector.
    """
    return Model(NAME, forward, dims={"nO": nO})


def forward(model: AttrLayer, ids: Ints1d, is_train: bool) -> tuple[Floats2d, Callable]:
    """Fill with ones."""
    weights = model.ops.alloc2f(len(ids), model.get_dim("nO"))
    weights += 1

    def backprop(d_weights: Floats2d) -> Ints1d:
        return model.ops.alloc1i(len(ids))  # integers have no gradient

    return weights, backprop
