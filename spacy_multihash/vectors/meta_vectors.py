"""The layer that fuses the vectors of several tables."""

from collections.abc import Callable
from math import sqrt
from typing import NamedTuple, Optional, cast

from thinc.api import Model, uniform_init
from thinc.types import Floats2d
from thinc.util import ArrayInfo

from ..common.checks import MAX_SIZE, check_choice, check_whole, refusal
from ..common.memory import check_memory
from ..common.pinned import Pinned
from ..common.types import Array
from .fuse import MODES, Fused, fuse, fuse_backward

NAME = "meta_vectors"

_WHERE = f"Layer '{NAME}'"


class TableRows(NamedTuple):
    """The vectors of U tokens in n tables.

    rows: An array (U, l_j) float32 for each table; zeros for a token that it lacks.
    present: Which table has which token, (n, U) bool.
    """

    rows: list[Array]
    present: Array


RowsLayer = Model[TableRows, Floats2d]


def MetaVectors(nO: Optional[int], tables: list[str], mode: str) -> RowsLayer:
    """Fuse the vectors that a token has in several frozen tables (Winata et al. 2019).

    Each table j has a linear function, P_j = E_j W_j^T + b_j. "linear" adds the P_j up. "mme"
    weights each entry of them by the softmax of its tanh over the tables, without further
    parameters. "scalar" weights each P_j by one number, the softmax of a . P_j over the tables.
    "concat" has no parameters: the rows stand side by side. A table without a token has no say.

    n tables of (U, l_j) float32 -> vectors (U, nO) float32. W_j (nO, l_j), b_j (nO,), a (nO,).

    In training, the entries of all vectors of a batch are dropped by one mask (nO,), at the rate
    that spaCy sets, as in its StaticVectors.

    nO (Optional[int]): Width of the result. For "concat" the sum of the tables' widths, or None.
    tables (list[str]): Names of the tables, for the parameters and for messages.
    mode (str): "concat", "linear", "mme" or "scalar".

    Raises ValueError for settings that are out of range, for rows of another width than those of
    the initialization, and at initialization for weights beyond the memory.
    """
    check_choice(_WHERE, "mode", mode, MODES)
    if nO is not None:
        check_whole(_WHERE, "width", nO, 1, MAX_SIZE)
    elif mode != "concat":
        raise refusal(_WHERE, "width", f'a whole number for mode = "{mode}"', nO)
    params: dict[str, None] = {}
    if mode != "concat":
        params = {f"{param}_{name}": None for name in tables for param in ("W", "b")}
    if mode == "scalar":
        params["a"] = None
    return Model(
        NAME,
        forward,
        init=init,
        dims={"nO": nO, **{f"nI_{name}": None for name in tables}},
        params=cast(dict, params),
        attrs={"mode": Pinned(mode), "tables": Pinned(list(tables)), "dropout_rate": 0.0},
    )


def forward(model: RowsLayer, X: TableRows, is_train: bool) -> tuple[Floats2d, Callable]:
    """Project, fuse and drop."""
    _check_widths(model, X)
    Y, backprop_fused = _concatenate(model, X) if _mode(model) == "concat" else _attend(model, X)
    rate = model.attrs["dropout_rate"]
    mask = model.ops.get_dropout_mask((Y.shape[1],), rate) if is_train and rate else None
    if mask is not None:
        Y = Y * mask
    Y_info = ArrayInfo.from_array(Y)

    def backprop(dY: Floats2d) -> TableRows:
        Y_info.check_consistency(dY)
        backprop_fused(dY if mask is None else dY * mask)
        return X  # the tables are frozen: there is no gradient

    return Y, backprop


def init(model: RowsLayer, X: Optional[TableRows] = None, Y: Optional[Floats2d] = None) -> None:
    """Draw all parameters of table j uniform in [-1, 1] / sqrt(l_j), and a in [-1, 1] / sqrt(nO).

    The authors' code does the same with W and b.
    """
    mode = _mode(model)
    if X is not None:
        for name, rows in zip(_tables(model), X.rows, strict=True):
            model.set_dim(f"nI_{name}", rows.shape[1], force=True)
    widths = {name: model.get_dim(f"nI_{name}") for name in _tables(model)}
    if mode == "concat":
        _set_sum(model, widths)
        return
    nO = model.get_dim("nO")
    advice = "Take a smaller width in the config."
    check_memory(_WHERE, [(nO, nI) for nI in widths.values()], advice)
    for name, nI in widths.items():
        end = 1 / sqrt(nI)
        for param, shape in ((f"W_{name}", (nO, nI)), (f"b_{name}", (nO,))):
            model.set_param(param, uniform_init(model.ops, shape, lo=-end, hi=end))
    if mode == "scalar":
        end = 1 / sqrt(nO)
        model.set_param("a", uniform_init(model.ops, (nO,), lo=-end, hi=end))


def mean_weights(model: RowsLayer, X: TableRows) -> Array:
    """Give the weight of each table for each token, (n, U) float32: the mean of its entries.

    With attention, the weights of a token that a table has add up to 1.

    Raises ValueError for mode = "concat", which weights nothing.
    """
    if _mode(model) == "concat":
        raise ValueError(f'{_WHERE}: mode = "concat" has no weights. Ask a layer of another mode.')
    _check_widths(model, X)
    return _fuse(model, X)[1].weights.mean(axis=2)


def _concatenate(model: RowsLayer, X: TableRows) -> tuple[Floats2d, Callable[[Floats2d], None]]:
    return cast(Floats2d, model.ops.xp.hstack(X.rows)), lambda dY: None


def _attend(model: RowsLayer, X: TableRows) -> tuple[Floats2d, Callable[[Floats2d], None]]:
    projected, fused = _fuse(model, X)

    def backprop(dY: Floats2d) -> None:
        gradients = fuse_backward(_mode(model), dY, projected, fused, _attention(model))
        d_projected, d_attention = gradients
        for name, E, dP in zip(_tables(model), X.rows, d_projected, strict=True):
            model.inc_grad(f"W_{name}", model.ops.gemm(dP, E, trans1=True))
            model.inc_grad(f"b_{name}", dP.sum(axis=0))
        if d_attention is not None:
            model.inc_grad("a", d_attention)

    return cast(Floats2d, fused.vectors), backprop


def _fuse(model: RowsLayer, X: TableRows) -> tuple[Array, Fused]:
    """Project the rows of each table, (n, U, nO), and fuse them."""
    projected = [
        model.ops.gemm(E, cast(Floats2d, model.get_param(f"W_{name}")), trans2=True)
        + model.get_param(f"b_{name}")
        for name, E in zip(_tables(model), X.rows, strict=True)
    ]
    stacked = model.ops.xp.stack(projected)
    return stacked, fuse(_mode(model), stacked, X.present, _attention(model))


def _attention(model: RowsLayer) -> Optional[Array]:
    return model.get_param("a") if _mode(model) == "scalar" else None


def _mode(model: RowsLayer) -> str:
    return model.attrs["mode"].value


def _tables(model: RowsLayer) -> list[str]:
    return model.attrs["tables"].value


def _set_sum(model: RowsLayer, widths: dict[str, int]) -> None:
    """Set the width of rows side by side, or check it where the config has set it."""
    total = sum(widths.values())
    if model.has_dim("nO") and model.get_dim("nO") != total:
        raise ValueError(
            f'{_WHERE}: mode = "concat" puts the rows side by side, which are '
            f"{' + '.join(f'{width} ({name})' for name, width in widths.items())} = {total} wide, "
            f"but width = {model.get_dim('nO')}. Set width = null, or another mode."
        )
    model.set_dim("nO", total)


def _check_widths(model: RowsLayer, X: TableRows) -> None:
    for name, rows in zip(_tables(model), X.rows, strict=True):
        expected = model.get_dim(f"nI_{name}")
        if rows.shape[1] != expected:
            raise ValueError(
                f"{_WHERE} was trained with a table '{name}' of width {expected}, was given one "
                f"of width {rows.shape[1]}. Give the table that it was trained with, or train anew."
            )
