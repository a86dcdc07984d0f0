"""Which vectors are held out, to see how good a map or a regression of the others is."""

import numpy

# Every tenth vector is held out.
EVERY = 10


def number_vectors(X: numpy.ndarray) -> numpy.ndarray:
    """Number the different vectors among (n, width) in the order in which they come, (n,) int64."""
    numbers: dict[bytes, int] = {}
    found = [numbers.setdefault(row.tobytes(), len(numbers)) for row in X]
    return numpy.array(found, dtype="int64")


def is_held_out(X: numpy.ndarray) -> numpy.ndarray:
    """Choose the vectors (n, width) to hold out: every tenth one that differs, (n,) bool.

    Words that share a row of a table have the same vector. They are held out together, or none.
    """
    return numpy.asarray(number_vectors(X) % EVERY == EVERY - 1)
