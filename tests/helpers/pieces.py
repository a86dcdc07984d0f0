"""Corpora in pieces, and what was counted of them, merged."""

from collections.abc import Callable, Sequence
from itertools import pairwise
from typing import TypeVar

from hypothesis import strategies as st

T = TypeVar("T")

# Docs as lists of words, of which some are frequent.
WORDS = st.sampled_from(["Anna", "anna", "met", "Bob", "in", "Rome", "rome", "1999", "ä", "."])
TEXTS = st.lists(st.lists(WORDS, max_size=6), max_size=12)


def cut(items: Sequence[T], data: st.DataObject) -> list[Sequence[T]]:
    """Cut items into pieces, some of them empty."""
    ends = sorted(data.draw(st.lists(st.integers(0, len(items)), max_size=4)))
    return [items[start:end] for start, end in pairwise([0, *ends, len(items)])]


def merged(parts: Sequence[T], merge: Callable[[T, T], T], data: st.DataObject) -> T:
    """Merge parts, each with the next one, in any tree."""
    left = list(parts)
    while len(left) > 1:
        i = data.draw(st.integers(0, len(left) - 2))
        left[i : i + 2] = [merge(left[i], left[i + 1])]
    return left[0]
