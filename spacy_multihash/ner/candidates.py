"""Candidates: the entities that a recognizer finds possible, with their probabilities.

Both recognizers list them in the same way. The mass of an entity that has begun is the probability
of its tags or actions so far. It's at least the probability of each entity that it may become. So
all that begin are extended token by token, until little mass is left.
"""

from collections.abc import Callable, Iterator, Sequence

import numpy

from .biluo import Entities

# The first tokens of S entities, (S,), and their next tokens, (S,) -> the probabilities that they
# go on behind that token, and that they end with it, (S, K) each, for K labels. Both are 0 where an
# entity can do neither.
Step = Callable[[numpy.ndarray, numpy.ndarray], tuple[numpy.ndarray, numpy.ndarray]]
# M entities [start, end) of a batch, their labels and their masses, (M,) each.
Listed = tuple[numpy.ndarray, numpy.ndarray, numpy.ndarray, numpy.ndarray]


def extend(
    starts: numpy.ndarray, masses: numpy.ndarray, step: Step, least: float
) -> Iterator[tuple[numpy.ndarray, ...]]:
    """Extend the entities that begin with some tokens while their mass is at least `least`.

    starts (S,) int64: Their first tokens.
    masses (S, K) float64: The mass of each label.

    Yields, for each further token, the tokens [start, end) of those that are left, (S,) each, and
    their mass that ends there, that goes on but is too small, and that can do neither, (S, K) each.
    """
    ends, masses = starts + 1, numpy.where(masses >= least, masses, 0)
    while True:
        alive = masses.any(axis=1)
        starts, ends, masses = starts[alive], ends[alive], masses[alive]
        if not len(starts):
            return
        goes_on, closes = step(starts, ends)
        after = masses * goes_on
        cut = numpy.where(after < least, after, 0)
        stuck = numpy.where((goes_on == 0) & (closes == 0), masses, 0)
        ends = ends + 1
        yield starts, ends, masses * closes, cut, stuck
        masses = after - cut


def at_least(
    above: float, starts: numpy.ndarray, ends: numpy.ndarray, masses: numpy.ndarray
) -> Listed:
    """List the entities [start, end), (S,) each, of the labels with enough mass, (S, K)."""
    rows, labels = (masses >= above).nonzero()
    return starts[rows], ends[rows], labels, masses[rows, labels]


def in_order(listed: Sequence[Listed]) -> tuple[Entities, numpy.ndarray]:
    """Join lists of entities, by start, end and label. Returns their masses too, (M,)."""
    columns = [numpy.concatenate(column) for column in zip(*listed, strict=True)]
    order = numpy.lexsort(columns[2::-1])
    starts, ends, labels, masses = (column[order] for column in columns)
    return Entities(starts, ends, labels), masses
