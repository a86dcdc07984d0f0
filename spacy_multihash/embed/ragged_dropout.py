"""Dropout of the vectors of docs, which may have no tokens."""

from typing import Callable, Tuple

from thinc.api import Model
from thinc.layers.dropout import forward as drop
from thinc.types import Ragged

NAME = "dropout"  # as thinc names its own


def ragged_dropout(rate: float = 0.0) -> Model[Ragged, Ragged]:
    """Set a share of the entries to zero in training, as thinc's Dropout does.

    thinc's Dropout loses the width of a Ragged without rows. Here a batch without tokens keeps it.

    vectors (N, W) float32 with lengths (B,) int32 -> the same.

    rate (float): Initial dropout rate, 0 <= rate < 1; thinc's set_dropout_rate changes it.
    """
    return Model(NAME, forward, attrs={"dropout_rate": rate, "is_enabled": True})


def forward(model: Model[Ragged, Ragged], X: Ragged, is_train: bool) -> Tuple[Ragged, Callable]:
    """Drop, where there is anything to drop."""
    if not len(X.dataXd):
        return X, lambda dY: dY
    return drop(model, X, is_train)
