"""Hash embeddings with importance: each symbol weights the rows that it is hashed to.

The hash embedding of Svenstrup et al. 2017, section 3. A symbol's vector is the sum over k hash
functions of p_i * E[row_i]. The rows E[row_i] are component vectors, which symbols share. The
importance parameters p_1 to p_k are a row of a second, larger table.
"""

from typing import Any, Callable, Optional, cast

import numpy
from thinc.api import Model, Ops, chain
from thinc.types import Floats2d, FloatsXd, Ints1d
from thinc.util import ArrayInfo

from ..common.checks import MAX_SIZE, check_flag, check_whole
from ..common.nodes import Pinned
from ..common.removed import RemovedSetting
from ..common.types import Array, AttrLayer, RowLayer, TableLayer
from ..compute.array_ops import for_sums
from ..compute.bags import Bags
from ..compute.hashing import importance_seed
from ..compute.ops import operations
from .rows import hash_rows
from .table_embed import TableEmbed, sum_rows

# Node names, a file format.
NAME = "weighted_embed"
TABLE_NAME = "weighted_table_embed"
UNIT_NAME = "unit_importance"
# "We typically ... choose K and B s.t. K > 10 B" (section 3).
IMPORTANCE_ROWS = 10
IMPORTANCE_SD = 0.0005  # the authors' code

# Settings that the architectures with weights had in version 0.1.0.
REMOVED_SETTINGS = {
    "aggregate": RemovedSetting("sum", "Weighted component vectors are summed."),
    "importance_by": RemovedSetting("hash", "Symbols are hashed to their importance."),
    "independent": RemovedSetting(True, "Symbols are hashed to component vectors themselves."),
    "embed_init": RemovedSetting(
        None, "Component vectors begin as uniform in [-0.1, 0.1).", in_training_only=True
    ),
    "importance_init": RemovedSetting(None, "Importance begins near 0.", in_training_only=True),
}


def weighted_layer(
    attr: str,
    width: int,
    rows: int,
    *,
    seed: int,
    num_hashes: int = 2,
    importance_rows: Optional[int] = None,
    append_importance: bool = False,
    train_importance: bool = True,
) -> AttrLayer:
    """Build the weighted hash embedding of one kind of symbols.

    TableEmbed computes plain sums of rows, because it's faster.

    ids (U,) uint64 -> vectors (U, nO) float32.

    attr (str): Name of the symbols, for messages. For the settings, each of one attribute, see
        `build_multi_weighted_hash_embed_v1`.

    Raises ValueError if a setting is out of range, has the wrong type, or has no effect.
    """
    where = f"Weighted embedding of {attr}"
    check_whole(where, "width", width, 1, MAX_SIZE)
    check_flag(where, "append_importance", append_importance)
    check_flag(where, "train_importance", train_importance)
    if importance_rows is not None and not train_importance:
        raise ValueError(
            f"{where}: importance_rows = {importance_rows} has no effect with "
            "train_importance = false. Set importance_rows = null, or train_importance = true."
        )
    to_rows = hash_rows(rows, attr=attr, num_hashes=num_hashes, seed=seed)
    if not (train_importance or append_importance):
        return chain(to_rows, TableEmbed(width, rows))
    importance = unit_importance(num_hashes)
    if train_importance:
        nV = IMPORTANCE_ROWS * rows if importance_rows is None else importance_rows
        advice = f"Set it in the config; null takes {IMPORTANCE_ROWS} times the rows."
        check_whole(where, "importance_rows", nV, 1, MAX_SIZE, advice=advice)
        importance = chain(
            hash_rows(nV, attr=attr, num_hashes=1, seed=importance_seed(seed)),
            TableEmbed(num_hashes, nV, initializer=near_zero_init),
        )
    table = TableEmbed(width, rows)
    table.name = TABLE_NAME
    table.attrs["num_hashes"] = Pinned(num_hashes)
    return weighted_embed(to_rows, importance, table, append_importance=append_importance)


def near_zero_init(ops: Ops, shape: tuple[int, ...]) -> FloatsXd:
    """Draw importance parameters near zero, so that symbols only count once they're trained.

    Vectors of symbols that training never sees are then close to zero, instead of noise.
    """
    drawn = numpy.random.normal(0, IMPORTANCE_SD, shape)
    return cast(FloatsXd, ops.asarray(cast(Any, drawn), dtype="float32"))


def weighted_embed(
    rows: RowLayer,
    importance: AttrLayer,
    table: TableLayer,
    *,
    append_importance: bool = False,
) -> AttrLayer:
    """Embed each symbol by component vectors, weighted by its own importance parameters.

    ids (N,) uint64 -> vectors (N, nO) float32.

    rows (RowLayer): (N,) uint64 -> (N, k) int32, rows of component vectors.
    importance (AttrLayer): (N,) uint64 -> (N, k) float32, the importance parameters.
    table (TableLayer): The component vectors.
    append_importance (bool): Whether to append the importance parameters to the vector, which is
        optional in the paper.
    """
    num_hashes = rows.attrs["num_hashes"].value
    return Model(
        NAME,
        forward,
        init=init,
        layers=[rows, importance, table],
        dims={"nO": table.get_dim("nO") + append_importance * num_hashes},
    )


def forward(model: AttrLayer, ids: Ints1d, is_train: bool) -> tuple[Floats2d, Callable]:
    """Weight the rows of the table, and give the gradient of the weights to the importance."""
    return sum_weighted(model, ids, is_train)


def sum_weighted(
    model: AttrLayer,
    ids: Ints1d,
    is_train: bool,
    ends: Optional[numpy.ndarray] = None,
    mean: bool = False,
) -> tuple[Floats2d, Callable]:
    """Sum the vectors of the symbols of each token: ids (M,) uint64 -> vectors (U, nO) float32.

    ends (U,) int64: Where the symbols of each token end; None if each token has one symbol.
    mean (bool): Whether sums are divided by the number of symbols.
    """
    to_rows, importance, table = model.layers
    ops, width = operations(model.ops), table.get_dim("nO")
    weights, backprop_weights = importance(ids, is_train)  # (M, k)
    sums, backprop_sums = sum_rows(table, to_rows(ids, is_train)[0], weights, ends, mean)
    vectors, appended = sums, None
    if model.get_dim("nO") > width:  # the importance is appended
        symbols: Array = ops.xp.arange(len(ids), dtype="int32")
        appended = Bags(symbols[:, None], None, ends, mean)
        vectors = ops.xp.hstack([sums, ops.gather_sum(weights, appended)])
    vectors_info = ArrayInfo.from_array(vectors)

    def backprop(d_vectors: Floats2d) -> Ints1d:
        vectors_info.check_consistency(d_vectors)
        d_weights = backprop_sums(d_vectors[:, :width])
        if appended is not None:
            ops.scatter_sum(d_weights, appended, for_sums(ops, d_vectors[:, width:]))
        return backprop_weights(d_weights)

    return vectors, backprop


def init(model: AttrLayer, X: Optional[Ints1d] = None, Y: Optional[Floats2d] = None) -> None:
    """Initialize the component vectors first, as if there were no importance."""
    to_rows, importance, table = model.layers
    to_rows.initialize(X=X)
    table.initialize()
    importance.initialize(X=X)


def unit_importance(nO: int) -> AttrLayer:
    """Give each symbol importance parameters of 1, which are not trained.

    ids (N,) uint64 -> weights (N, nO) float32.

    nO (int): Number of importance parameters, one per component vector.
    """
    return Model(UNIT_NAME, forward_unit, dims={"nO": nO})


def forward_unit(model: AttrLayer, ids: Ints1d, is_train: bool) -> tuple[Floats2d, Callable]:
    """Fill with ones."""
    weights = model.ops.alloc2f(len(ids), model.get_dim("nO"))
    weights += 1

    def backprop(d_weights: Floats2d) -> Ints1d:
        return model.ops.alloc1i(len(ids))  # integers have no gradient

    return weights, backprop
