"""The kernels for a GPU, compiled for the CPU: threads meet at barriers, CUDA block by CUDA block.

These tests show that the kernels compute what they should, not that they run on a GPU. The tests of
the layers with the marker `gpu` show that.
"""

import ctypes
import shutil
import subprocess
from pathlib import Path
from typing import Any

import numpy
import pytest
from thinc.api import chain, fix_random_seed

from spacy_multihash.compute import gpu
from spacy_multihash.compute.array_ops import Docs, Layer
from spacy_multihash.compute.gpu import GpuOps
from spacy_multihash.compute.hashing import hashing_of
from spacy_multihash.compute.ops import HostOps
from spacy_multihash.embed import embeddings
from spacy_multihash.layers import TableEmbed, hash_rows, multi_embed
from tests.helpers.arrays import assert_all_close, random_vectors

SOURCE = Path(gpu.__file__).with_name("gpu.cu")
THREADS = 4
BEFORE = """
#include <math.h>
#include <barrier>
#include <cstddef>
#include <thread>
#include <type_traits>
#include <utility>
#include <vector>
#define __global__
#define __device__
#define __shared__
struct Place { unsigned x, y; };
static thread_local Place threadIdx, blockIdx;
static Place blockDim;
static std::barrier<>* everybody;
static void __syncthreads() { everybody->arrive_and_wait(); }
static void atomicAdd(float* place, float value) { *place += value; }
float shared[1 << 16];
"""
AFTER = """
template <class... Types, size_t... I>
void call(void (*kernel)(Types...), void** values, std::index_sequence<I...>) {
    kernel(*static_cast<std::remove_const_t<Types>*>(values[I])...);
}
template <class... Types>
void launch(void (*kernel)(Types...), unsigned x, unsigned y, unsigned size, void** values) {
    blockDim = {size, 1};
    for (unsigned i = 0; i < x * y; i++) {
        std::barrier<> barrier(size);
        everybody = &barrier;
        for (float& each : shared) each = NAN;  // nothing is there before it is written
        std::vector<std::thread> threads;
        for (unsigned t = 0; t < size; t++) threads.emplace_back([=, &barrier] {
            blockIdx = {i % x, i / x};
            threadIdx = {t, 0};
            call(kernel, values, std::index_sequence_for<Types...>());
            barrier.arrive_and_drop();
        });
        for (auto& thread : threads) thread.join();
    }
}
#define RUN(name) extern "C" void run_##name(unsigned x, unsigned y, unsigned n, void** values) \\
    { launch(name, x, y, n, values); }
RUN(hash_embed) RUN(hash_embed_backward) RUN(maxout_norm_forward) RUN(maxout_norm_backward)
"""


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> ctypes.CDLL:
    if not shutil.which("g++"):
        pytest.skip("no g++ to compile the kernels with")
    folder = tmp_path_factory.mktemp("kernels")
    source = BEFORE + SOURCE.read_text("utf8") + AFTER
    (folder / "kernels.cpp").write_text(source, encoding="utf8")
    command = ["g++", "-std=c++20", "-O1", "-pthread", "-fPIC", "-shared"]
    done = subprocess.run(
        [*command, "-o", "kernels.so", "kernels.cpp"], cwd=folder, capture_output=True, text=True
    )
    assert done.returncode == 0, done.stderr
    return ctypes.CDLL(str(folder / "kernels.so"))


@pytest.fixture
def on_host(library: ctypes.CDLL, monkeypatch: pytest.MonkeyPatch) -> None:
    """Launch the compiled kernels on numpy's arrays."""

    def value_of(argument: Any) -> Any:
        if isinstance(argument, numpy.ndarray):
            assert argument.flags.c_contiguous
            return ctypes.c_void_p(argument.ctypes.data)
        if isinstance(argument, numpy.uint64):
            return ctypes.c_void_p(int(argument))
        assert isinstance(argument, numpy.int32)
        return ctypes.c_int(int(argument))

    def launch(name: str, grid: tuple[int, ...], arguments: tuple[Any, ...], shared: int) -> None:
        values = [value_of(argument) for argument in arguments]
        places = (ctypes.c_void_p * len(values))(*[ctypes.addressof(value) for value in values])
        x, y = (*grid, 1)[:2]
        getattr(library, f"run_{name}")(x, y, THREADS, places)

    monkeypatch.setattr(gpu, "_run", launch)
    monkeypatch.setattr(
        gpu,
        "_addresses",
        lambda xp, arrays: numpy.asarray([a.ctypes.data for a in arrays], dtype="uint64"),
    )


@pytest.mark.usefixtures("on_host")
def test_dropout_of_tables_that_are_gathered_at_once_is_that_of_the_layers(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    layers = [
        chain(hash_rows(nV, attr="NORM", num_hashes=k, seed=k), TableEmbed(6, nV))
        for nV, k in [(50, 4), (7, 1)]
    ]
    model = multi_embed(*layers, dropout=0.5).initialize()
    ids = numpy.random.default_rng(0).integers(0, 2**64, (9, 2), dtype="uint64")
    d_vectors = random_vectors(9, 12)
    results: list[list[numpy.ndarray]] = []
    for ops in (HostOps(), GpuOps()):
        monkeypatch.setattr(embeddings, "operations", lambda _, ops=ops: ops)
        fix_random_seed(3)
        vectors, backprop = model.begin_update(ids)
        backprop(d_vectors)
        results.append([vectors, *(layer.layers[1].get_grad("E") for layer in layers)])
        for layer in layers:
            layer.layers[1].set_grad("E", numpy.zeros_like(layer.layers[1].get_param("E")))
    assert 0 < (results[0][0] == 0).all(axis=0).sum() < 12
    assert_all_close(*results, atol=1e-6)


@pytest.mark.usefixtures("on_host")
@pytest.mark.parametrize("n", [0, 1, 9])
def test_hashing_and_gathering_at_once_equals_array_code(n: int) -> None:
    hashing = hashing_of(((50, 4, 1), (7, 1, 8), (30, 16, 9), (1000, 5, 2**32 - 1)))
    ids = numpy.random.default_rng(0).integers(0, 2**64, (n, 4), dtype="uint64")
    tables = [random_vectors(nV, 6) for nV in hashing.nV.tolist()]
    d_vectors, results = random_vectors(n, 24), []
    for ops in (HostOps(), GpuOps()):
        vectors, rows = ops.hash_embed(ids, tables, hashing)
        gradients = [numpy.zeros_like(table) for table in tables]
        ops.backprop_hash_embed(gradients, hashing, rows, d_vectors)
        results.append([vectors, *gradients])
    assert_all_close(*results, atol=1e-5)


@pytest.mark.usefixtures("on_host")
@pytest.mark.parametrize("nP", [1, 3])
@pytest.mark.parametrize("n", [0, 1, 9])
def test_maxout_norm_both_ways_equals_array_code(n: int, nP: int) -> None:
    X, dY = random_vectors(n, 7), random_vectors(n, 5, seed=1)
    W, b, G, beta = (random_vectors(35 * nP, 1, seed).ravel() for seed in range(4))
    layer = Layer(W.reshape(5, nP, 7), b[: 5 * nP].reshape(5, nP), G[:5].copy(), beta[:5].copy())
    docs, results = Docs(numpy.array([n])), []
    for ops in (HostOps(), GpuOps()):
        Y, cache = ops.window_maxout(X, layer, docs, is_train=True)
        assert cache is not None
        gradients: Any = tuple(numpy.zeros_like(param) for param in layer[:4])
        dX = ops.backprop_window_maxout(dY, X, layer, docs, cache, gradients)
        results.append([Y, *cache, dX, *gradients])
    assert_all_close(*results, rtol=1e-4, atol=1e-4)


def test_source_compiles_for_a_gpu(tmp_path: Path) -> None:
    if not shutil.which("nvcc"):
        pytest.skip("no nvcc to compile the kernels with")
    command = ["nvcc", "-ptx", "-o", str(tmp_path / "gpu.ptx"), str(SOURCE)]
    done = subprocess.run(command, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    ptx = (tmp_path / "gpu.ptx").read_text("utf8")
    for name in ("hash_embed", "hash_embed_backward", "maxout_norm_forward"):
        assert f".entry {name}(" in ptx
