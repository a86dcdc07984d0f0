"""Hashes of strings: whole numbers of 64 bits, half of which are too large for signed ones."""

import numpy
from numpy.typing import NDArray


def is_among(hashes: NDArray[numpy.uint64], others: NDArray[numpy.uint64]) -> NDArray[numpy.bool_]:
    """Tell which hashes are among others, whatever their order: an array of the first's shape.

    `numpy.isin` makes a table where the range of others is small, as that of one hash is. numpy
    2.0.0 raises an OverflowError there for hashes from 2**63 on.
    """
    return numpy.isin(hashes, others, kind="sort")
