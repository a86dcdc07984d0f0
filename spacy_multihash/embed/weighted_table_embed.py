"""From weighted rows to vectors: the pool of component vectors of a hash embedding."""

from functools import partial
from typing import Callable, Literal, Optional

from thinc.api import Model, uniform_init
from thinc.types import Floats2d, Ints2d
from thinc.util import ArrayInfo

from ..common.pinned import Pinned
from ..common.types import Array, WeightedRows, WeightedTableLayer
from ..compute.buffers import take_rows
from ..compute.chunks import row_chunks
from .table_embed import check_rows, fill_table, gradient_of, table_of

NAME = "weighted_table_embed"
Aggregate = Literal["sum", "mean", "concatenate"]


class WeightedTable(Model[WeightedRows, Floats2d]):
    """A layer that takes the weights of version 0.1.0 too, which has saved its table's width."""

    def set_dim(self, name: str, value: int, *, force: bool = False) -> None:
        """Set a size. The width of the table stands for that of the vectors."""
        if name == "nO" and value == table_width(self):
            value = self.get_dim("nO")
        super().set_dim(name, value, force=force)


def WeightedTableEmbed(
    nO: int,
    nV: int,
    *,
    num_hashes: int,
    aggregate: Aggregate = "sum",
    initializer: Callable = uniform_init,
) -> WeightedTableLayer:
    """Weight the rows of a table that each symbol is mapped to, and combine them to a vector.

    The hash vector of Svenstrup et al. 2017, section 3, is the sum over i of p_i * E[row_i], with
    one weight p_i per hash function. The mean of the weighted rows can take its place, or the
    weighted rows side by side, which their section 6 proposes. TableEmbed computes the sum with
    weights of 1, in less time.

    rows (N, K) int32, weights (N, K) float32 -> vectors (N, nO) float32, or (N, K * nO) where they
    stand side by side.

    nO (int): Width of the table, d in the paper. The layer's own `nO` is the width of the vectors.
    nV (int): Number of rows, B in the paper.
    num_hashes (int): Number of rows of a symbol, K.
    aggregate (str): "sum", "mean", or "concatenate".
    initializer (Callable): Fills the table E (nV, nO); uniform in [-0.1, 0.1), as in TableEmbed.

    Raises IndexError for a row that the table does not have, and ValueError at initialization for a
    table beyond the memory.
    """
    width = nO * (num_hashes if aggregate == "concatenate" else 1)
    return WeightedTable(
        NAME,
        forward,
        init=partial(init, initializer),
        dims={"nO": width, "nV": nV},
        params={"E": None},
        attrs={"aggregate": Pinned(aggregate), "num_hashes": Pinned(num_hashes)},
    )


def forward(
    model: WeightedTableLayer, X: WeightedRows, is_train: bool
) -> tuple[Floats2d, Callable]:
    """Gather, weight and add in chunks that stay in the cache, and go back the same way."""
    rows, weights = X
    E = table_of(model)
    check_rows(model, rows)  # also on a GPU: CuPy takes a row beyond the table from its start
    _check_shapes(model, rows, weights)
    columns = model.ops.as_contig(rows.T)  # (K, N)
    share = 1 / len(columns) if model.attrs["aggregate"].value == "mean" else 1.0
    vectors = model.ops.alloc2f(len(rows), model.get_dim("nO"))
    for chunk in row_chunks(rows):
        for k, part in enumerate(_parts(model, vectors[chunk])):
            component = take_rows("component", E, columns[k, chunk])
            component *= weights[chunk, k : k + 1] * share
            part += component
            del component  # the next one takes the memory again
    vectors_info = ArrayInfo.from_array(vectors)

    def backprop(d_vectors: Floats2d) -> WeightedRows:
        vectors_info.check_consistency(d_vectors)
        dE = gradient_of(model)
        d_weights = model.ops.alloc2f(*weights.shape)
        for chunk in row_chunks(rows):
            for k, d_part in enumerate(_parts(model, d_vectors[chunk])):
                column = columns[k, chunk]
                component = take_rows("component", E, column)
                d_weights[chunk, k] = model.ops.xp.einsum("nd,nd->n", component, d_part) * share
                d_component = model.ops.xp.multiply(
                    d_part, weights[chunk, k : k + 1] * share, out=component
                )
                model.ops.scatter_add(dE, column, d_component)
                del component, d_component
        return model.ops.alloc2i(*rows.shape), d_weights  # integers have no gradient

    return vectors, backprop


def init(
    initializer: Callable,
    model: WeightedTableLayer,
    X: Optional[WeightedRows] = None,
    Y: Optional[Floats2d] = None,
) -> None:
    """Fill the table."""
    fill_table(initializer, model, table_width(model))


def output_width(model: WeightedTableLayer) -> int:
    """Return the width of the vectors."""
    return model.get_dim("nO")


def table_width(model: Model) -> int:
    """Compute the width of a table, weighted or not. Vectors of rows side by side are wider."""
    aggregate = model.attrs.get("aggregate")
    side_by_side = aggregate is not None and aggregate.value == "concatenate"
    return model.get_dim("nO") // (model.attrs["num_hashes"].value if side_by_side else 1)


def _parts(model: WeightedTableLayer, vectors: Array) -> list[Array]:
    """Give a view of the columns of the vectors that each of the K weighted rows is added to."""
    width, num_hashes = table_width(model), model.attrs["num_hashes"].value
    if width == model.get_dim("nO"):
        return [vectors] * num_hashes
    return [vectors[:, k * width : (k + 1) * width] for k in range(num_hashes)]


def _check_shapes(model: WeightedTableLayer, rows: Ints2d, weights: Floats2d) -> None:
    expected = (len(rows), model.attrs["num_hashes"].value)
    if rows.shape != expected or weights.shape != expected:
        raise ValueError(
            f"Layer '{model.name}' has {expected[1]} hash functions, and expects as many rows and "
            f"weights for each symbol; was given rows of shape {rows.shape} and weights of shape "
            f"{weights.shape}. Build it and the layers before it with one num_hashes."
        )
