"""From rows to vectors by a table that learns which of its rows matter."""

from functools import partial
from typing import Any, Callable, Optional, cast

import numpy
from thinc.api import Model, Ops, to_numpy, uniform_init
from thinc.types import Floats2d, Ints2d
from thinc.util import ArrayInfo

from ..common.bound import bound
from ..common.checks import check_number, check_whole
from ..common.memory import check_memory
from ..common.types import Array, TableLayer
from ..compute.chunks import on_cpu
from ..compute.contiguous import for_kernel
from .table_embed import check_rows, gradient_of, scatter_rows, table_of
from .table_embed import forward as predict
from .table_embed import init as init_table

NAME = "ard_table_embed"

_WHERE = f"Layer '{NAME}'"
# The noise begins at about a third of what a table's entries are, uniform in [-0.1, 0.1).
LOG_SIGMA = -4.0


def ArdTableEmbed(
    nO: int,
    nV: Optional[int] = None,
    *,
    ard: float = 1.0,
    warmup: int = 1000,
    initializer: Callable = uniform_init,
) -> TableLayer:
    """Sum the rows of a table whose entries are random in training (Kodryan et al. 2019).

    Each entry of the table has a normal distribution with mean mu and standard deviation sigma.
    Training draws it once for all tokens of a batch, W = mu + sigma * eps, and adds to the loss

        KL = 1/2 sum log(1 + mu**2 / sigma**2)

    so that entries without use shrink (equations 6 to 8). Predictions take mu, as TableEmbed does:
    where all mu of a row are small, the row may go.

    rows (N, K) int32 -> vectors (N, nO) float32. E, which is mu, and log_sigma (nV, nO).

    Only the rows of the batch are drawn, and get gradients. The gradient of a row's KL is divided
    by attrs["counts"] of it, (nV,) float32, the number of times that its symbol occurs in the
    training corpus. In an epoch, the shares of a row add up to its KL at most. A count of infinity,
    as for row 0, means no KL. The KL is multiplied by n / warmup in update n, up to `warmup`.

    nO (int): Width of the vectors.
    nV (int or None): Number of rows. None leaves it open until it is set or loaded.
    ard (float): Weight of the KL, ard >= 0. With 1 and a loss that is a sum over all tokens of a
        batch, the loss of an epoch is the one of the paper.
    warmup (int): Number of updates until the KL has its whole weight, warmup >= 0.
    initializer (Callable): Fills the table E; uniform in [-0.1, 0.1), as in TableEmbed.

    Raises ValueError for a setting that is out of range, at initialization if nV or the counts were
    never set, or if the table is beyond the memory. Raises IndexError for a row that the table does
    not have.
    """
    check_number(_WHERE, "ard", ard, 0)
    check_whole(_WHERE, "warmup", warmup, 0)
    return Model(
        NAME,
        # The settings are no attrs: loading would replace them by those of the saved model.
        bound(forward, ard, warmup),
        init=partial(init, initializer),
        dims={"nO": nO, "nV": nV},
        params={"E": None, "log_sigma": None},
        attrs={"counts": numpy.zeros(0, dtype="float32"), "updates": 0},
    )


def forward(
    ard: float, warmup: int, model: TableLayer, rows: Ints2d, is_train: bool
) -> tuple[Floats2d, Callable]:
    """Draw the rows of the batch, then gather and add."""
    if not is_train or not len(rows):
        return predict(model, rows, is_train)
    ops, E, log_sigma = model.ops, table_of(model), table_of(model, "log_sigma")
    if on_cpu(ops):
        check_rows(model, rows)
    touched, places = cast(Any, ops.xp).unique(rows, return_inverse=True)  # (T,), N * K places
    columns = for_kernel(ops, places.reshape(rows.shape), "int32")  # (N, K)
    mu, sigma = E[touched], ops.xp.exp(log_sigma[touched])  # (T, nO)
    eps = _draw(ops, mu.shape)
    noise = sigma * eps
    vectors = ops.gather_add(mu + noise, columns)  # (N, nO)
    vectors_info = ArrayInfo.from_array(vectors)

    def backprop(d_vectors: Floats2d) -> Ints2d:
        vectors_info.check_consistency(d_vectors)
        d_vectors = for_kernel(ops, d_vectors, "float32")
        dW = ops.alloc2f(*mu.shape)
        scatter_rows(ops, dW, columns, d_vectors)
        relevance = mu**2 / (mu**2 + sigma**2)
        share = _share(model, ard, warmup, touched)  # (T, 1)
        dE, d_log_sigma = gradient_of(model), gradient_of(model, "log_sigma")
        dE[touched] += dW + share * mu / (mu**2 + sigma**2)
        d_log_sigma[touched] += dW * noise - share * relevance
        model.attrs["updates"] += 1
        return ops.alloc2i(*rows.shape)  # integers have no gradient

    return vectors, backprop


def init(
    initializer: Callable,
    model: Model,
    X: Any = None,  # noqa: ANN401 (what the layer takes)
    Y: Optional[Floats2d] = None,
) -> None:
    """Fill the table, and set all sigma to exp(-4)."""
    if model.has_dim("nV"):
        shape = (model.get_dim("nV"), model.get_dim("nO"))
        advice = "Take fewer rows, or a smaller width, in the config."
        check_memory(f"Layer '{model.name}'", [shape, shape], advice)
    init_table(initializer, model)
    if len(model.attrs["counts"]) != len(table_of(model)):
        raise ValueError(
            f"{_WHERE} has {len(table_of(model))} rows, but counts of "
            f"{len(model.attrs['counts'])}. Set the tables of its lookup first, or attrs['counts']."
        )
    model.set_param("log_sigma", model.ops.xp.full_like(table_of(model), LOG_SIGMA))


def _share(model: Model, ard: float, warmup: int, touched: Array) -> Array:
    """Give the share of each row's KL that counts in this update, (T, 1)."""
    weight = ard * min(1.0, (model.attrs["updates"] + 1) / max(warmup, 1))
    counts = model.attrs["counts"][to_numpy(touched)]
    return model.ops.asarray2f((weight / counts)[:, None], dtype="float32")


def _draw(ops: Ops, shape: tuple[int, ...]) -> Array:
    """Draw from a standard normal distribution; a seed of numpy.random or CuPy repeats it."""
    if not on_cpu(ops):
        return cast(Any, ops.xp).random.standard_normal(shape, dtype="float32")
    # Two thirds of the time of numpy.random itself, which draws no floats of 32 bits.
    seed = numpy.random.randint(2**32, dtype="uint64")
    generator = numpy.random.Generator(numpy.random.SFC64(int(seed)))
    return generator.standard_normal(shape, dtype="float32")
