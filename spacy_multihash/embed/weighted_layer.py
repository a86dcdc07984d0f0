"""The weighted hash embedding of one kind of symbols, built from its parts."""

from typing import Any, cast

import numpy
from thinc.api import Ops, chain, uniform_init
from thinc.types import FloatsXd

from ..common.types import AttrLayer
from ..compute.hashing import importance_seed
from .hash_rows import hash_rows
from .lookup_rows import lookup_rows
from .table_embed import TableEmbed
from .unit_importance import unit_importance
from .weighted_embed import weighted_embed
from .weighted_table_embed import WeightedTableEmbed
from .weighting import Weighting

IMPORTANCE_SD = 0.0005  # the authors' code


def weighted_layer(weighting: Weighting) -> AttrLayer:
    """Build the weighted hash embedding of one kind of symbols (Svenstrup et al. 2017, section 3).

    A vector that is a plain sum of rows is computed by TableEmbed, in less time.

    ids (U,) uint64 -> vectors (U, nO) float32.

    Its settings are checked already: `Weighting` refuses those that are out of range, and those
    without effect.
    """
    w = weighting
    embed_init = w.embed_init or uniform_init
    through = None
    if w.train_importance:
        importance = _trained_importance(w)
        through = None if w.independent else importance.layers[0]
    else:
        importance = unit_importance(w.num_hashes)
    to_rows = hash_rows(w.rows, attr=w.attr, num_hashes=w.num_hashes, seed=w.seed, through=through)
    if w.is_plain_sum:
        return chain(to_rows, TableEmbed(w.width, w.rows, initializer=embed_init))
    table = WeightedTableEmbed(
        w.width, w.rows, num_hashes=w.num_hashes, aggregate=w.aggregate, initializer=embed_init
    )
    return weighted_embed(to_rows, importance, table, append_importance=w.append_importance)


def _trained_importance(w: Weighting) -> AttrLayer:
    """Build the layer of importance parameters, (U,) uint64 -> (U, num_hashes) float32."""
    nV = w.num_importance_rows if w.hashes_importance else None  # None: set_tables sets it
    to_rows = (
        lookup_rows(attr=w.attr)
        if nV is None
        else hash_rows(nV, attr=w.attr, num_hashes=1, seed=importance_seed(w.seed))
    )
    parameters = TableEmbed(w.num_hashes, nV, initializer=w.importance_init or near_zero_init)
    return chain(to_rows, parameters)


def near_zero_init(ops: Ops, shape: tuple[int, ...]) -> FloatsXd:
    """Draw importance parameters near zero, so that a symbol counts only once it is trained.

    They have a normal distribution with a standard deviation of 0.0005, as in the code of Svenstrup
    et al. 2017. The vector of a symbol that training never meets is then close to zero, and not
    noise.
    """
    drawn = numpy.random.normal(0, IMPORTANCE_SD, shape)
    return cast(FloatsXd, ops.asarray(cast(Any, drawn), dtype="float32"))
