"""Arrays of fewer bits in MessagePack, which every reader of srsly gets as float32.

srsly asks the functions of the entry point group srsly_msgpack_decoders what a map stands for. So
the weights of any component load in thinc's own way, and the component knows nothing of it. This
module is imported by every process that reads MessagePack: it imports numpy alone.
"""

from collections.abc import Callable
from typing import Any, Optional

import numpy

from ..compute.quantization import Precision, narrow, narrow_exactly, widen

CODES = "spacy-multihash.codes"
SCALES = "scales"


def pack_array(X: numpy.ndarray, precision: Precision, *, lossy: bool) -> Any:  # noqa: ANN401
    """Return what an array (..., n) float32 is saved as: a map of codes, or the array itself.

    precision (Precision): That of the codes. The array stays as it is for "float32".
    lossy (bool): Whether numbers may change. If not, an array stays as it is unless its codes stand
        for it bit by bit, as after loading what was packed before.

    Raises what `narrow` raises, if lossy.
    """
    if precision == "float32":
        return X
    found = narrow(X, precision) if lossy else narrow_exactly(X, precision)
    return X if found is None else {CODES: found.codes, SCALES: found.scales}


def decode(value: dict[Any, Any], chain: Optional[Callable[[dict[Any, Any]], Any]] = None) -> Any:  # noqa: ANN401 (what a map stands for)
    """Return the array that a map of codes stands for, float32, and leave other maps to `chain`."""
    if CODES in value:
        return widen(value[CODES], value[SCALES])
    return value if chain is None else chain(value)
