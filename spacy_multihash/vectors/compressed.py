"""The small files of compressed pipelines' vectors: rows of codes, and keys in sorted arrays."""

from pathlib import Path

import numpy
import srsly

from ..compute.quantization import widen
from .sorted_keys import SortedKeys, unpack_keys

TABLE, KEYS = "vectors", "vectors.keys"


def is_compressed(folder: Path) -> bool:
    """Tell whether the vectors of a vocab's folder are rows of codes."""
    if not (folder / TABLE).is_file():
        return False
    with (folder / TABLE).open("rb") as file_:
        try:
            version = numpy.lib.format.read_magic(file_)
            read = numpy.lib.format.read_array_header_1_0
            return version == (1, 0) and read(file_)[2].names is not None
        except Exception:  # of a damaged file: who reads the table says what is wrong
            return False


def read_rows(path: Path) -> numpy.ndarray:
    """Read rows of codes as numbers, (rows, width) float32.

    Raises what numpy raises if the file is damaged.
    """
    with path.open("rb") as file_:
        records = numpy.load(file_, allow_pickle=False)[:, 0]
    scales = records["scale"] if "scale" in records.dtype.names else None
    return widen(records["codes"], scales)


def read_keys(path: Path) -> SortedKeys:
    """Read keys. Raises what srsly or `unpack_keys` raise if the file is damaged."""
    return unpack_keys(srsly.read_msgpack(path))
