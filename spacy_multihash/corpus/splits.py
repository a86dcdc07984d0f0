"""Split corpora, and keep apart what belongs together."""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import accumulate, pairwise
from random import Random
from typing import NamedTuple, TypeVar

SPLITS = ("train", "dev", "test")
MIN_GROUPS = 10  # to split by groups
REGIONS = 10  # of a corpus, each with its part of dev and test
MIN_REGION = 20  # groups
ItemT = TypeVar("ItemT")


class Parts(NamedTuple):
    """The splits of a corpus.

    places (Mapping[str, list[int]]): The places of each split's items in the corpus.
    regions (Mapping[str, list[int]]): The region of each item, or nothing if it wasn't split by
        regions.
    by (str): What kept items apart: the "groups" that the corpus names, their "order", or "chance".
    """

    places: Mapping[str, list[int]]
    regions: Mapping[str, list[int]]
    by: str


def split_related(
    groups: Sequence[str],
    keys: Sequence[Hashable],
    shares: Sequence[float],
    seed: int,
    *,
    by_order: bool,
) -> Parts:
    """Split a corpus into train, dev and maybe test. Items of a group stay in one split.

    groups (Sequence[str]): The group of each item, such as its article, or "". They count if there
        are 10 or more. If they don't, items with equal keys stay in one split.
    keys (Sequence[Hashable]): The key of each item, such as its words.
    shares (Sequence[float]): The share of each split. They must add up to 1.
    by_order (bool): Whether to split by regions, if they're large enough, or at random.

    Raises ValueError for invalid shares, or if a split would be empty.
    """
    groups = [group or f"item {i}" for i, group in enumerate(groups)]
    grouped = MIN_GROUPS <= len(set(groups)) < len(groups)
    check_shares(shares)
    if by_order:
        names, regions = split_regions(groups if grouped else range(len(groups)), shares, seed)
        if not grouped:
            names = join_equals(names, keys)
        places = {
            split: [i for i, name in enumerate(names) if name == split]
            for split in SPLITS[: len(shares)]
        }
        if all(places.values()):
            of_splits = {name: [regions[i] for i in found] for name, found in places.items()}
            return Parts(places, of_splits, "groups" if grouped else "order")
    of_item: Sequence[Hashable] = groups if grouped else keys
    places = split_items(range(len(groups)), shares, seed, of_item.__getitem__)
    return Parts(places, {}, "groups" if grouped else "chance")


def split_regions(
    groups: Sequence[Hashable], shares: Sequence[float], seed: int
) -> tuple[list[str], list[int]]:
    """Cut a corpus into regions, and a part of test with dev on both sides out of each.

    The groups around test are in dev, so that none of them is in train: a document goes on in the
    next sentences, and the next articles tell the same story.

    groups (Sequence[Hashable]): The group of each doc, in the order of the corpus. A group
        that is larger than dev and test together should be is in train.
    shares (Sequence[float]): The share of train, dev and maybe test.
    seed (int): Decides the places within the regions.
    RETURNS (tuple[list[str], list[int]]): The split and the region of each doc. A small corpus may
        have no dev or test.
    """
    sizes = Counter(groups)
    number = max(1, min(REGIONS, len(sizes) // MIN_REGION))
    random = Random(seed)
    share, inner = sum(shares[1:]), sum(shares[2:])
    centers = [share / 2 + (1 - share) * random.random() for _ in range(number)]
    # Half the width of test and dev: at least one group of dev is on each side of test.
    reach = max(share, inner + 2 * number / len(sizes)) / 2 if inner else share / 2
    of_group = {}
    for i, (group, size) in enumerate(sizes.items()):
        place = (i + 0.5) * number / len(sizes)
        region = int(place)
        distance = abs(place - region - centers[region])
        is_cut = distance < reach and size <= share * len(groups)
        split = ("test" if distance < inner / 2 else "dev") if is_cut else "train"
        of_group[group] = split, region
    names, regions = zip(*(of_group[group] for group in groups), strict=True)
    return list(names), list(regions)


def join_equals(names: Sequence[str], keys: Sequence[Hashable]) -> list[str]:
    """Return the split of each item, the same for equal keys: the first of train, dev and test."""
    of_key: defaultdict[Hashable, set[str]] = defaultdict(set)
    for name, key in zip(names, keys, strict=True):
        of_key[key].add(name)
    return [min(of_key[key], key=SPLITS.index) for key in keys]


def split_items(
    items: Sequence[ItemT],
    shares: Sequence[float],
    seed: int,
    key: Callable[[ItemT], Hashable] = lambda item: item,
) -> dict[str, list[ItemT]]:
    """Return items in random order, split into train, dev and test, or only train and dev.

    shares (Sequence[float]): The share of each split. They must add up to 1.
    key (Callable[[ItemT], Hashable]): Items with equal keys stay in the same split.

    Raises ValueError for invalid shares, or if a split would be empty.
    """
    check_shares(shares)
    # 0.7 + 0.2 + 0.1 is not quite 1
    ends = [round(end, 6) for end in accumulate(shares)]
    groups: dict[Hashable, list[ItemT]] = {}
    for item in items:
        groups.setdefault(key(item), []).append(item)
    shuffled = list(groups.values())
    Random(seed).shuffle(shuffled)
    shuffled.sort(key=len, reverse=True)  # frequent texts come into train
    starts = [0, *accumulate(map(len, shuffled))]
    bounds = [0, *(int(end * len(items)) for end in ends)]
    splits = {
        name: [
            item
            for group, start in zip(shuffled, starts, strict=False)
            if low <= start < high
            for item in group
        ]
        for name, (low, high) in zip(SPLITS, pairwise(bounds), strict=False)
    }
    for name, part in splits.items():
        if not part:
            documents = "is 1 document" if len(items) == 1 else f"are {len(items):,} documents"
            if len(groups) < len(items):
                documents += f", {len(groups):,} of them different"
            raise ValueError(
                f"The split {name} would be empty: there {documents}. Give it a larger share, or "
                "more documents."
            )
    return splits


def check_shares(shares: Sequence[float]) -> None:
    """Raise ValueError unless there are two or three shares above 0 that add up to 1."""
    if not 2 <= len(shares) <= len(SPLITS) or min(shares) <= 0 or abs(sum(shares) - 1) > 1e-6:
        raise ValueError(
            f"Expected two or three shares above 0 that add up to 1, of {', '.join(SPLITS)}, was: "
            f"{', '.join(map(str, shares))}. Give for example 0.8,0.1,0.1."
        )
