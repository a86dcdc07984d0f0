"""The settings of an embedding that its weights depend on, by their names in the config.

The root of the model keeps them, with one value per attribute, and loading compares them. They are
saved with the weights: their names and values are a file format.
"""

from typing import Optional, Union

from ..common.checks import check_length
from ..compute.hashing import default_seeds, importance_seed
from .weighted_embed import Weighting

_WHERE = "Embedding layer"  # in messages


def pinned_hashing(
    names: list[str], rows: list[int], num_hashes: list[int], seeds: list[int]
) -> dict[str, list]:
    """Name the settings that decide the rows of hashed symbols."""
    return {
        "attrs": names,
        "rows_by": ["hash"] * len(names),
        "rows": rows,
        "num_hashes": num_hashes,
        "seeds": seeds,
    }


def pinned_lookup(names: list[str]) -> dict[str, list]:
    """Name the settings that decide the rows of symbols that are looked up."""
    return {"attrs": names, "rows_by": ["lookup"] * len(names)}


def pinned_weighting(weightings: list[Weighting]) -> dict[str, list]:
    """Name the settings that decide the rows of component vectors, and those of importance."""
    names = [w.attr for w in weightings]
    rows, num_hashes = [w.rows for w in weightings], [w.num_hashes for w in weightings]
    seeds = [w.seed for w in weightings]
    pinned = pinned_hashing(names, rows, num_hashes, seeds)
    if not weightings[0].train_importance:  # attributes differ in numbers and seeds only
        return pinned
    rows = [w.num_importance_rows for w in weightings]
    seeds = [importance_seed(seed) for seed in seeds]
    importance = pinned_hashing(names, rows, [1] * len(names), seeds)
    return pinned | {f"importance_{setting}": values for setting, values in importance.items()}


def per_attribute(
    names: list[str],
    rows: list[int],
    num_hashes: Union[int, list[int]],
    seeds: Optional[list[int]],
) -> tuple[list[int], list[int]]:
    """Give the number of hashes and the seed of each attribute.

    Raises ValueError for a list that does not have one entry per attribute.
    """
    check_length(_WHERE, "rows", rows, names)
    if not isinstance(num_hashes, (list, tuple)):
        num_hashes = [num_hashes] * len(names)
    check_length(_WHERE, "num_hashes", num_hashes, names)
    if seeds is None:
        seeds = default_seeds(len(names))
    check_length(_WHERE, "seeds", seeds, names)
    return num_hashes, seeds
