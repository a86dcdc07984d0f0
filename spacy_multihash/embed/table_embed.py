"""From rows to vectors: the table, the only trained part of an attribute's embedding."""

from functools import partial
from typing import Any, Callable, Optional, cast

from thinc.api import Model, Ops, uniform_init
from thinc.types import Floats2d, Ints2d
from thinc.util import ArrayInfo

from ..common.memory import check_memory
from ..common.types import Array, TableLayer
from ..compute.ops import for_kernel, on_cpu

NAME = "table_embed"


def TableEmbed(
    nO: int, nV: Optional[int] = None, *, initializer: Callable = uniform_init
) -> TableLayer:
    """Sum the rows of a table that each token is mapped to.

    The sum is not rescaled by the number of rows. Going back, the gradient of a vector is added to
    each of its rows. The gradients of a repeated row add up. On a GPU they do so in any order, so
    that the last bits may differ from run to run.

    rows (N, K) int32 -> vectors (N, nO) float32.

    nO (int): Width of the vectors.
    nV (int or None): Number of rows. None leaves it open until it is set or loaded.
    initializer (Callable): Fills the table E (nV, nO); uniform in [-0.1, 0.1), as in thinc.

    Raises ValueError at initialization if nV was never set, or if the table is beyond the memory.
    Raises IndexError for a row that the table does not have.
    """
    return Model(
        NAME,
        forward,
        init=partial(init, initializer),
        dims={"nO": nO, "nV": nV},
        params={"E": None},
    )


def forward(model: TableLayer, rows: Ints2d, is_train: bool) -> tuple[Floats2d, Callable]:
    """Gather and add, with a scatter-add on the way back."""
    E = table_of(model)
    if on_cpu(model.ops):  # thinc's CUDA kernel checks its indices itself
        check_rows(model, rows)
    rows = for_kernel(model.ops, rows, "int32")
    if len(rows):
        vectors = model.ops.gather_add(E, rows)  # (N, nO)
    else:
        vectors = model.ops.alloc2f(0, E.shape[1])  # gather_add raises on 0 rows
    vectors_info = ArrayInfo.from_array(vectors)

    def backprop(d_vectors: Floats2d) -> Ints2d:
        vectors_info.check_consistency(d_vectors)
        d_vectors = model.ops.as_contig(d_vectors)
        scatter_rows(model.ops, gradient_of(model), rows, d_vectors)
        return model.ops.alloc2i(*rows.shape)  # integers have no gradient

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
    fill_table(initializer, model, model.get_dim("nO"))


def scatter_rows(ops: Ops, table: Floats2d, rows: Ints2d, d_vectors: Floats2d) -> None:
    """Add a gradient (N, nO) to each of the K rows, (N, K), that were summed to a vector."""
    for column in ops.as_contig(rows.T):  # (K, N)
        ops.scatter_add(table, column, d_vectors)


def fill_table(initializer: Callable, model: Model, width: int) -> None:
    """Draw the table E (nV, width), or raise ValueError if it is beyond the memory."""
    shape = (model.get_dim("nV"), width)
    advice = "Take fewer rows, or a smaller width, in the config."
    check_memory(f"Layer '{model.name}'", [shape], advice)
    model.set_param("E", initializer(model.ops, shape))


class NoWeightsError(KeyError, ValueError):
    """A layer has no weights. spaCy names the component where it meets a KeyError."""

    __str__ = Exception.__str__  # not in quotes, as that of a KeyError is


def table_of(model: Model) -> Floats2d:
    """Get the table E (nV, nO). Raise NoWeightsError without it."""
    if not model.has_param("E"):  # get_param would give the table from before it was unset
        raise NoWeightsError(
            f"Layer '{model.name}' has no weights: initialize it, or load weights, before using "
            "it. Setting the tables of a lookup takes the weights of its old tables away."
        )
    return cast(Floats2d, model.get_param("E"))


def gradient_of(model: Model) -> Floats2d:
    """Get the gradient of the table, (nV, nO), to add to in place.

    Filling a second array, and adding it to this one, would take more time than the rest of
    backpropagation.
    """
    if not model.has_grad("E"):
        model.set_grad("E", model.ops.alloc2f(*table_of(model).shape))
    return cast(Floats2d, model.get_grad("E"))


def check_rows(model: Model, rows: Ints2d) -> None:
    """Raise IndexError for a row outside the table."""
    nV = len(table_of(model))
    # As an unsigned number, a negative row is a large one, so that one pass finds both.
    if rows.size:
        bits = 8 * cast(Array, rows).dtype.itemsize
        last = int(cast(Array, rows).view(f"uint{bits}").max())
        if last >= nV:
            asked = last if last < 2 ** (bits - 1) else last - 2**bits
            raise IndexError(
                f"Layer '{model.name}' has {nV} rows (0 to {nV - 1}), but was asked for row "
                f"{asked}. The layer before it maps to more rows than the table has: build both "
                "with the same number of rows."
            )
