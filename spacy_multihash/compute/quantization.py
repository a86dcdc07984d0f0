"""Numbers of fewer bits: float16, and int8 with a scale a row.

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


class Codes(NamedTuple):
    """What stands for an array of numbers.

    codes (numpy.ndarray): The shape of the array, of float16, int8 or float32.
    scales (Optional[numpy.ndarray]): A float32 for each row, which multiplies int8 codes.
    """

    codes: numpy.ndarray
    scales: Optional[numpy.ndarray] = None


def narrow(X: numpy.ndarray, precision: Precision) -> Codes:
    """Give an array (..., n) float32 fewer bits. Its rows are along the last axis.

    float16 rounds each number. int8 is off by half a scale at most, where the scale of a row is its
    largest number divided by 127. Rows of 4 numbers or fewer, and an array of one axis, become
    float16 instead, since scales would take more than they save.

    Raises ValueError for NaN, infinity, and numbers that float16 does not hold.
    """
    check_finite(X)
    if precision == "float32":
        return Codes(X)
    if precision == "float16" or X.ndim < 2 or X.shape[-1] <= _SHORT:
        return Codes(to_half(X))
    rows = X.reshape(-1, X.shape[-1])
    scales = scales_of(rows)
    return Codes(to_bytes(rows, scales).reshape(X.shape), scales)


def widen(codes: numpy.ndarray, scales: Optional[numpy.ndarray] = None) -> numpy.ndarray:
    """Return the numbers that codes stand for, float32."""
    X = codes.astype("float32")
    if scales is not None:
        X *= scales.reshape(*codes.shape[:-1], 1)
    return X


def is_exact(X: numpy.ndarray, found: Codes) -> bool:
    """Tell whether codes stand for an array bit by bit."""
    return bool(numpy.array_equal(widen(*found), X))


def is_rounded(X: numpy.ndarray, Y: numpy.ndarray, precision: Precision) -> bool:
    """Tell whether an array X has the numbers that the codes of Y stand for."""
    try:
        return is_exact(X, narrow(Y, precision))
    except ValueError:  # numbers that float16 does not hold
        return False


def narrow_exactly(X: numpy.ndarray, precision: Precision) -> Optional[Codes]:
    """Give an array fewer bits if these stand for it bit by bit. Return None if they do not."""
    try:
        found = narrow(X, precision)
    except ValueError:
        return None
    return found if is_exact(X, found) else None


def scales_of(X: numpy.ndarray) -> numpy.ndarray:
    """Return what the codes of each row are multiplied by, (rows, n) -> (rows,) float32."""
    largest = numpy.abs(X).max(axis=1, initial=0).astype("float32")
    scales = numpy.maximum(largest / numpy.float32(_LARGEST_CODE), _LEAST_SCALE)
    return numpy.where(largest > 0, scales, numpy.float32(0))


def to_bytes(X: numpy.ndarray, scales: numpy.ndarray) -> numpy.ndarray:
    """Return the codes of rows, (rows, n) and scales (rows,) -> (rows, n) int8."""
    divisors = numpy.where(scales == 0, 1, scales)[:, None]
    return numpy.rint(X / divisors).clip(-_LARGEST_CODE, _LARGEST_CODE).astype("int8")


def to_half(X: numpy.ndarray) -> numpy.ndarray:
    """Return numbers as float16. Raises ValueError for numbers that are too large."""
    if numpy.abs(X).max(initial=0) > _LARGEST_HALF:
        raise ValueError(
            f"float16 holds numbers up to {_LARGEST_HALF:,.0f}, but the table has a larger number. "
            "Scale it first, or take int8."
        )
    return X.astype("float16")


def check_finite(X: numpy.ndarray) -> None:
    """Raise ValueError if an array has NaN or infinity."""
    if not numpy.isfinite(X).all():
        raise ValueError(
            f"{numpy.count_nonzero(~numpy.isfinite(X)):,} of {X.size:,} numbers are NaN or "
            "infinite. Train the pipeline again."
        )
