"""The compiled kernels of layers over windows compute what array code does.

Array code is compared with plain loops in test_maxout_norm.py and in tests/encode.
"""

import os
import subprocess
import sys
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from spacy_multihash.compute import dispatch
from spacy_multihash.compute.array_ops import Docs, Layer
from spacy_multihash.compute.dispatch import available_kernels
from spacy_multihash.compute.ops import operations
from tests.helpers.kernels import assert_same_with_threads, using_kernels
from tests.helpers.paths import ROOT

pytestmark = pytest.mark.skipif(available_kernels() == ["none"], reason="needs the kernels")
# Around those of vectors and blocks
WIDTHS = st.one_of(st.integers(1, 41), st.sampled_from([64, 96, 97, 255]))


def whole_numbers(rng: numpy.random.Generator, shape: tuple[int, ...]) -> numpy.ndarray:
    """Draw numbers whose sums of products are exact, so that all kernels have the same ties."""
    return rng.integers(-3, 4, size=shape).astype("float32")


def draw_layer(rng: numpy.random.Generator, nO: int, nP: int, nI: int, **settings: Any) -> Layer:
    columns = (2 * settings.get("window", 0) + 1) * nI
    shapes = [(nO, nP, columns), (nO, nP), (nO,), (nO,)]
    params = [whole_numbers(rng, shape) for shape in shapes]
    if not settings.pop("norm", True):
        params = params[:2]
    return Layer(*params, **settings)


def everything(
    kernels: str, X: numpy.ndarray, dY: numpy.ndarray, layer: Layer, docs: Docs, mask: Any
) -> list[Any]:
    with using_kernels(kernels):
        Y, cache = operations(X).window_maxout(X, layer, docs, mask=mask, is_train=True)
        assert cache is not None
        assert_array_equal(operations(X).window_maxout(X, layer, docs, mask=mask)[0], Y)
        gradients = [None if param is None else numpy.ones_like(param) for param in layer[:4]]
        dX = operations(X).backprop_window_maxout(
            dY, X, layer, docs, cache, tuple(gradients), mask=mask
        )
    return [Y, cache.which, dX, *gradients]


def assert_same(X: numpy.ndarray, layer: Layer, docs: Docs, mask: Any, seed: int = 0) -> None:
    rng = numpy.random.default_rng(seed)
    dY = rng.normal(size=(docs.rows, len(layer.W))).astype("float32")
    results = [everything(kernels, X, dY, layer, docs, mask) for kernels in available_kernels()]
    for result in results[:-1]:
        for found, expected in zip(result, results[-1], strict=True):
            if expected is not None:
                scale = abs(expected).max(initial=1)
                assert_allclose(found, expected, atol=2e-5 * scale, rtol=0)


@given(data=st.data())
def test_kernels_equal_array_code(data: st.DataObject) -> None:
    rng = numpy.random.default_rng(data.draw(st.integers(0, 999)))
    nO, nI = (data.draw(WIDTHS) for _ in range(2))
    nP, window = data.draw(st.integers(1, 5)), data.draw(st.sampled_from([0, 1, 2, 3, 5]))
    residual = data.draw(st.booleans())
    layer = draw_layer(
        rng,
        nI if residual else nO,
        nP,
        nI,
        window=window,
        residual=residual,
        dilation=data.draw(st.sampled_from([1, 1, 2, 7, 10**6])),
        relu=nP == 1 and data.draw(st.booleans()),
        norm=data.draw(st.booleans()) and nO > 1,
    )
    lengths = data.draw(st.lists(st.sampled_from([0, 1, 2, 5, 20, 63, 64, 65, 257]), max_size=5))
    docs = Docs(
        numpy.array(lengths, dtype="int64"), *data.draw(st.tuples(*[st.integers(0, 3)] * 2))
    )
    docs = docs._replace(pad=data.draw(st.booleans()))
    if window == 0:
        docs = docs._replace(after=docs.before)
    X = whole_numbers(rng, (docs._replace(after=docs.before).rows, nI))
    mask = None
    if data.draw(st.booleans()):
        mask = (rng.random((docs.rows, len(layer.W))) < 0.7).astype("float32") / 0.7
    assert_same(X, layer, docs, mask)


@pytest.mark.usefixtures("each_kernels")
@pytest.mark.parametrize("value", [numpy.nan, numpy.inf, -numpy.inf])
def test_what_is_not_finite_comes_out_as_such(value: float) -> None:
    rng = numpy.random.default_rng(0)
    X = rng.normal(size=(9, 8)).astype("float32")
    X[4, 3] = value
    ops, docs = operations(X), Docs(numpy.array([9]))
    layer = draw_layer(rng, 5, 3, 8, norm=False)
    relu = draw_layer(rng, 5, 1, 8, norm=False, relu=True)
    with numpy.errstate(invalid="ignore"):
        plain, _ = ops.window_maxout(X, layer, docs)
        rectified, _ = ops.window_maxout(X, relu, docs)
        normed, _ = ops.window_maxout(X, draw_layer(rng, 5, 3, 8), docs)
    sums = (layer.W.astype("float64") @ X.T.astype("float64")).max(axis=1).T
    expected = numpy.where(numpy.isnan(value), numpy.nan, numpy.sign(sums[4]) * numpy.inf)
    assert_array_equal(plain[4], expected)
    with numpy.errstate(invalid="ignore"):
        assert_array_equal(rectified[4], numpy.maximum(relu.W[:, 0] @ X[4], 0))
    assert numpy.isnan(normed[4]).all()
    assert numpy.isfinite(numpy.delete(plain, 4, axis=0)).all()
    assert numpy.isfinite(numpy.delete(normed, 4, axis=0)).all()


@pytest.mark.usefixtures("each_kernels")
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
    is_number = numpy.isfinite(expected)
    assert_array_equal(cache.which[:, is_number], numpy.tile(which[is_number], (rows, 1)))


@pytest.mark.parametrize("kernels", available_kernels()[:-1])
def test_results_do_not_depend_on_threads(kernels: str) -> None:
    rng = numpy.random.default_rng(0)
    layer = draw_layer(rng, 24, 3, 24, window=1, residual=True)
    docs = Docs(numpy.array([1000, 3, 700]), 1, 1, pad=True)
    X, dY = rng.normal(size=(2, docs.rows, 24)).astype("float32")
    assert_same_with_threads(lambda: everything(kernels, X, dY, layer, docs, None))


@pytest.mark.usefixtures("each_kernels")
@pytest.mark.parametrize("lengths", [[3, 1000], [1000, 3], [3, 600, 3, 600, 3], [1] * 600])
@pytest.mark.parametrize("pad", [False, True])
def test_encoders_do_not_depend_on_threads(lengths: list[int], pad: bool) -> None:
    rng = numpy.random.default_rng(0)
    layers = [draw_layer(rng, 40, 3, 40, window=1, residual=True, norm=False) for _ in range(3)]
    X = rng.normal(size=(sum(lengths), 40)).astype("float32")
    ops = operations(X)
    assert_same_with_threads(
        lambda: [ops.encode(X, ops.encoder(layers, pad=pad), numpy.array(lengths))]
    )


def test_all_processes_choose_the_same_kernels() -> None:
    code = "from spacy_multihash.compute import dispatch; print(dispatch.chosen_kernels())"
    environment = {name: value for name, value in os.environ.items() if name != dispatch.VARIABLE}
    chosen = {
        subprocess.check_output([sys.executable, "-c", code], env=environment, cwd=ROOT, text=True)
        for _ in range(2)
    }
    assert chosen == {f"{dispatch.kernels.best()}\n"}
    assert dispatch.kernels.best() in available_kernels()
