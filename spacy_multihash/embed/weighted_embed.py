"""Hash embeddings: from symbols to vectors, by hashing and by importance parameters."""

from typing import Callable, Optional

from thinc.api import Model
from thinc.types import Floats2d, Ints1d
from thinc.util import ArrayInfo

from ..common.bound import bound
from ..common.pinned import Pinned
from ..common.types import AttrLayer, RowLayer, WeightedTableLayer
from .weighted_table_embed import output_width

NAME = "weighted_embed"


def weighted_embed(
    rows: RowLayer,
    importance: AttrLayer,
    table: WeightedTableLayer,
    *,
    append_importance: bool = False,
) -> AttrLayer:
    """Embed each symbol by component vectors from a pool, weighted by its own parameters.

    This is the hash embedding of Svenstrup et al. 2017, section 3. There `rows` is D2, which picks
    k component vectors, `importance` gives the symbol's row of P, and `table` is E.

    ids (N,) uint64 -> vectors (N, nO) float32.

    rows (RowLayer): (N,) uint64 -> (N, k) int32, rows of component vectors.
    importance (AttrLayer): (N,) uint64 -> (N, k) float32, the importance parameters.
    table (WeightedTableLayer): Both -> (N, nO) float32.
    append_importance (bool): Whether to put the importance parameters beside the vector, which is
        optional in the paper.
    """
    return Model(
        NAME,
        bound(forward, append_importance),
        init=init,
        layers=[rows, importance, table],
        dims={"nO": output_width(table) + append_importance * table.attrs["num_hashes"].value},
        # The nodes do not show it: a layer that rows and importance share is one node.
        attrs={"independent": Pinned(not rows.layers)},
    )


def forward(
    append_importance: bool, model: AttrLayer, ids: Ints1d, is_train: bool
) -> tuple[Floats2d, Callable]:
    """Weight the rows of the table, and give the gradient of the weights to the importance."""
    to_rows, importance, table = model.layers
    weights, backprop_weights = importance(ids, is_train)  # (N, k)
    vectors, backprop_vectors = table((to_rows(ids, is_train)[0], weights), is_train)
    width = vectors.shape[1]
    if append_importance:
        vectors = model.ops.xp.hstack([vectors, weights])
    vectors_info = ArrayInfo.from_array(vectors)

    def backprop(d_vectors: Floats2d) -> Ints1d:
        vectors_info.check_consistency(d_vectors)
        _, d_weights = backprop_vectors(d_vectors[:, :width])
        if append_importance:
            d_weights += d_vectors[:, width:]
        return backprop_weights(d_weights)

    return vectors, backprop


def init(model: AttrLayer, X: Optional[Ints1d] = None, Y: Optional[Floats2d] = None) -> None:
    """Initialize the component vectors first, as if there were no importance."""
    to_rows, importance, table = model.layers
    to_rows.initialize(X=X)
    table.initialize()
    importance.initialize(X=X)
