"""Vectors side by side that many rows have in common, multiplied once each.

The first two characters of 2,500 distinct words are about 500 distinct strings. Their vectors, and
the products of these vectors with the weights of a layer, are needed 500 times and not 2,500 times.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy
from thinc.api import Ops

from ..common.types import Array
from .buffers import scratch, take_rows
from .matmul import matmul
from .threads import map_chunks


class Part(NamedTuple):
    """Some columns of a matrix, as their distinct rows.

    vectors: (V, w) float32, the distinct rows.
    places: (N,), the number of each row's vector.
    """

    vectors: Array
    places: Array


class SideBySide:
    """A matrix (N, nI) float32 that is kept as its parts.

    It has what a Ragged, and a layer that multiplies it, ask of an array.

    parts (Sequence[Part]): Its columns, from left to right.
    """

    dtype = numpy.dtype("float32")
    ndim = 2

    def __init__(self, parts: Sequence[Part]) -> None:
        """Keep the parts."""
        self.parts = parts
        self.shape = (len(parts[0].places), sum(part.vectors.shape[1] for part in parts))
        self.size = self.shape[0] * self.shape[1]

    def __len__(self) -> int:
        """Count the rows, N."""
        return self.shape[0]

    def reshape(self, shape: tuple[int, ...], /) -> "SideBySide":
        """Give the matrix itself: a Ragged asks for two dimensions, and it has no others."""
        return self

    def to_array(self) -> Array:
        """Put the parts together."""
        return numpy.hstack([part.vectors[part.places] for part in self.parts])


def products(ops: Ops, X: SideBySide, W: Array) -> list[Part]:
    """Multiply the distinct rows of each part by its own rows of W (nI, M): parts (V, M)."""
    ends = numpy.cumsum([part.vectors.shape[1] for part in X.parts])
    starts = ends - [part.vectors.shape[1] for part in X.parts]

    def multiply(i: int) -> Part:
        vectors, places = X.parts[i]
        return Part(matmul(vectors, W[starts[i] : ends[i]]), places)

    return map_chunks(ops, multiply, range(len(X.parts)))


def add_up(parts: Sequence[Part], rows: slice) -> Array:
    """Add up the vectors of some rows, one of each part: (rows, M), in memory that is reused."""
    first, *others = parts
    size = rows.stop - rows.start
    sums = scratch("sums", (size, first.vectors.shape[1]), first.vectors)
    first.vectors.take(first.places[rows], axis=0, out=sums, mode="clip")
    for vectors, places in others:
        product = take_rows("product", vectors, places[rows])
        sums += product
        del product  # the next one takes the memory again
    return sums
