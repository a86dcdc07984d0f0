"""Arrays of fewer bits in MessagePack, which srsly reads as float32.

srsly decodes maps with the functions in the entry point group srsly_msgpack_decoders, so the
weights of any component load as usual, without any change in the component. Every process that
reads MessagePack imports this module, so it only imports numpy.
"""

from collections.abc import Callable
from typing import Any, Optional

import numpy

from ..compute.quantization import Precision, dequantize, quantize, quantize_exactly

CODES = "spacy-multihash.codes"
SCALES = "scales"


def pack_array(X: numpy.ndarray, precision: Precision, *, lossy: bool) -> Any:  # noqa: ANN401
    """Return an array (..., n) float32 in its saved form: a map of codes, or the array itself.

    precision (Precision): The precision of the codes. "float32" returns the array itself.
    lossy (bool): Whether numbers may change. If not, an array is only packed if its codes decode to
        the same bits, as after loading a packed array.

    Raises the errors of `quantize`, if lossy.
    """
    if precision == "float32":
        return X
    packed = quantize(X, precision) if lossy else quantize_exactly(X, precision)
    return X if packed is None else {CODES: packed.codes, SCALES: packed.scales}


def decode(value: dict[Any, Any], chain: Optional[Callable[[dict[Any, Any]], Any]] = None) -> Any:  # noqa: ANN401 (what a map stands for)
    """Decode a map of codes to a float32 array, and pass other maps to `chain`."""
    if CODES in value:
        codes, scales = value[CODES], value.get(SCALES)
        _check(codes, scales)
        return dequantize(codes, scales)
    return value if chain is None else chain(value)


def _check(codes: Any, scales: Any) -> None:  # noqa: ANN401 (whatever a file holds)
    """Raise ValueError unless these are codes, and a scale for each row if they're int8."""
    if _is_array(codes, "f", 2) and scales is None:
        return
    if _is_array(codes, "i", 1) and codes.ndim >= 2 and _is_array(scales, "f", 4):
        if scales.size == codes.size // max(codes.shape[-1], 1):
            return
    raise ValueError(
        "A packed array is damaged: expected float16 codes, or int8 codes with a float32 scale for "
        "each row. Copy the file of the weights, or compress the pipeline, again."
    )


def _is_array(value: object, kind: str, size: int) -> bool:
    """Check for an array of numbers of a kind and a size in bytes, in any byte order."""
    return isinstance(value, numpy.ndarray) and (value.dtype.kind, value.itemsize) == (kind, size)
