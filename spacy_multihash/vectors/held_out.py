"""Which words are held out, to see how good a map or a regression of the others is."""

import numpy

# Every tenth one is held out.
EVERY = 10


def number_vectors(X: numpy.ndarray) -> numpy.ndarray:
    """Number the different vectors among (n, width) in the order in which they come, (n,) int64."""
    numbers: dict[bytes, int] = {}
    found = [numbers.setdefault(row.tobytes(), len(numbers)) for row in X]
    return numpy.array(found, dtype="int64")


def is_held_out(rows: numpy.ndarray) -> numpy.ndarray:
    """Choose the words to hold out, by the numbers of their rows (n,): every tenth row, (n,) bool.

    Words that share a row have the same vector. They are held out together, or none.
    """
    _, first, row_of = numpy.unique(rows, return_index=True, return_inverse=True)
    place = numpy.empty(len(first), dtype="int64")
    place[numpy.argsort(first)] = numpy.arange(len(first))
    return numpy.asarray((place % EVERY == EVERY - 1)[row_of])
