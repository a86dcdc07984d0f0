"""The weighted hash embedding of one kind of symbols: its parts, wired up."""

from typing import Any, Callable, Literal, Optional, Tuple, cast

import numpy
from thinc.api import Ops, chain, uniform_init
from thinc.types import FloatsXd

from ..common.checks import is_whole
from ..common.types import AttrLayer
from ..compute.hashing import importance_seed
from .hash_rows import MAX_ROWS, hash_rows
from .lookup_rows import lookup_rows
from .table_embed import TableEmbed
from .unit_importance import unit_importance
from .weighted_embed import weighted_embed
from .weighted_table_embed import Aggregate, WeightedTableEmbed

# "We typically ... choose K and B s.t. K > 10 B" (Svenstrup et al. 2017, section 3).
IMPORTANCE_ROWS = 10
IMPORTANCE_SD = 0.0005  # the authors' code

# How the row of a symbol's importance parameters is found.
RowsBy = Literal["hash", "lookup"]


def weighted_layer(
    attr: str,
    width: int,
    nV: int,
    *,
    seed: int,
    num_hashes: int = 2,
    importance_nV: Optional[int] = None,
    importance_by: RowsBy = "hash",
    independent: bool = True,
    aggregate: Aggregate = "sum",
    append_importance: bool = False,
    train_importance: bool = True,
    embed_init: Optional[Callable] = None,
    importance_init: Optional[Callable] = None,
) -> AttrLayer:
    """Build a hash embedding of one kind of symbols, (U,) uint64 -> (U, nO) float32.

    Svenstrup et al. 2017, section 3. The arguments are those of MultiWeightedHashEmbed, for one
    attribute. Importance that is fixed at 1 leaves a sum of rows, which TableEmbed computes faster.

    attr (str): Name of the symbols, for messages and to find their table.
    nV (int): Number of component vectors, B in the paper.
    importance_nV (int or None): Number of rows of importance parameters, K in the paper. None takes
        ten times as many as component vectors. Without effect where they are looked up, since the
        table of symbols decides, and where importance is fixed.

    Raises ValueError for a number that is out of range, and for a setting without effect.
    """
    embed_init = embed_init or uniform_init
    by_hash = train_importance and importance_by == "hash"
    num_rows = default_importance_rows(nV) if importance_nV is None else importance_nV
    if (by_hash or importance_nV is not None) and not is_whole(num_rows, 1, MAX_ROWS):
        raise ValueError(
            f"Weighted embedding of {attr}: importance_rows must be a whole number from 1 to "
            f"{MAX_ROWS}, was: {num_rows!r}. Set it in the config; null takes {IMPORTANCE_ROWS} "
            "times the rows of component vectors."
        )
    through = None
    if not train_importance:
        _refuse_unused(attr, importance_by=importance_by != "hash", independent=not independent)
        importance = unit_importance(num_hashes)
    else:
        to_importance = (
            hash_rows(num_rows, attr=attr, num_hashes=1, seed=importance_seed(seed))
            if by_hash
            else lookup_rows(attr=attr)
        )
        parameters = TableEmbed(
            num_hashes,
            num_rows if by_hash else None,
            initializer=importance_init or near_zero_init,
        )
        importance = chain(to_importance, parameters)
        through = None if independent else to_importance
    to_rows = hash_rows(nV, attr=attr, num_hashes=num_hashes, seed=seed, through=through)
    if not train_importance and aggregate == "sum" and not append_importance:
        return chain(to_rows, TableEmbed(width, nV, initializer=embed_init))
    table = WeightedTableEmbed(
        width, nV, num_hashes=num_hashes, aggregate=aggregate, initializer=embed_init
    )
    return weighted_embed(to_rows, importance, table, append_importance=append_importance)


def default_importance_rows(nV: int) -> int:
    """Return the number of rows of importance parameters for nV component vectors."""
    # What is wrong with nV, a quoted number for one, is said where it is used.
    return IMPORTANCE_ROWS * (nV if is_whole(nV, 1) else 1)


def _refuse_unused(attr: str, **is_set: bool) -> None:
    for name, value in is_set.items():
        if value:
            raise ValueError(
                f"Weighted embedding of {attr}: {name} has no effect with train_importance = "
                f"false, by which importance is fixed at 1. Leave {name} out of the config, or set "
                "train_importance = true."
            )


def near_zero_init(ops: Ops, shape: Tuple[int, ...]) -> FloatsXd:
    """Draw importance parameters that training has yet to make count.

    A normal distribution with a standard deviation of 0.0005, as in the code of Svenstrup et al.
    2017. A symbol that training never meets is next to nothing then, and not noise.
    """
    drawn = numpy.random.normal(0, IMPORTANCE_SD, shape)
    return cast(FloatsXd, ops.asarray(cast(Any, drawn), dtype="float32"))
