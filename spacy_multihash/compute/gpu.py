"""The kernels of `gpu.cu`, each with a function that launches it once a call.

No other module knows the names and arguments of the kernels.
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any, Optional

import numpy
from thinc.api import get_array_module

from ..common.types import Array
from .hashing import MAX_HASHES, Hashing

_SOURCE = Path(__file__).with_name("gpu.cu")
_THREADS = 128  # of a CUDA block


def hash_embed(ids: Array, tables: Sequence[Array], hashing: Hashing) -> tuple[Array, Array]:
    """Hash the ids of all columns, and add up their rows, in one launch."""
    xp = get_array_module(ids)
    (U, A), W = ids.shape, tables[0].shape[1]
    vectors = xp.empty((U, A * W), dtype="float32")
    rows = xp.empty((U, A, MAX_HASHES), dtype="int32")
    settings = [hashing.nV, hashing.num_hashes.view("uint32"), hashing.seeds.ravel()]
    on_device = xp.asarray(numpy.concatenate(settings))  # copied once
    _launch(
        "hash_embed",
        (U, A),
        xp.ascontiguousarray(ids),
        _addresses(xp, tables),
        on_device[:A],
        on_device[A : 2 * A],
        on_device[2 * A :],
        A,
        W,
        rows,
        vectors,
    )
    return vectors, rows


def hash_embed_backward(
    gradients: Sequence[Array], hashing: Hashing, rows: Array, d_vectors: Array
) -> None:
    """Add the gradients of all unique tokens to the gradients of the tables, in one launch.

    The order of additions to a row that tokens share isn't fixed: its last bits may differ from run
    to run.
    """
    xp = get_array_module(rows)
    U, A, _ = rows.shape
    _launch(
        "hash_embed_backward",
        (U, A),
        _addresses(xp, gradients),
        xp.asarray(hashing.num_hashes),
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

    All arrays are contiguous. Xhat, scale and which are filled if given: see `maxout.Cache`.
    """
    N, nO = out.shape
    arrays = (sums, b, G, beta, nO, sums.shape[1] // nO, out, Xhat, scale, which)
    _launch("maxout_norm_forward", (N,), *arrays, shared=_THREADS + nO)


def maxout_norm_backward(
    dY: Array, G: Array, Xhat: Array, scale: Array, which: Array, nP: int
) -> Array:
    """Backward pass of the norm and of maxout: dY (N, nO) -> d_sums (N, nO * nP)."""
    N, nO = dY.shape
    d_sums = get_array_module(dY).empty((N, nO * nP), dtype="float32")
    arrays = (dY, G, Xhat, scale, which, nO, nP, d_sums)
    _launch("maxout_norm_backward", (N,), *arrays, shared=_THREADS)
    return d_sums


def _addresses(xp: Any, arrays: Sequence[Array]) -> Array:  # noqa: ANN401 (the module cupy)
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
