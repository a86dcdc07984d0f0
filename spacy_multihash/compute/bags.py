"""The rows of a table that are summed for each token, of any number of symbols."""

from typing import NamedTuple, Optional

import numpy

from ..common.types import Array


class Bags(NamedTuple):
    """The rows of the symbols of U tokens.

    rows (M, K) int32: The rows of each symbol, token by token. The table must have them.
    weights (M, K) float32: Factors of the rows, or None.
    ends (U,) int64, on the CPU: Where the symbols of each token end. None: a symbol a token.
    mean (bool): Whether sums are divided by the number of symbols.
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
        """Count the symbols of each token, (U,) int64; there must be ends."""
        return numpy.diff(self.ends, prepend=0)  # type: ignore[arg-type]
