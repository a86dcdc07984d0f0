"""Work in chunks: each on memory that is there already, several in threads."""

import numpy
from thinc.api import Ops

from ..common.types import Array

# Rows of a chunk. A chunk of 1024 x 288 floats, in and out, is about the cache of one core (2 MB);
# smaller ones pay more for Python, larger ones for memory: 51, 55, 62, 66 and 66 thousand tokens a
# second at 128, 256, 512, 1024 and 2048 (width 96, depth 8).
CHUNK = 1024
# In training, smaller, so that a usual batch of 1000 words is enough for two threads.
TRAINING_CHUNK = 512
# A GPU takes a usual batch at once.
GPU_CHUNK = 2**16


def on_cpu(ops: Ops) -> bool:
    """Tell whether arrays are numpy's."""
    return ops.device_type == "cpu"


def count_chunks(rows: int, size: int) -> int:
    """Say how many chunks of about `size` rows to make: 1, or an even number.

    Equal chunks in an even number keep two threads busy to the end.
    """
    return 2 * round(rows / size / 2) or 1


def row_chunks(X: Array) -> list[slice]:
    """Cut rows into chunks."""
    rows, size = len(X), CHUNK if isinstance(X, numpy.ndarray) else GPU_CHUNK
    number = count_chunks(rows, size) if rows else 0
    return [slice(i * rows // number, (i + 1) * rows // number) for i in range(number)]
