"""Which words a table of static vectors has."""

import numpy
from spacy.vectors import Mode, Vectors
from thinc.api import get_array_module, to_numpy

_BATCH = 2**14  # rows that are copied at a time


def has_vectors(vectors: Vectors, keys: numpy.ndarray) -> numpy.ndarray:
    """Tell which words have a vector, by their hashes: (n,) uint64 -> (n,) bool.

    A vector of zeros stands for none. A table of n-grams (floret) has all words.
    """
    if vectors.mode == Mode.floret:
        return numpy.ones(len(keys), dtype=bool)
    rows = to_numpy(vectors.find(keys=keys))
    found = rows >= 0
    places = rows[found]
    xp = get_array_module(vectors.data)
    there = [
        to_numpy(vectors.data[xp.asarray(places[start : start + _BATCH])].any(axis=1))
        for start in range(0, len(places), _BATCH)
    ]
    found[found] = numpy.concatenate([numpy.zeros(0, dtype=bool), *there])
    return found
