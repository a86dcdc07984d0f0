"""Settings of an embedding and its training, and what they come to on a corpus."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import factorial
from typing import Optional

from ..common.features import parse_feature
from .chance import collision_probability, joint_range
from .facts import FeatureFacts
from .importance import LOAD

# Of symbols that are hashed, at most this share may by chance be one with another.
IN_COLLISION = 0.01
LEAST_HASHES, MOST_HASHES = 2, 4
# Tables of fewer rows than this, and than symbols, tell too little.
LEAST_ROWS = 100
# Where n-grams are among the features, tables have at most so many rows: most n-grams are rare, and
# each row takes time in training.
CUT_ROWS = 30_000


def has_bags(attr: str) -> bool:
    """Tell whether a token may have several symbols of a feature, such as n-grams."""
    feature = parse_feature(attr)
    return feature is not None and feature.has_bags


@dataclass(frozen=True)
class Settings:
    """Settings that are recommended, or tried.

    attrs (tuple[str, ...]): The features.
    width (int): The width of all tables.
    rows, num_hashes (Optional[tuple[int, ...]]): Of each feature's table where symbols are hashed.
        None where symbols have rows of their own.
    max_rows (Optional[int]): The most rows of a table whose most frequent symbols have rows of
        their own. None where all symbols have one.
    unk_dropout (float): How often a symbol with a row of its own is taken as unknown in training.
    dropout (float): The dropout of training.
    vectors (bool): Whether static vectors are embedded as well.
    batch_words (int): The words of a batch in the end. Sizes grow up to this, slowly.
    """

    attrs: tuple[str, ...]
    width: int
    rows: Optional[tuple[int, ...]] = None
    num_hashes: Optional[tuple[int, ...]] = None
    max_rows: Optional[int] = None
    unk_dropout: float = 0.3
    dropout: float = 0.3
    vectors: bool = False
    batch_words: int = 1000

    @property
    def reduce(self) -> Optional[str]:
        """What is done with the vectors of a word's n-grams, or None without n-grams."""
        return "sum" if any(map(has_bags, self.attrs)) else None


@dataclass(frozen=True)
class HashedTable:
    """A table that the symbols of a corpus are hashed into.

    load (float): How many symbols a row has to serve on average: symbols times hashes, divided by
        rows.
    in_collision (float): The share of symbols whose rows are by chance, in any order, those of
        another.
    """

    load: float
    in_collision: float


def cut_of(features: Mapping[str, FeatureFacts], attrs: Sequence[str]) -> Optional[int]:
    """Return the most rows of all tables where symbols have rows of their own, None for no limit.

    There is one limit for all tables, so that tables beside n-grams are cut as well.
    """
    is_cut = any(features[name].symbols >= CUT_ROWS for name in attrs)
    return CUT_ROWS if is_cut and any(map(has_bags, attrs)) else None


def lookup_rows(features: Mapping[str, FeatureFacts], attrs: Sequence[str]) -> int:
    """Count the rows of tables where symbols have rows of their own: one of each is for others."""
    cut = cut_of(features, attrs)
    rows = (features[name].symbols + 1 for name in attrs)
    return sum(each if cut is None else min(each, cut) for each in rows)


def least_rows(features: Mapping[str, FeatureFacts], attrs: Sequence[str]) -> int:
    """Count the rows of the smallest tables that symbols may be hashed into."""
    return sum(min(_advised_rows(features[name].symbols), LEAST_ROWS) for name in attrs)


def hash_settings(
    features: Mapping[str, FeatureFacts], attrs: Sequence[str], *, width: int, max_size: int
) -> Optional[Settings]:
    """Make settings that hash symbols into tables of at most max_size parameters.

    A table has as many rows as give it the load that `advise_rows` advises, with the fewest hashes:
    as many as symbols. Where that is too much, the largest tables share what is left. Tables of few
    symbols have more than that, as many as four hashes need to tell them apart, where it fits. None
    if even the smallest tables are too large.
    """
    total = max_size // width
    if least_rows(features, attrs) > total:
        return None
    rows: dict[str, int] = {}
    by_size = sorted(attrs, key=lambda each: features[each].symbols)
    for i, name in enumerate(by_size):
        left = total - sum(rows.values())
        share, free = left // (len(attrs) - i), left - least_rows(features, by_size[i + 1 :])
        most = min(_most_rows(features[name].symbols), _round_down(share), free)
        rows[name] = min(most, CUT_ROWS) if has_bags(name) else most
    hashes = {name: fewest_hashes(features[name].symbols, rows[name]) for name in attrs}
    return Settings(
        tuple(attrs), width, tuple(rows[a] for a in attrs), tuple(hashes[a] for a in attrs)
    )


def hashed_tables(
    features: Mapping[str, FeatureFacts], settings: Settings
) -> dict[str, HashedTable]:
    """Say what chance makes of each table of settings that hash symbols."""
    sizes = zip(settings.attrs, settings.rows or (), settings.num_hashes or (), strict=True)
    return {name: hashed_table(features[name].symbols, *size) for name, *size in sizes}


def hashed_table(num_symbols: int, num_rows: int, num_hashes: int) -> HashedTable:
    """Say what chance makes of a table."""
    outcomes = joint_range(num_rows, num_hashes) / factorial(num_hashes)
    shared = collision_probability(num_symbols, max(outcomes, 1.0))
    return HashedTable(num_symbols * num_hashes / num_rows, shared)


def fewest_hashes(num_symbols: int, num_rows: int) -> int:
    """Find the fewest hashes with which nearly all symbols differ by chance; at most four."""
    for num_hashes in range(LEAST_HASHES, MOST_HASHES):
        if hashed_table(num_symbols, num_rows, num_hashes).in_collision <= IN_COLLISION:
            return num_hashes
    return MOST_HASHES


def _advised_rows(num_symbols: int) -> int:
    return -(-num_symbols * LEAST_HASHES // LOAD)


def _most_rows(num_symbols: int) -> int:
    """Return the rows of the advised load, or for few symbols those that the most hashes need."""
    rows = _advised_rows(num_symbols)
    while hashed_table(num_symbols, rows, MOST_HASHES).in_collision > IN_COLLISION:
        rows += 1
    return rows


def _round_down(number: int) -> int:
    """Round down to the first two digits."""
    power = 10 ** max(len(str(number)) - 2, 0)
    return number // power * power
