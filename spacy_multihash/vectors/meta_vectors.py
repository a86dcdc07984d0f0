"""The layer that combines a token's vectors from several tables."""

from collections.abc import Callable
from math import sqrt
from typing import NamedTuple, Optional, cast

from thinc.api import Model, get_array_module, uniform_init
from thinc.types import Floats2d
from thinc.util import ArrayInfo

from ..common.checks import MAX_SIZE, check_choice, check_whole, setting_error
from ..common.nodes import Pinned
from ..common.types import Array

NAME = "meta_vectors"
MODES = ("concat", "mme")

_WHERE = f"Layer '{NAME}'"
# The score of a table that lacks the token. Infinity would give NaN if no table has the token.
_ABSENT = -1e30


class TableRows(NamedTuple):
    """The vectors of U tokens in n tables.

    rows: An array (U, l_j) float32 for each table; zeros for missing tokens.
    present: Which tables have which tokens, (n, U) bool.
    """

    rows: list[Array]
    present: Array


RowsLayer = Model[TableRows, Floats2d]


def MetaVectors(nO: Optional[int], tables: list[str], mode: str) -> RowsLayer:
    """Combine a token's vectors from several frozen tables (Winata et al. 2019).

    "concat" puts the rows side by side, and has no parameters. "mme" projects the rows of each
    table j, P_j = E_j W_j^T + b_j, and weights each entry by the softmax of its tanh over the
    tables that have the token. A token that no table has gets zeros.

    n tables of (U, l_j) float32 -> vectors (U, nO) float32. W_j (nO, l_j), b_j (nO,).

    In training, one mask (nO,) drops the same entries of all vectors in a batch, at the rate that
    spaCy sets, as in its StaticVectors.

    nO (Optional[int]): Output width. For "concat" the sum of the tables' widths, or None.
    tables (list[str]): Names of the tables, for the parameters and for messages.
    mode (str): "concat" or "mme".

    Raises ValueError if settings are out of range, or if the width of rows differs from the
    initialization.
    """
    check_choice(_WHERE, "mode", mode, MODES)
    if nO is not None:
        check_whole(_WHERE, "width", nO, 1, MAX_SIZE)
    elif mode == "mme":
        raise setting_error(_WHERE, "width", 'an integer for mode = "mme"', nO)
    params = {f"{param}_{name}": None for name in tables for param in ("W", "b")}
    return Model(
        NAME,
        forward,
        init=init,
        dims={"nO": nO, **{f"nI_{name}": None for name in tables}},
        params=cast(dict, params if mode == "mme" else {}),
        attrs={"mode": Pinned(mode), "tables": Pinned(list(tables)), "dropout_rate": 0.0},
    )


def forward(model: RowsLayer, X: TableRows, is_train: bool) -> tuple[Floats2d, Callable]:
    """Put the rows side by side, or project and weight them; then drop."""
    tables, ops = model.attrs["tables"].value, model.ops
    for name, rows in zip(tables, X.rows, strict=True):
        expected = model.get_dim(f"nI_{name}")
        if rows.shape[1] != expected:
            raise ValueError(
                f"{_WHERE} was trained with a table '{name}' of width {expected}, got one "
                f"of width {rows.shape[1]}. Give the table that it was trained with, or train anew."
            )
    is_concat = model.attrs["mode"].value == "concat"
    if is_concat:
        Y = ops.xp.hstack(X.rows)
    else:
        projected = ops.xp.stack(
            [
                ops.gemm(rows, cast(Floats2d, model.get_param(f"W_{name}")), trans2=True)
                + model.get_param(f"b_{name}")
                for name, rows in zip(tables, X.rows, strict=True)
            ]
        )
        Y, weights = weight(projected, X.present)
    rate = model.attrs["dropout_rate"]
    mask = ops.get_dropout_mask((Y.shape[1],), rate) if is_train and rate else None
    dropped = Y if mask is None else Y * mask
    Y_info = ArrayInfo.from_array(dropped)

    def backprop(dY: Floats2d) -> TableRows:
        Y_info.check_consistency(dY)
        if not is_concat:
            d_projected = weight_backward(dY if mask is None else dY * mask, projected, Y, weights)
            for name, rows, dP in zip(tables, X.rows, d_projected, strict=True):
                model.inc_grad(f"W_{name}", ops.gemm(dP, rows, trans1=True))
                model.inc_grad(f"b_{name}", dP.sum(axis=0))
        return X  # the tables are frozen: there is no gradient

    return dropped, backprop


def init(model: RowsLayer, X: Optional[TableRows] = None, Y: Optional[Floats2d] = None) -> None:
    """Draw the parameters of table j uniform in [-1, 1] / sqrt(l_j), as the authors' code does."""
    tables = model.attrs["tables"].value
    if X is not None:
        for name, rows in zip(tables, X.rows, strict=True):
            model.set_dim(f"nI_{name}", rows.shape[1], force=True)
    widths = {name: model.get_dim(f"nI_{name}") for name in tables}
    if model.attrs["mode"].value == "concat":
        total = sum(widths.values())
        if model.has_dim("nO") and model.get_dim("nO") != total:
            summands = " + ".join(f"{width} ({name})" for name, width in widths.items())
            raise ValueError(
                f'{_WHERE}: mode = "concat" puts the rows side by side, which are {summands} = '
                f"{total} wide, but width = {model.get_dim('nO')}. Set width = null, or another "
                "mode."
            )
        model.set_dim("nO", total)
        return
    nO = model.get_dim("nO")
    for name, nI in widths.items():
        end = 1 / sqrt(nI)
        for param, shape in ((f"W_{name}", (nO, nI)), (f"b_{name}", (nO,))):
            model.set_param(param, uniform_init(model.ops, shape, lo=-end, hi=end))


def weight(projected: Array, present: Array) -> tuple[Array, Array]:
    """Weight the projected vectors P (n, U, d) of n tables, and add them up.

    Y = sum_j A_j * P_j, where A is the softmax of tanh(P) over the tables that have the token.

    present: Which tables have which tokens, (n, U) bool.

    Returns Y (U, d) and A (n, U, d).
    """
    xp = get_array_module(projected)
    mask = present[:, :, None]
    scores = xp.where(mask, xp.tanh(projected), xp.asarray(_ABSENT, dtype=projected.dtype))
    exponentials = xp.exp(scores - scores.max(axis=0)) * mask
    totals = exponentials.sum(axis=0)
    weights = exponentials / xp.where(totals > 0, totals, xp.ones_like(totals))
    return (weights * projected).sum(axis=0), weights


def weight_backward(dY: Array, projected: Array, Y: Array, weights: Array) -> Array:
    """Give the gradient of P (n, U, d): dP_j = dY * A_j * (1 + (P_j - Y) * (1 - tanh(P_j)**2))."""
    xp = get_array_module(projected)
    return dY * weights * (1 + (projected - Y) * (1 - xp.tanh(projected) ** 2))
