"""Bags: for each token, any number of values, whose rows of a table are summed."""

from typing import NamedTuple, Optional

import numpy

from ..common.types import Array


class Bags(NamedTuple):
    """The rows of the values of U tokens.

    rows (M, K) int32: The rows of each value, token by token. The table must have these rows.
    weights (M, K) float32: Factors of the rows, or None.
    ends (U,) int64, on the CPU: Where the values of each token end. None: each token has one value.
    mean (bool): Whether sums are divided by the number of values.
    """

    rows: Array
    weights: Optional[Array] = None
    ends: Optional[numpy.ndarray] = None
    mean: bool = False

    @property
    def num_tokens(self) -> int:
        """The number of tokens, U."""
        return len(self.rows if self.ends is None else self.ends)

    def lengths(self) -> numpy.ndarray:
        """Return the number of values of each token, (U,) int64. There must be ends."""
        return numpy.diff(self.ends, prepend=0)  # type: ignore[arg-type]
