"""The symbols of docs, which are values of token attributes, counted."""

from collections import Counter
from collections.abc import Iterable, Mapping

from ..common.types import DocLike

# Attribute name -> symbol id -> how often it was seen.
Counts = dict[str, Counter[int]]


def count_symbols(docs: Iterable[DocLike], attrs: Mapping[str, int]) -> Counts:
    """Count the symbols of docs, which are read once and not kept.

    docs (Iterable[DocLike]): The docs.
    attrs (Mapping[str, int]): Name and id of each attribute.
    RETURNS (Counts): How often each id occurs, for each attribute.
    """
    counts: Counts = {name: Counter() for name in attrs}
    columns = list(attrs.values())
    for doc in docs if columns else ():
        ids = doc.to_array(columns).reshape((-1, len(columns)))  # (N, A) uint64
        for name, column in zip(attrs, ids.T, strict=True):
            counts[name].update(column.tolist())
    return counts
