"""Split corpora, and keep apart what belongs together."""

from collections import Counter, defaultdict
from collections.abc import Callable, Hashable, Mapping, Sequence
from itertools import accumulate, combinations, pairwise
from random import Random
from statistics import fmean
from typing import NamedTuple, TypeVar

from spacy.tokens import Doc

from ..common.checks import is_list, is_number

SPLITS = ("train", "dev", "test")
MIN_GROUPS = 10  # to split by groups
REGIONS = 10  # of a corpus, each with its part of dev and test
MIN_REGION = 20  # groups
# A word is rare in 2 to 10 texts. If the order means nothing, 19 % of the pairs of these texts are
# near, which is within a tenth of the corpus: 0.9 ** 2 are not.
RARE, NEAR, SHUFFLED = 10, 0.1, 0.25
MIN_RARE = 20  # rare words, to tell whether the order means anything
# The largest share of a corpus in a group of related texts, and the least and most texts that are.
RELATED, FEWEST_RELATED, MOST_RELATED = 0.05, 10, 50
FOLDS, GAP = 5, 0.05  # of cross-validation, and the share of the corpus on each side of test
ItemT = TypeVar("ItemT")


class Parts(NamedTuple):
    """The splits of a corpus.

    places (Mapping[str, list[int]]): The places of each split's items in the corpus.
    regions (Mapping[str, list[int]]): The region of each item, or nothing if it wasn't split by
        regions.
    groups (Sequence[int]): The group of each item: itself, its document, or its related items.
    by (str): What kept items apart: the "groups" that the corpus names, their "order", the "words"
        that they share, or "chance". If it's their words, a region is a group of related items.
    """

    places: Mapping[str, list[int]]
    regions: Mapping[str, list[int]]
    groups: Sequence[int]
    by: str


def split_corpus(
    docs: Sequence[Doc],
    groups: Sequence[str],
    shares: Sequence[float],
    seed: int,
    *,
    by_order: bool,
) -> Parts:
    """Split docs into train, dev and maybe test. Docs of a group stay in one split.

    groups (Sequence[str]): The group of each doc, such as its article, or "". They count if there
        are 10 or more. If they don't, docs with the same words stay in one split.
    shares (Sequence[float]): The share of each split. They must add up to 1.
    by_order (bool): Whether to split by regions, or if the order means nothing, by groups of docs
        that share rare names. Else, and if the corpus is too small, docs are split at random.

    Raises ValueError for invalid shares, or if a split would be empty.
    """
    check_shares(shares)
    texts = [tuple(token.text for token in doc) for doc in docs]
    groups = [group or f"item {i}" for i, group in enumerate(groups)]
    grouped = MIN_GROUPS <= len(set(groups)) < len(groups)
    if by_order:
        by = "groups" if grouped else "words" if is_shuffled(texts) else "order"
        if by == "words":
            of_items = regions = group_related([_names_in(doc) for doc in docs])
            splits = split_groups(of_items, shares, seed)
        else:
            numbers = {group: i for i, group in enumerate(dict.fromkeys(groups))}
            of_items = [numbers[group] if grouped else i for i, group in enumerate(groups)]
            splits, regions = split_regions(of_items, shares, seed)
        if by != "groups":
            splits = join_equals(splits, texts)
        places = find_places(splits, SPLITS[: len(shares)])
        if all(places.values()):
            of_splits = {name: [regions[i] for i in there] for name, there in places.items()}
            return Parts(places, of_splits, of_items, by)
    of_item: Sequence[Hashable] = groups if grouped else texts
    places = split_items(range(len(groups)), shares, seed, of_item.__getitem__)
    return Parts(places, {}, (), "groups" if grouped else "chance")


def _names_in(doc: Doc) -> list[str]:
    return [text for ent in doc.ents for text in (f"{ent.text} ", *(token.text for token in ent))]


def find_places(splits: Sequence[str], names: Sequence[str] = SPLITS) -> dict[str, list[int]]:
    """Return the places of the items of each split."""
    return {name: [i for i, split in enumerate(splits) if split == name] for name in names}


def make_folds(
    groups: Sequence[int], texts: Sequence[tuple[str, ...]], seed: int, *, by_order: bool
) -> tuple[list[dict[str, list[int]]], list[int]]:
    """Split a corpus five times, so that each item is in test once, in a fifth of the corpus.

    dev has the groups on both sides of test, and train has the others. Items with the same words
    are in the first of their splits.

    groups (Sequence[int]): The group of each item, as `split_related` returns them.
    by_order (bool): Whether the groups are in the order of the corpus. Else, in random order.
    RETURNS (tuple[list[dict[str, list[int]]], list[int]]): The places of the items of each split,
        for each fold, and the region of each item: a tenth of the corpus, or its group if they're
        in random order.
    """
    sizes = Counter(groups)
    order = list(sizes)
    if not by_order:
        Random(seed).shuffle(order)
    ends = accumulate(sizes[group] for group in order)
    middles = {g: (end - sizes[g] / 2) / len(groups) for g, end in zip(order, ends, strict=True)}
    folds = []
    for fold in range(FOLDS):
        splits = ["train"] * len(order)
        for i, group in enumerate(order):
            away = abs((middles[group] - (fold + 0.5) / FOLDS + 0.5) % 1 - 0.5)  # a circle
            if int(middles[group] * FOLDS) == fold:
                splits[i] = "test"
            elif away < 0.5 / FOLDS + GAP:
                splits[i] = "dev"
        for i, split in enumerate(splits):
            if split == "train" and "test" in (splits[i - 1], splits[i + 1 - len(order)]):
                splits[i] = "dev"  # a large group at the border
        of_group = dict(zip(order, splits, strict=True))
        folds.append(find_places(join_equals([of_group[group] for group in groups], texts)))
    regions = [int(middles[group] * REGIONS) for group in groups] if by_order else list(groups)
    return folds, regions


def find_rare(texts: Sequence[Sequence[str]]) -> list[list[int]]:
    """Return the places of the texts that share each rare word, in the order of the corpus."""
    places: defaultdict[str, list[int]] = defaultdict(list)
    for i, words in enumerate(texts):
        for word in dict.fromkeys(words):
            places[word].append(i)
    return [some for some in places.values() if 2 <= len(some) <= RARE]


def is_shuffled(texts: Sequence[Sequence[str]]) -> bool:
    """Return whether texts that share rare words are no nearer to each other than by chance.

    False if there are too few rare words to tell.
    """
    shares = []
    for places in find_rare(texts):
        pairs = [*combinations(places, 2)]
        shares.append(sum(b - a <= NEAR * len(texts) for a, b in pairs) / len(pairs))
    return len(shares) >= MIN_RARE and fmean(shares) < SHUFFLED


def group_related(texts: Sequence[Sequence[str]]) -> list[int]:
    """Group texts that share rare words, such as names: they may be of one document.

    Two texts are linked by each rare word that both have, the rarer the more strongly. Groups are
    joined by their strongest links first (Kruskal 1956), unless they'd be too large: otherwise most
    texts would be in one group.

    RETURNS (list[int]): The group of each text.
    """
    links: defaultdict[tuple[int, int], float] = defaultdict(float)
    for places in find_rare(texts):
        for pair in combinations(places, 2):
            links[pair] += 1 / (len(places) - 1)
    largest = min(max(FEWEST_RELATED, RELATED * len(texts)), MOST_RELATED)
    groups = [*range(len(texts))]
    members = {i: [i] for i in groups}
    for (a, b), _ in sorted(links.items(), key=lambda link: (-link[1], link[0])):
        one, other = groups[a], groups[b]
        if one != other and len(members[one]) + len(members[other]) <= largest:
            for i in members[other]:
                groups[i] = one
            members[one] += members.pop(other)
    return groups


def split_groups(groups: Sequence[int], shares: Sequence[float], seed: int) -> list[str]:
    """Return the split of each item. Groups are drawn, the largest first, until splits are full."""
    random = Random(seed)
    of_group: dict[int, str] = {}
    left = [share * len(groups) for share in shares]
    for group, size in Counter(groups).most_common():
        (drawn,) = random.choices(range(len(shares)), [max(n, 1e-9) for n in left])
        left[drawn] -= size
        of_group[group] = SPLITS[drawn]
    return [of_group[group] for group in groups]


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
    are_shares = is_list(shares) and 2 <= len(shares) <= len(SPLITS) and all(map(is_number, shares))
    # not less than 0, nor NaN
    if not (are_shares and all(share > 0 for share in shares) and abs(sum(shares) - 1) <= 1e-6):
        got = ", ".join(map(str, shares)) if is_list(shares) else shares
        raise ValueError(
            f"Expected two or three shares above 0 that add up to 1, of {', '.join(SPLITS)}, got "
            f"{got}. Give for example 0.8,0.1,0.1."
        )
