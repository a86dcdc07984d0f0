"""Operations on a GPU: array code with CuPy, and kernels of `gpu.cu`, each launched once a call.

No other module knows the names and arguments of the kernels. Types and docs of the operations are
those of `ArrayOps`.
"""

from collections.abc import Sequence
from functools import cache
from pathlib import Path
from typing import Any

import numpy
from thinc.api import CupyOps, get_array_module

from ..common.types import Array
from .array_ops import ArrayOps, Cache
from .hashing import MAX_HASHES

_SOURCE = Path(__file__).with_name("gpu.cu")
_THREADS = 128  # of a CUDA block


class GpuOps(ArrayOps, CupyOps):
    """The operations of a GPU."""

    def hash_embed(self, ids, tables, hashing):
        xp = get_array_module(ids)
        (U, A), W = ids.shape, tables[0].shape[1]
        vectors = xp.empty((U, A * W), dtype="float32")
        rows = xp.empty((U, A, MAX_HASHES), dtype="int32")
        settings = [hashing.nV, hashing.num_hashes.view("uint32"), hashing.seeds.ravel()]
        settings = xp.asarray(numpy.concatenate(settings))  # copied once
        of_columns = settings[:A], settings[A : 2 * A], settings[2 * A :]
        ids = xp.ascontiguousarray(ids, dtype="uint64")
        arrays = ids, _addresses(xp, tables), *of_columns
        _launch("hash_embed", (U, A), *arrays, A, W, rows, vectors)
        return vectors, rows

    def backprop_hash_embed(self, gradients, hashing, rows, d_vectors):
        xp, (U, A, _) = get_array_module(rows), rows.shape
        arrays = _addresses(xp, gradients), xp.asarray(hashing.num_hashes), rows
        d_vectors = xp.ascontiguousarray(d_vectors, dtype="float32")
        _launch("hash_embed_backward", (U, A), *arrays, d_vectors, A, gradients[0].shape[1])

    def _largest(self, windows, layer):
        if layer.G is None or layer.relu:
            return super()._largest(windows, layer)
        xp, (nO, nP, columns), M = get_array_module(windows), layer.W.shape, len(windows)
        by_piece = layer.W.transpose(1, 0, 2).reshape(nP * nO, columns)
        sums, b = windows @ by_piece.T, xp.ascontiguousarray(layer.b)
        Y, Xhat = xp.empty((M, nO), "float32"), xp.empty((M, nO), "float32")
        which, scale = xp.empty((M, nO), "uint8"), xp.empty(M, "float32")
        arrays = sums, b, layer.G, layer.beta, nO, nP, Y, Xhat, scale, which
        _launch("maxout_norm_forward", (M,), *arrays, shared=_THREADS + nO)
        return Y, Cache(which, Xhat, scale)

    def _backprop_largest(self, d, layer, cache):
        if layer.G is None or layer.relu:
            return super()._backprop_largest(d, layer, cache)
        (M, nO), nP = d.shape, layer.W.shape[1]
        d_sums = get_array_module(d).empty((M, nO * nP), dtype="float32")
        arrays = d, layer.G, cache.Xhat, cache.scale, cache.which, nO, nP, d_sums
        _launch("maxout_norm_backward", (M,), *arrays, shared=_THREADS)
        return d_sums


def _addresses(xp: Any, arrays: Sequence[Array]) -> Array:  # noqa: ANN401 (the module cupy)
    return xp.asarray([array.data.ptr for array in arrays], dtype="uint64")


def _launch(
    name: str,
    grid: tuple[int, ...],
    *arguments: Any,  # noqa: ANN401 (arrays and integers)
    shared: int = 0,
) -> None:
    """Launch a kernel on a grid of CUDA blocks, unless the grid is empty.

    shared (int): Shared memory of a CUDA block, in floats.
    """
    if grid[0]:  # integers have 32 bits
        values = (numpy.int32(a) if isinstance(a, int) else a for a in arguments)
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
