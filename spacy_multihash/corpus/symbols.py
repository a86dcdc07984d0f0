"""Count symbols: ids of attributes, features and n-grams, for statistics and tables."""

from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import islice
from typing import TypeVar

import numpy

from ..common.arguments import checked
from ..common.types import Counts, DocLike

DOC_BATCH = 256  # docs whose symbols are found at a time
# Pending ids are counted once there are more than this, and more than unique ids so far.
_PENDING = 2**22

DocT = TypeVar("DocT", bound=DocLike)
# Lists the symbols (M,) uint64 of docs, as often as they count.
Extract = Callable[[Sequence[DocT]], numpy.ndarray]


class IdCounter:
    """Counts ids. Its memory only grows with the number of unique ids."""

    def __init__(self) -> None:
        """Start without ids."""
        self._keys, self._counts = numpy.zeros(0, "uint64"), numpy.zeros(0, "uint64")
        self._pending: list[numpy.ndarray] = []
        self._size = 0

    def add(self, ids: numpy.ndarray) -> None:
        """Count ids (N,) uint64."""
        self._pending.append(ids)
        self._size += len(ids)
        if self._size > max(len(self._keys), _PENDING):
            self._add_pending()

    def counts(self) -> tuple[numpy.ndarray, numpy.ndarray]:
        """Return the unique ids (V,) uint64 in ascending order, and how often each was seen."""
        self._add_pending()
        return self._keys, self._counts

    def _add_pending(self) -> None:
        ids = numpy.concatenate([*self._pending, self._keys[:0]])
        keys, counts = numpy.unique(ids, return_counts=True)
        both = numpy.concatenate([self._keys, keys])
        added = numpy.concatenate([self._counts, counts.astype("uint64")])
        self._keys, self._counts = sum_up(both, added)
        self._pending, self._size = [], 0


def sum_up(keys: numpy.ndarray, counts: numpy.ndarray) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Add up the counts (N,) of equal keys (N,) uint64: unique keys and their sums, (V,) uint64."""
    unique, places = numpy.unique(keys, return_inverse=True)
    return unique, numpy.bincount(places, counts, len(unique)).astype("uint64")


def count_ids(docs: Iterable[DocT], extract: Mapping[str, Extract[DocT]]) -> dict[str, IdCounter]:
    """Count the symbols that each function finds in docs, which are read once and not kept."""
    counters = {name: IdCounter() for name in extract}
    stream = iter(docs if extract else ())
    while batch := list(islice(stream, DOC_BATCH)):
        for name, ids_of in extract.items():
            counters[name].add(ids_of(batch))
    return counters


def attr_ids(attr: int, docs: Sequence[DocLike]) -> numpy.ndarray:
    """List the values (N,) uint64 of an attribute of all tokens."""
    return numpy.concatenate([doc.to_array([attr]).ravel() for doc in docs])


@checked
def count_symbols(docs: Iterable[DocLike], attrs: Mapping[str, int]) -> Counts:
    """Count the symbols of docs, in one pass.

    docs (Iterable[DocLike]): The docs.
    attrs (Mapping[str, int]): Name and id of each attribute.
    RETURNS (Counts): How often each id occurs, for each attribute.
    """
    counters = count_ids(docs, {name: partial(attr_ids, attr) for name, attr in attrs.items()})
    return {
        name: Counter(dict(zip(*(x.tolist() for x in counter.counts()), strict=True)))
        for name, counter in counters.items()
    }
