"""The symbols that a weighted hash embedding cannot tell apart, counted and expected by chance."""

from dataclasses import replace
from math import sqrt

import numpy

from ..embed.find import WeightedEmbedding, rows_of
from .chance import count_in_collision, in_collision_by_chance, joint_range
from .reports import Collisions, Count
from .rows import group_sizes


def inspect_collisions(embedding: WeightedEmbedding, symbols: numpy.ndarray) -> Collisions:
    """Count the symbols (V,) uint64, all of them different, that are in collision.

    Where rows of importance are looked up, or are hashed to components, only the hash functions
    behind them are left to chance. Which symbols share a row of importance is then taken as given.
    """
    table, importance, _ = embedding
    num_symbols, rows = len(symbols), rows_of(table.layer, symbols)  # (V, k)
    num_rows, num_hashes = (table.layer.attrs[key].value for key in ("nV", "num_hashes"))
    outcomes = joint_range(num_rows, num_hashes)
    groups = group_sizes(table.layer, symbols)
    by_chance = in_collision_by_chance(num_symbols, outcomes, group_sizes=groups)
    components = Count(count_in_collision(rows), *by_chance)
    seed = table.layer.attrs["seed"].value
    found = Collisions(table.component, table.member, table.attr, seed, num_symbols, components)
    if importance is None:
        return _with_probability(found, components)
    own_rows = rows_of(importance.layer, symbols)  # (V, 1)
    actual = count_in_collision(numpy.hstack([rows, own_rows]))
    independent = not table.layer.layers
    by_importance = Count(count_in_collision(own_rows))
    if importance.is_hashed:
        K = importance.layer.attrs["nV"].value
        alone = in_collision_by_chance(num_symbols, joint_range(K))
        by_importance = Count(by_importance.actual, *alone)
        outcomes = joint_range(num_rows, num_hashes, importance_rows=K, independent=independent)
        both = Count(actual, *in_collision_by_chance(num_symbols, outcomes))
    else:
        both = Count(actual, *_within_rows(own_rows, outcomes)) if independent else Count(actual)
    return _with_probability(replace(found, importance=by_importance, both=both), both)


def _with_probability(found: Collisions, count: Count) -> Collisions:
    if count.mean is None:
        return found
    return replace(found, probability=count.mean / max(found.num_symbols, 1))


def _within_rows(rows: numpy.ndarray, outcomes: float) -> tuple[float, float]:
    """Return mean and standard deviation of the symbols in collision with one of the same row."""
    sizes = numpy.unique(rows, return_counts=True)[1]
    parts = [in_collision_by_chance(size, outcomes) for size in sizes[sizes > 1].tolist()]
    return sum(mean for mean, _ in parts), sqrt(sum(sd**2 for _, sd in parts))
