"""Documents in random order, cut into splits, and what each split holds."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import accumulate, pairwise
from random import Random
from typing import TypeVar

from spacy.tokens import Doc

SPLITS = ("train", "dev", "test")
ItemT = TypeVar("ItemT")


@dataclass
class Counts:
    """What a split holds, counted while its docs pass by.

    docs, tokens (int): Their numbers.
    entities (Counter[str]): The number of entities of each label.
    cats (Counter[str]): The number of texts that have each label.
    """

    docs: int = 0
    tokens: int = 0
    entities: Counter[str] = field(default_factory=Counter)
    cats: Counter[str] = field(default_factory=Counter)

    def watch(self, docs: Iterable[Doc]) -> Iterator[Doc]:
        """Yield the docs, and count them."""
        for doc in docs:
            self.docs += 1
            self.tokens += len(doc)
            self.entities.update(ent.label_ for ent in doc.ents)
            self.cats.update(label for label, share in doc.cats.items() if share >= 0.5)
            yield doc


def cut_items(items: Sequence[ItemT], ends: Iterable[float], seed: int) -> list[list[ItemT]]:
    """Return items in random order, cut into parts.

    items (Sequence[ItemT]): The items.
    ends (Iterable[float]): The share of the items where each part ends, 0 to 1, ascending.
    seed (int): Decides the order.
    """
    shuffled = list(items)
    Random(seed).shuffle(shuffled)
    bounds = [0, *(int(end * len(shuffled)) for end in ends)]
    return [shuffled[start:end] for start, end in pairwise(bounds)]


def split_items(
    items: Sequence[ItemT], shares: Sequence[float], seed: int
) -> dict[str, list[ItemT]]:
    """Return items in random order, in the splits train, dev and test, or the first of them.

    items (Sequence[ItemT]): The items.
    shares (Sequence[float]): The share of each split. They add up to 1.
    seed (int): Decides the order.

    Raises ValueError for other shares, or if a split would be empty.
    """
    if not 2 <= len(shares) <= len(SPLITS) or min(shares) <= 0 or abs(sum(shares) - 1) > 1e-6:
        raise ValueError(
            f"Expected two or three shares above 0 that add up to 1, of {', '.join(SPLITS)}, was: "
            f"{', '.join(map(str, shares))}. Give for example 0.8,0.1,0.1."
        )
    # 0.8 + 0.1 + 0.1 is not quite 1
    ends = [round(end, 6) for end in accumulate(shares)]
    splits = dict(zip(SPLITS, cut_items(items, ends, seed), strict=False))
    for name, part in splits.items():
        if not part:
            raise ValueError(
                f"The split {name} would be empty: there are {len(items):,} documents. Give it a "
                "larger share."
            )
    return splits
