"""Quantize arrays to float16, or to int8 with a scale for each row, and back.

It needs numpy alone: whatever reads a compressed pipeline imports it first.
"""

from typing import Literal, NamedTuple, Optional, get_args

import numpy

Precision = Literal["float16", "int8", "float32"]
PRECISIONS: tuple[Precision, ...] = get_args(Precision)

_LARGEST_CODE = 127
_SHORT = 4  # the numbers of a row for which int8 and a scale take as much as float16
_LARGEST_HALF = float(numpy.finfo("float16").max)
# Below it, a float32 has fewer bits, and a scale would be too far off.
_LEAST_SCALE = numpy.finfo("float32").tiny


class Quantized(NamedTuple):
    """A quantized array: codes, and the scale of each row.

    codes (numpy.ndarray): The shape of the array, of float16, int8 or float32.
    scales (Optional[numpy.ndarray]): A float32 for each row, which multiplies int8 codes.
    """

    codes: numpy.ndarray
    scales: Optional[numpy.ndarray] = None


def quantize(X: numpy.ndarray, precision: Precision) -> Quantized:
    """Quantize an array (..., n) float32, whose rows are along the last axis.

    float16 rounds each number. With int8, no number is off by more than half the scale of its row,
    which is the row's largest number divided by 127. Rows of 4 numbers or fewer, and an array of
    one axis, become float16 instead, because their scales would take more space than int8 saves.

    Raises ValueError for NaN, infinity, and numbers that float16 does not hold.
    """
    if wrong := numpy.count_nonzero(~numpy.isfinite(X)):
        raise ValueError(
            f"{wrong:,} of {X.size:,} numbers are NaN or infinite. Train the pipeline again."
        )
    if precision == "float32":
        return Quantized(X)
    if precision == "float16" or X.ndim < 2 or X.shape[-1] <= _SHORT:
        if numpy.abs(X).max(initial=0) > _LARGEST_HALF:
            raise ValueError(
                f"float16 holds numbers up to {_LARGEST_HALF:,.0f}, but the table has a larger "
                "number. Scale it first, or take int8."
            )
        return Quantized(X.astype("float16"))
    rows = X.reshape(-1, X.shape[-1])
    largest = numpy.abs(rows).max(axis=1, initial=0).astype("float32")
    scales = numpy.maximum(largest / numpy.float32(_LARGEST_CODE), _LEAST_SCALE)
    scales = numpy.where(largest > 0, scales, numpy.float32(0))
    codes = numpy.rint(rows / numpy.where(scales == 0, 1, scales)[:, None])
    codes = codes.clip(-_LARGEST_CODE, _LARGEST_CODE).astype("int8")
    return Quantized(codes.reshape(X.shape), scales)


def dequantize(codes: numpy.ndarray, scales: Optional[numpy.ndarray] = None) -> numpy.ndarray:
    """Return the array of numbers, float32: codes times scales."""
    X = codes.astype("float32")
    if scales is not None:
        X *= scales.reshape(*codes.shape[:-1], 1)
    return X


def quantize_exactly(
    X: numpy.ndarray, precision: Precision, of: Optional[numpy.ndarray] = None
) -> Optional[Quantized]:
    """Quantize an array without any change of its numbers, or return None if that's impossible.

    of (Optional[numpy.ndarray]): What gets fewer bits, if not X itself.
    """
    try:
        quantized = quantize(X if of is None else of, precision)
    except ValueError:  # numbers that float16 does not hold
        return None
    return quantized if numpy.array_equal(dequantize(*quantized), X) else None
