"""Affine maps of vectors, kept in files, so that new words can be mapped later."""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Optional

import numpy

from .arrays import check_array, load_arrays
from .table import MappedRows, VectorTable, need_words

KIND = "affine"
_ARRAYS = ("mean", "matrix", "offset", "unit")


@dataclass(frozen=True)
class AffineMap:
    """The map x -> (x - mean) matrix + offset, after which vectors may get the length 1.

    mean (numpy.ndarray): (I,) float32.
    matrix (Optional[numpy.ndarray]): (I, O) float32. None changes nothing.
    offset (Optional[numpy.ndarray]): (O,) float32. None is for zeros.
    unit (bool): Divide each vector by its length, unless that is 0.
    """

    mean: numpy.ndarray
    matrix: Optional[numpy.ndarray] = None
    offset: Optional[numpy.ndarray] = None
    unit: bool = False

    @property
    def width(self) -> int:
        """The width of the results."""
        return len(self.mean) if self.matrix is None else self.matrix.shape[1]

    def __call__(self, X: numpy.ndarray) -> numpy.ndarray:
        """Map vectors, (n, I) float32 -> (n, O) float32."""
        Y = X - self.mean.astype("float32")
        if self.matrix is not None:
            Y = Y @ self.matrix.astype("float32")
        if self.offset is not None:
            Y = Y + self.offset.astype("float32")
        return to_unit(Y) if self.unit else Y

    def arrays(self) -> Mapping[str, numpy.ndarray]:
        """Return the parameters by name. A matrix or offset that is None is empty."""
        empty = numpy.zeros(0, dtype="float32")
        parts = {"mean": self.mean, "matrix": self.matrix, "offset": self.offset}
        found = {
            name: empty if part is None else part.astype("float32") for name, part in parts.items()
        }
        return {**found, "unit": numpy.array(self.unit)}


def to_unit(X: numpy.ndarray) -> numpy.ndarray:
    """Give vectors the length 1, (n, width) -> (n, width). Vectors of zeros stay."""
    # The squares of numbers that float32 holds may be too large, or too small, for float32.
    lengths = numpy.linalg.norm(X.astype("float64", copy=False), axis=1, keepdims=True)
    return (X / numpy.where(lengths == 0, 1, lengths)).astype(X.dtype, copy=False)


def identity(width: int, *, unit: bool = False) -> AffineMap:
    """Make the map that changes nothing, or lengths alone."""
    return AffineMap(numpy.zeros(width, dtype="float32"), unit=unit)


def map_table(table: VectorTable, function: AffineMap) -> VectorTable:
    """Map the vectors of a table.

    A vector of zeros stands for a word without a vector, and stays as it is. The rows of floret are
    mapped one by one: an affine map of a mean is the mean of the maps.

    Raises ValueError if the widths differ, or if lengths of a floret table should become 1.
    """
    if len(function.mean) != table.width:
        raise ValueError(
            f"The vectors of {table.name} must be of the width {len(function.mean)}, which the map "
            f"has, was: {table.width}. Give another table, or another map."
        )
    if function.unit:
        why = "a word's vector is a mean of rows, and the length of a mean is not that of its parts"
        need_words(table, "Scaling to length 1", why)

    def apply(X: numpy.ndarray) -> numpy.ndarray:
        Y = function(X)
        if table.floret is None:
            Y[~X.any(axis=1)] = 0
        return Y

    return replace(table, data=MappedRows(table.data, apply, function.width))


def load_map(path: Path) -> AffineMap:
    """Read a map; raises what `load_arrays` and `check_array` raise."""
    arrays = load_arrays(path, {KIND: _ARRAYS})
    mean, matrix, offset, unit = (arrays[name] for name in _ARRAYS)
    check_array(path, "mean", mean, (None,))
    if matrix.size:
        check_array(path, "matrix", matrix, (len(mean), None))
    if offset.size:
        width = matrix.shape[1] if matrix.size else len(mean)
        check_array(path, "offset", offset, (width,))
    check_array(path, "unit", unit, (), "bool")
    return AffineMap(
        mean, matrix if matrix.size else None, offset if offset.size else None, bool(unit)
    )
