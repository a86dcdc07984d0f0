"""Products of many rows by packed weights, and what may not depend on where packing begins."""

import os
import subprocess
import sys
from collections.abc import Iterator

import numpy
import pytest
from numpy.testing import assert_allclose, assert_array_equal

from spacy_multihash import set_threads
from spacy_multihash.compute import dispatch
from spacy_multihash.compute.array_ops import Docs, Layer
from spacy_multihash.compute.dispatch import available_kernels
from spacy_multihash.compute.ops import operations
from tests.helpers.kernels import using_kernels
from tests.helpers.paths import ROOT

pytestmark = pytest.mark.skipif(available_kernels() == ["none"], reason="needs the kernels")
COMPILED = [name for name in available_kernels() if name != "none"]
# On both sides of the numbers from which weights are packed
ROWS = (1, 7, 31, 32, 33, 63, 64, 65, 71, 130)


@pytest.fixture(params=COMPILED)
def each_compiled(request: pytest.FixtureRequest) -> Iterator[None]:
    with using_kernels(request.param):
        yield


def draw(rng: numpy.random.Generator, *shape: int) -> numpy.ndarray:
    return rng.normal(size=shape).astype("float32")


@pytest.mark.usefixtures("each_compiled")
@pytest.mark.parametrize("rows", ROWS)
@pytest.mark.parametrize(
    ("nO", "nP", "nI"),
    [
        (1, 1, 1),
        (5, 2, 3),
        (9, 1, 17),
        (16, 3, 8),
        (17, 4, 31),
        (24, 2, 5),
        (37, 7, 20),
        (96, 1, 4),
    ],
)
def test_the_largest_pieces_are_those_of_plain_sums(rows: int, nO: int, nP: int, nI: int) -> None:
    rng = numpy.random.default_rng(0)
    X, W, b = draw(rng, rows, nI), draw(rng, nO, nP, nI), draw(rng, nO, nP)
    Y, cache = operations(X).window_maxout(X, Layer(W, b), Docs(numpy.array([rows])), is_train=True)
    sums = numpy.einsum("ni,opi->nop", X.astype("float64"), W.astype("float64")) + b
    assert_allclose(Y, sums.max(axis=2), atol=1e-4)
    assert cache is not None
    assert_allclose(numpy.take_along_axis(sums, cache.which[..., None], 2)[..., 0], Y, atol=1e-4)


@pytest.mark.usefixtures("each_compiled")
@pytest.mark.parametrize("rows", [9, 80])
def test_pieces_that_are_equal_or_nan(rows: int) -> None:
    W, b = numpy.zeros((20, 5, 2), "float32"), numpy.ones((20, 5), "float32")
    b[3, 2] = b[18, 4] = numpy.nan
    b[4, 3], b[5] = 2, -numpy.inf
    X, docs = numpy.ones((rows, 2), "float32"), Docs(numpy.array([rows]))
    Y, cache = operations(X).window_maxout(X, Layer(W, b), docs, is_train=True)
    expected, which = numpy.ones(20), numpy.zeros(20)
    expected[[3, 18]], expected[4], expected[5] = numpy.nan, 2, -numpy.inf
    which[[4]] = 3
    assert_array_equal(Y, numpy.tile(expected, (rows, 1)))
    assert cache is not None
    known = numpy.isfinite(expected)
    assert_array_equal(cache.which[:, known], numpy.tile(which[known], (rows, 1)))


@pytest.mark.usefixtures("each_compiled")
@pytest.mark.parametrize("lengths", [[3, 1000], [1000, 3], [3, 600, 3, 600, 3], [1] * 600])
@pytest.mark.parametrize("pad", [False, True])
def test_encoders_do_not_depend_on_threads(lengths: list[int], pad: bool) -> None:
    rng = numpy.random.default_rng(0)
    layers = [
        Layer(draw(rng, 40, 3, 120), draw(rng, 40, 3), window=1, residual=True) for _ in range(3)
    ]
    X, results = draw(rng, sum(lengths), 40), []
    for threads in (1, 2, 5):
        former = set_threads(threads)
        ops = operations(X)
        results.append(ops.encode(X, ops.encoder(layers, pad=pad), numpy.array(lengths)))
        set_threads(former)
    for result in results[1:]:
        assert_array_equal(result, results[0])


def test_all_processes_choose_the_same_kernels() -> None:
    code = "from spacy_multihash.compute import dispatch; print(dispatch.chosen_kernels())"
    environment = {name: value for name, value in os.environ.items() if name != dispatch.VARIABLE}
    chosen = {
        subprocess.check_output([sys.executable, "-c", code], env=environment, cwd=ROOT, text=True)
        for _ in range(2)
    }
    assert chosen == {f"{dispatch.kernels.best()}\n"}
    assert dispatch.kernels.best() in available_kernels()
