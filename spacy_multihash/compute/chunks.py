"""Chunks of a batch: how many rows fit into the cache of a core, and how rows are cut."""

import numpy
from thinc.api import Ops

from ..common.types import Array

# Rows of a chunk. The input and output of a chunk of 1024 x 288 floats fill about the cache of one
# core (2 MB). Smaller chunks cost more in Python, larger ones in memory traffic. Measured at width
# 96 and depth 8:
#
#     rows of a chunk              128  256  512  1024  2048
#     thousand tokens a second      51   55   62    66    66
CHUNK = 1024
# Chunks are smaller in training, so that a usual batch of 1000 words is enough for two threads.
TRAINING_CHUNK = 512
# A GPU takes a usual batch at once.
GPU_CHUNK = 2**16


def on_cpu(ops: Ops) -> bool:
    """Tell whether arrays are numpy's and not CuPy's."""
    return ops.device_type == "cpu"


def count_chunks(rows: int, size: int) -> int:
    """Return how many chunks of about `size` rows to make: 1, or an even number.

    An even number of equal chunks keeps two threads busy to the end.
    """
    return 2 * round(rows / size / 2) or 1


def row_chunks(X: Array) -> list[slice]:
    """Cut the rows of an array into chunks."""
    return cut_rows(len(X), CHUNK if isinstance(X, numpy.ndarray) else GPU_CHUNK)


def cut_rows(rows: int, size: int) -> list[slice]:
    """Cut rows into chunks of about `size` rows, at most half as many again."""
    number = count_chunks(rows, size) if rows else 0
    return [slice(i * rows // number, (i + 1) * rows // number) for i in range(number)]
