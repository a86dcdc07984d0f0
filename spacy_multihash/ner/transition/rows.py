"""Parts of docs, one after the other, as rows: what an update walks through."""

from typing import NamedTuple

import numpy

from .actions import Actions
from .path import Openings
from .starts import Parts


class Rows(NamedTuple):
    """Parts of docs, one after the other, R rows in all.

    tokens (R,) int64: The token of each row, by position in the batch.
    stops (R,) int64: The row after the last one of the row's part.
    steps (R,) int64: How many rows the part begins before it; below 0 for tokens of an entity that
        is open before the part begins. These are features of its states and no states themselves.
    forced (Openings): The entities that are open where parts begin, as their first rows.
    begins (number of `forced`,) int64: How many rows after those the parts begin.
    """

    tokens: numpy.ndarray
    stops: numpy.ndarray
    steps: numpy.ndarray
    forced: Openings
    begins: numpy.ndarray


def lay_out(parts: Parts, actions: Actions) -> Rows:
    """Put the tokens of parts one after the other."""
    sizes = parts.ends - parts.starts
    stops = sizes.cumsum()
    firsts = stops - sizes
    within = numpy.arange(sizes.sum()) - numpy.repeat(firsts, sizes)
    before = parts.begins - parts.starts
    (is_open,) = before.nonzero()
    return Rows(
        tokens=numpy.repeat(parts.starts, sizes) + within,
        stops=numpy.repeat(stops, sizes),
        steps=within - numpy.repeat(before, sizes),
        forced=Openings(firsts[is_open], actions.B[parts.labels[is_open]]),
        begins=before[is_open],
    )
