"""Bags: for each token, any number of values, whose rows of tables are summed."""

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


# Symbols (M,) uint64 and the ends (U,) int64 of those of each token, on the CPU.
BagSymbols = tuple[numpy.ndarray, numpy.ndarray]


class ColumnTable(NamedTuple):
    """The table of a column of tokens, and how symbols become its rows: looked up, or hashed.

    table (nV, W) float32.
    keys (V,) uint64, row_of (V,) int32: Symbols in ascending order, and the row of each; others
        have row 0. None if symbols are hashed.
    hashing: The number of rows, of hash functions, and the seed; or None.
    importance (rows, K) float32: Factors of the K rows of a symbol, in a row by hashing; or None.
    importance_hashing: The number of its rows, and the seed.
    is_appended (bool): Whether the sum of the factors is a part of a token's vector, the last.
    is_bag (bool): Whether a token may have any number of symbols.
    mean (bool): Whether sums are divided by it.
    """

    table: Array
    keys: Optional[Array] = None
    row_of: Optional[Array] = None
    hashing: Optional[tuple[int, int, int]] = None
    importance: Optional[Array] = None
    importance_hashing: tuple[int, int] = (1, 0)
    is_appended: bool = False
    is_bag: bool = False
    mean: bool = False
