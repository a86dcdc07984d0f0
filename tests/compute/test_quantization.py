"""Fewer bits, and back: how far numbers are off, and what is refused."""

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from spacy_multihash.compute.quantization import PRECISIONS, dequantize, quantize, quantize_exactly

NUMBERS = st.floats(-(2.0**120), 2.0**120, width=32)
HALVES = st.floats(-(2.0**15), 2.0**15, width=32)


@given(arrays("float32", (2, 3, 6), elements=NUMBERS))
def test_int8_is_within_half_a_scale_of_each_row(X: numpy.ndarray) -> None:
    found = quantize(X, "int8")
    assert found.codes.dtype == "int8"
    assert found.codes.shape == X.shape
    assert numpy.abs(found.codes.astype("int16")).max() <= 127
    assert found.scales is not None
    # Where a number lies between two codes, float32 may take the wrong one.
    half = found.scales.astype("float64").reshape(2, 3, 1) / 2
    assert (numpy.abs(dequantize(*found).astype("float64") - X) <= half * (1 + 1e-4)).all()
    largest = numpy.abs(X).max(axis=2).reshape(-1)
    assert (found.scales <= largest / 127 * (1 + 2**-20) + 2.0**-125).all()


@given(arrays("float32", (4, 6), elements=NUMBERS))
def test_what_was_int8_once_is_the_same_when_it_is_int8_again(X: numpy.ndarray) -> None:
    once = dequantize(*quantize(X, "int8"))
    assert quantize_exactly(once, "int8") is not None


@given(arrays("float32", (4, 6), elements=HALVES))
def test_float16_rounds_as_numpy_does(X: numpy.ndarray) -> None:
    expected = X.astype("float16").astype("float32")
    numpy.testing.assert_array_equal(dequantize(*quantize(X, "float16")), expected)


@pytest.mark.parametrize("precision", PRECISIONS)
@pytest.mark.parametrize("shape", [(0, 8), (3, 0), (0,), (5,), (2, 4)])
def test_short_and_empty_arrays_have_no_scales(precision: str, shape: tuple[int, ...]) -> None:
    X = numpy.ones(shape, dtype="float32")
    found = quantize(X, precision)
    assert shape == (0, 8) or found.scales is None
    numpy.testing.assert_array_equal(dequantize(*found), X)


@pytest.mark.parametrize("value", [numpy.nan, numpy.inf, -numpy.inf])
@pytest.mark.parametrize("precision", PRECISIONS)
def test_number_that_is_none_is_refused(value: float, precision: str) -> None:
    X = numpy.full((2, 6), 1, dtype="float32")
    X[1, 2] = value
    with pytest.raises(ValueError, match="^1 of 12 numbers are NaN or infinite. Train"):
        quantize(X, precision)


def test_number_beyond_float16_is_refused() -> None:
    X = numpy.full((2, 6), 7e4, dtype="float32")
    with pytest.raises(ValueError, match="float16 holds numbers up to 65,504, but"):
        quantize(X, "float16")
    numpy.testing.assert_allclose(dequantize(*quantize(X, "int8")), X, rtol=1e-4)
