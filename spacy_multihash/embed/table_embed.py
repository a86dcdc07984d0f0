"""From rows to vectors: the table, the only trained part of an attribute's embedding."""

from functools import partial
from typing import Any, Callable, Optional, cast

import numpy
from thinc.api import Model, uniform_init
from thinc.types import Floats2d, Ints2d
from thinc.util import ArrayInfo

from ..common.types import Array, TableLayer
from ..compute.array_ops import for_kernel, for_sums
from ..compute.bags import Bags
from ..compute.ops import operations

NAME = "table_embed"


def TableEmbed(
    nO: int, nV: Optional[int] = None, *, initializer: Callable = uniform_init
) -> TableLayer:
    """Sum the rows of a table that each token is mapped to.

    The sum is not rescaled by the number of rows. In the backward pass, a vector's gradient is
    added to each of its rows, and gradients of a repeated row add up. On a GPU, the order varies,
    so the last bits may differ from run to run.

    rows (N, K) int32 -> vectors (N, nO) float32.

    nO (int): Width of the vectors.
    nV (int or None): Number of rows. None leaves it open until it is set or loaded.
    initializer (Callable): Fills the table E (nV, nO); uniform in [-0.1, 0.1), as in thinc.

    Raises ValueError at initialization if nV was never set, and IndexError for a row outside the
    table.
    """
    return Model(
        NAME,
        forward,
        init=partial(init, initializer),
        dims={"nO": nO, "nV": nV},
        params={"E": None},
    )


def forward(model: TableLayer, rows: Ints2d, is_train: bool) -> tuple[Floats2d, Callable]:
    """Gather and add; scatter-add in the backward pass."""
    vectors, backprop_sums = sum_rows(model, rows)

    def backprop(d_vectors: Floats2d) -> Ints2d:
        backprop_sums(d_vectors)
        return model.ops.alloc2i(*rows.shape)  # integers have no gradient

    return vectors, backprop


def sum_rows(
    model: Model,
    rows: Ints2d,
    weights: Optional[Floats2d] = None,
    ends: Optional[numpy.ndarray] = None,
    mean: bool = False,
) -> tuple[Floats2d, Callable]:
    """Sum the rows of a table for each of U tokens; see `Bags` for rows, weights, ends, mean.

    Returns the vectors (U, nO), and a callback that takes their gradients, adds them to the
    table's, and returns the gradients of the weights (M, K), or None if there are none.
    """
    ops, E = operations(model.ops), table_of(model)
    check_rows(model, rows)
    if weights is not None:
        weights = for_kernel(ops, weights, "float32")
    bags = Bags(for_kernel(ops, rows, "int32"), weights, ends, mean)
    vectors = ops.gather_sum(E, bags)
    vectors_info = ArrayInfo.from_array(vectors)

    def backprop(d_vectors: Floats2d) -> Optional[Floats2d]:
        vectors_info.check_consistency(d_vectors)
        d_vectors = for_sums(ops, d_vectors)
        d_weights = None if bags.weights is None else ops.gather_dot(E, bags, d_vectors)
        ops.scatter_sum(gradient_of(model), bags, d_vectors)
        return d_weights

    return vectors, backprop


def init(
    initializer: Callable,
    model: Model,
    X: Any = None,  # noqa: ANN401 (what the layer takes)
    Y: Optional[Floats2d] = None,
) -> None:
    """Fill the table."""
    if not model.has_dim("nV"):
        raise ValueError(
            f"Layer '{model.name}' cannot be initialized: its number of rows (nV) is not set. "
            "Give nV when building it, or set the tables of its lookup first."
        )
    model.set_param("E", initializer(model.ops, (model.get_dim("nV"), model.get_dim("nO"))))


class NoWeightsError(KeyError, ValueError):
    """A layer has no weights. spaCy adds the component's name to a KeyError."""

    __str__ = Exception.__str__  # without a KeyError's quotes


def table_of(model: Model) -> Floats2d:
    """Get the table E (nV, nO), or raise NoWeightsError."""
    if not model.has_param("E"):  # get_param would return the table from before it was unset
        raise NoWeightsError(
            f"Layer '{model.name}' has no weights: initialize it, or load weights, before using "
            "it. Setting the tables of a lookup takes the weights of its old tables away."
        )
    return cast(Floats2d, model.get_param("E"))


def gradient_of(model: Model) -> Floats2d:
    """Get the gradient of the table, (nV, nO), to add to in place.

    Filling a second array and adding it would take more time than the rest of backpropagation.
    """
    if not model.has_grad("E"):
        model.set_grad("E", model.ops.alloc2f(*table_of(model).shape))
    return cast(Floats2d, model.get_grad("E"))


def check_rows(model: Model, rows: Ints2d) -> None:
    """Raise IndexError for a row outside the table, ValueError for rows that aren't integers."""
    nV, found = len(table_of(model)), cast(Array, rows)
    if found.dtype.kind not in "iu" or found.ndim != 2:
        raise ValueError(
            f"Layer '{model.name}' expects rows of shape (N, K) and type int32, got shape "
            f"{found.shape} and type {found.dtype}."
        )
    if not found.size:
        return
    if found.dtype == "int32":  # as unsigned numbers, negative rows are large: a single pass
        asked = int(found.view("uint32").max())
        asked -= 2**32 * (asked >= 2**31)
    else:
        asked = int(found.min()) if found.min() < 0 else int(found.max())
    if not 0 <= asked < nV:
        raise IndexError(
            f"Layer '{model.name}' has {nV} rows (0 to {nV - 1}), but was asked for row {asked}. "
            "The layer before it maps to more rows than the table has: build both with the same "
            "number of rows."
        )
