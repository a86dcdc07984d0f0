"""Hash embeddings of all columns at once: ids to rows of tables to sums of rows."""

from collections.abc import Sequence
from typing import Optional

import numpy

from ..common.types import Array
from . import gpu
from .dispatch import kernels_for
from .hashing import MAX_HASHES, Hashing
from .threads import in_parts


def can_hash_at_once(array: Array) -> bool:
    """Tell whether there's a kernel for the device of an array."""
    return kernels_for(array) is not None or not isinstance(array, numpy.ndarray)


def hash_embed(
    ids: Array, tables: Sequence[Array], hashing: Hashing
) -> tuple[Array, Optional[Array]]:
    """Hash the ids of A columns, and add up their rows.

    ids (U, A) uint64 contiguous, tables A arrays (nV, W) float32 -> vectors (U, A * W) float32; and
    for the backward pass, rows (U, A, 16) int32.
    """
    kernels = kernels_for(ids)
    if kernels is None:
        return gpu.hash_embed(ids, tables, hashing)
    (U, A), W = ids.shape, tables[0].shape[1]
    vectors = numpy.empty((U, A * W), dtype="float32")
    rows = numpy.empty((U, A, MAX_HASHES), dtype="int32")

    def compute(first: int, last: int) -> None:
        kernels.hash_embed(ids, tables, hashing, first, last, rows, vectors)

    in_parts(compute, U)
    return vectors, rows


def hash_embed_backward(
    gradients: Sequence[Array], hashing: Hashing, rows: Array, d_vectors: Array
) -> None:
    """Add the gradient of each vector to the gradients of its rows.

    rows (U, A, 16) int32, d_vectors (U, A * W) float32 -> gradients, A arrays (nV, W).
    """
    kernels = kernels_for(rows)
    if kernels is None:
        gpu.hash_embed_backward(gradients, hashing, rows, d_vectors)
        return
    d_vectors = numpy.require(d_vectors, "float32", ["C", "A"])

    def add(first: int, last: int) -> None:
        kernels.hash_embed_backward(gradients, hashing, first, last, rows, d_vectors)

    in_parts(add, len(gradients), rows=len(rows))
