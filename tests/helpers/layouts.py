"""The same numbers, laid out otherwise in memory."""

from collections.abc import Callable
from typing import Any

import numpy


def locked(array: Any) -> Any:
    array = array.copy()
    array.flags.writeable = False
    return array


def misaligned(array: Any) -> Any:
    moved = numpy.zeros(array.nbytes + 1, dtype="uint8")[1:].view(array.dtype).reshape(array.shape)
    moved[...] = array
    return moved


LAYOUTS: dict[str, Callable[[Any], Any]] = {
    "strided": lambda array: numpy.repeat(array, 2, axis=0)[::2],
    "reversed": lambda array: array[::-1].copy()[::-1],
    "fortran": numpy.asfortranarray,
    "part": lambda array: numpy.concatenate([array, array], axis=-1)[..., : array.shape[-1]],
    "read only": locked,
    "misaligned": misaligned,
}
FLOATS = {**LAYOUTS, "float64": lambda array: array.astype("float64")}
