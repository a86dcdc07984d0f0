"""The kernels of `gpu.cu`, each with a function that launches it once a call.

No other module knows the names and arguments of the kernels.
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, NamedTuple, Optional

import numpy
from thinc.api import get_array_module

from ..common.types import Array
from .hashing import MAX_HASHES

_SOURCE = Path(__file__).with_name("gpu.cu")
_THREADS = 128  # of a CUDA block
_GROUPS = 4  # word groups, of four hash functions each


class HashTables(NamedTuple):
    """The tables of all A attributes, and how ids are hashed into each.

    tables: A arrays (nV, W) float32.
    seeds: For each attribute, the seeds of its word groups, up to four.
    num_hashes: For each attribute, the number of hash functions, 1 to 16.
    """

    tables: list[Array]
    seeds: Sequence[Sequence[int]]
    num_hashes: Sequence[int]


def hash_embed(ids: Array, hashed: HashTables) -> tuple[Array, Array]:
    """Hash all attributes of all types, and add up their rows, in one launch.

    ids (U, A) uint64 -> vectors (U, A * W) float32; and for the way back, rows (U, A, 16) int32.
    """
    xp = get_array_module(ids)
    (U, A), W = ids.shape, hashed.tables[0].shape[1]
    vectors = xp.empty((U, A * W), dtype="float32")
    rows = xp.empty((U, A, MAX_HASHES), dtype="int32")
    seeds = [[*each, *[0] * (_GROUPS - len(each))] for each in hashed.seeds]
    nV = [len(table) for table in hashed.tables]
    _launch(
        "hash_embed",
        (U, A),
        xp.ascontiguousarray(ids),
        _addresses(xp, hashed.tables),
        xp.asarray(nV, dtype="uint32"),
        xp.asarray(hashed.num_hashes, dtype="int32"),
        xp.asarray(seeds, dtype="uint32"),
        A,
        W,
        rows,
        vectors,
    )
    return vectors, rows


def hash_embed_backward(
    gradients: list[Array], num_hashes: Sequence[int], rows: Array, d_vectors: Array
) -> None:
    """Add the gradients of all types to the gradients of the tables, in one launch.

    rows (U, A, 16) int32, d_vectors (U, A * W) float32 -> gradients, A arrays (nV, W). The order of
    additions to a row that types share is not fixed: its last bits may differ from run to run.
    """
    xp = get_array_module(rows)
    U, A, _ = rows.shape
    _launch(
        "hash_embed_backward",
        (U, A),
        _addresses(xp, gradients),
        xp.asarray(num_hashes, dtype="int32"),
        rows,
        xp.ascontiguousarray(d_vectors, dtype="float32"),
        A,
        gradients[0].shape[1],
    )


def maxout_norm_forward(
    sums: Array,
    b: Array,
    G: Array,
    beta: Array,
    out: Array,
    Xhat: Optional[Array] = None,
    scale: Optional[Array] = None,
    which: Optional[Array] = None,
) -> None:
    """Add the bias, take the largest piece and normalize: sums (N, nP * nO) -> out (N, nO).

    All arrays are contiguous. Xhat, scale and which are filled if given: see `maxout.MaxoutTape`.
    """
    N, nO = out.shape
    arrays = (sums, b, G, beta, nO, sums.shape[1] // nO, out, Xhat, scale, which)
    _launch("maxout_norm_forward", (N,), *arrays, shared=_THREADS + nO)


def maxout_norm_backward(
    dY: Array, G: Array, Xhat: Array, scale: Array, which: Array, nP: int
) -> Array:
    """Go back through the norm and to the largest piece: dY (N, nO) -> (N, nO * nP)."""
    N, nO = dY.shape
    d_sums = get_array_module(dY).empty((N, nO * nP), dtype="float32")
    arrays = (dY, G, Xhat, scale, which, nO, nP, d_sums)
    _launch("maxout_norm_backward", (N,), *arrays, shared=_THREADS)
    return d_sums


def _addresses(xp: Any, arrays: list[Array]) -> Array:  # noqa: ANN401 (the module cupy)
    return xp.asarray([array.data.ptr for array in arrays], dtype="uint64")


def _launch(
    name: str,
    grid: tuple[int, ...],
    *arguments: Any,  # noqa: ANN401 (arrays, None and integers)
    shared: int = 0,
) -> None:
    """Launch a kernel on a grid of CUDA blocks, unless the grid is empty.

    shared (int): Shared memory of a CUDA block, in floats.
    """
    if grid[0]:
        # A missing array is a null pointer. Integers have 32 bits.
        values = (
            numpy.uint64(0) if a is None else numpy.int32(a) if isinstance(a, int) else a
            for a in arguments
        )
        _run(name, grid, tuple(values), shared)


def _run(name: str, grid: tuple[int, ...], arguments: tuple[Any, ...], shared: int) -> None:
    _kernel(name)(grid, (_THREADS,), arguments, shared_mem=4 * shared)


@cache
def _kernel(name: str) -> Any:  # noqa: ANN401 (a function of cupy.RawModule)
    return _module().get_function(name)


@cache
def _module() -> Any:  # noqa: ANN401 (cupy.RawModule)
    import cupy

    return cupy.RawModule(code=_SOURCE.read_text(encoding="utf8"))
