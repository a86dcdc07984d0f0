"""Tucker fusion: products of what several views say, by a tensor of low rank."""

from collections.abc import Callable, Iterator, Sequence
from itertools import accumulate
from math import prod, sqrt
from typing import NamedTuple, Optional, cast

from thinc.api import Model, get_array_module, uniform_init
from thinc.types import Floats2d
from thinc.util import ArrayInfo

from ..common.checks import MAX_SIZE, check_length, check_whole, refusal
from ..common.memory import check_memory
from ..common.types import Array
from ..compute.chunks import on_cpu
from ..compute.matmul import matmul

NAME = "tucker_fusion"

_WHERE = f"Layer '{NAME}'"
# The most numbers that the products of a chunk of tokens have.
_CHUNK, _GPU_CHUNK = 2**19, 2**26
# Views begin no smaller than a table of one hash: uniform in [-0.1, 0.1).
_LEAST_RMS = 0.1 / sqrt(3)


class _Weights(NamedTuple):
    """The parameters, W and b of each view."""

    W: list[Array]  # (r_i, d_i) each
    b: list[Array]  # (r_i,) each
    R: Array  # (nO, r_1 * ... * r_M)


def TuckerFusion(
    nO: int, widths: Sequence[Optional[int]], ranks: Sequence[int]
) -> Model[Floats2d, Floats2d]:
    """Multiply what several views say with each other (Barezi & Fung 2019, equations 4 to 7).

    The views of a token stand side by side. Each is padded with a 1 and projected to its rank. The
    core R weights all products of one entry of each projection. Through the 1, the products of
    fewer views are among them.

        z_i = W_i x_i + b_i,  Y = R (z_1 x z_2 x ... x z_M)

    X (N, d_1 + ... + d_M) float32 -> Y (N, nO) float32. W_i (r_i, d_i), b_i (r_i,), R (nO, r_1 *
    ... * r_M). The products of all ranks are held for a chunk of tokens, and the tensor of all
    widths never is.

    nO (int): Width of the result.
    widths (Sequence[Optional[int]]): Width d_i of each view. None for at most one, whose width is
        that of the sample at initialization.
    ranks (Sequence[int]): Rank r_i of each view, 1 <= r_i <= d_i. Four views of width 96 with ranks
        of 6, 6, 6 and 5 have about the parameters of MaxoutNorm with three pieces.

    Raises ValueError for ranks that are out of range, for an input of another width, and at
    initialization for weights beyond the memory.
    """
    check_ranks(_WHERE, "ranks", ranks, [f"view {i}" for i in range(len(widths))], widths)
    params = {f"{param}_{i}": None for i in range(len(ranks)) for param in ("W", "b")}
    is_known = None not in widths
    return Model(
        NAME,
        forward,
        init=init,
        dims={
            "nO": nO,
            "nI": sum(cast(Sequence[int], widths)) if is_known else None,
            **{f"nI_{i}": width for i, width in enumerate(widths)},
            **{f"nR_{i}": int(rank) for i, rank in enumerate(ranks)},
        },
        params={**params, "R": None},
    )


def check_ranks(
    where: str,
    name: str,
    ranks: object,
    views: Sequence[str],
    widths: Sequence[Optional[int]],
) -> None:
    """Raise ValueError if a setting is not a list of ranks, one for each view, that are in range.

    where (str): The layer, for the message.
    name (str): Name of the setting.
    ranks (object): What the setting was given.
    views (Sequence[str]): The names of the views.
    widths (Sequence[Optional[int]]): Their widths. None for one that is not known yet.
    """
    check_length(where, name, ranks, views)
    for rank, view, width in zip(cast(Sequence[object], ranks), views, widths, strict=True):
        advice = f"The rank of {view} is at most its width. Change it in the config."
        check_whole(where, name, rank, 1, MAX_SIZE if width is None else width, advice=advice)


def forward(
    model: Model[Floats2d, Floats2d], X: Floats2d, is_train: bool
) -> tuple[Floats2d, Callable]:
    """Project each view, then multiply chunk by chunk."""
    nI, nO = model.get_dim("nI"), model.get_dim("nO")
    if X.ndim != 2 or X.shape[1] != nI:
        raise ValueError(
            f"{_WHERE} expects an input of shape (N, {nI}), was given shape {X.shape}. Build it "
            "with the widths of the layers before it."
        )
    X = model.ops.as_contig(X, dtype="float32")
    weights = _weights_of(model)
    views = _views_of(model, X)
    # Tokens are the last axis, (r_i, N): numpy multiplies long rows faster than many short ones.
    pairs = zip(views, weights.W, weights.b, strict=True)
    projected = [matmul(W, x.T) + b[:, None] for x, W, b in pairs]
    Y = model.ops.alloc2f(len(X), nO, zeros=False)
    for rows in _chunks(model, len(X)):
        products = _products([z[:, rows] for z in projected])[-1]
        matmul(products.T, weights.R.T, out=Y[rows])
    Y_info = ArrayInfo.from_array(Y)

    def backprop(dY: Floats2d) -> Floats2d:
        dY = model.ops.as_contig(dY, dtype="float32")
        Y_info.check_consistency(dY)
        dR = model.ops.xp.zeros_like(weights.R)
        d_projected = [model.ops.xp.empty_like(z) for z in projected]
        for rows in _chunks(model, len(X)):
            # Multiplied anew: keeping the products would take far more memory than the rest.
            products = _products([z[:, rows] for z in projected])
            dR += matmul(dY[rows].T, products[-1].T)
            d_products = matmul(weights.R.T, dY[rows].T)  # (r_1 * ... * r_M, n)
            for i in range(len(projected) - 1, 0, -1):
                z = projected[i][:, rows]  # (r_i, n)
                d_products = d_products.reshape(-1, *z.shape)  # (r_1 * ... * r_(i-1), r_i, n)
                d_projected[i][:, rows] = _sum("prn,pn->rn", d_products, products[i - 1])
                d_products = _sum("prn,rn->pn", d_products, z)
            d_projected[0][:, rows] = d_products
        model.inc_grad("R", dR)
        dX = []
        for i, (x, W, dz) in enumerate(zip(views, weights.W, d_projected, strict=True)):
            model.inc_grad(f"W_{i}", matmul(dz, x))
            model.inc_grad(f"b_{i}", dz.sum(axis=1))
            dX.append(matmul(dz.T, W))
        return model.ops.xp.hstack(dX)

    return Y, backprop


def init(
    model: Model[Floats2d, Floats2d], X: Optional[Floats2d] = None, Y: Optional[Floats2d] = None
) -> None:
    """Draw all weights uniformly, so that the results have a variance of about one.

    Half of the variance of z_i is that of the view in the sample, and the other half that of b_i.
    So products of fewer views have a part in the results from the beginning. The variance of R is
    one divided by the number of products.
    """
    _set_widths(model, X)
    ranks, widths, nO = _ranks_of(model), _widths_of(model), model.get_dim("nO")
    shape = (nO, prod(ranks))
    check_memory(_WHERE, [shape, *zip(ranks, widths, strict=True)], "Take smaller ranks.")
    views = [None] * len(ranks) if X is None else _views_of(model, X)
    for i, (rank, width, view) in enumerate(zip(ranks, widths, views, strict=True)):
        rms = 0.0 if view is None or not len(view) else sqrt(float((view**2).mean()))
        _draw(model, f"W_{i}", (rank, width), 1 / (2 * width * max(rms, _LEAST_RMS) ** 2))
        _draw(model, f"b_{i}", (rank,), 1 / 2)
    _draw(model, "R", shape, 1 / shape[1])


def _draw(model: Model, name: str, shape: tuple[int, ...], variance: float) -> None:
    end = sqrt(3 * variance)
    model.set_param(name, uniform_init(model.ops, shape, lo=-end, hi=end))


def _set_widths(model: Model, X: Optional[Floats2d]) -> None:
    """Set the width that is open, that of the sample without the other views."""
    for i, rank in enumerate(_ranks_of(model)):
        if X is None or model.has_dim(f"nI_{i}"):
            continue
        width = X.shape[1] - sum(w for j, w in enumerate(_widths_of(model)) if j != i)
        if width < rank:
            expected = f"a rank of at most {width}, the width of view {i}"
            raise refusal(_WHERE, "ranks", expected, rank)
        model.set_dim(f"nI_{i}", width)
        model.set_dim("nI", X.shape[1])


def _products(projected: Sequence[Array]) -> list[Array]:
    """Multiply each entry of a projection with each one of the next, (r_1 * ... * r_i, n) for i."""

    def multiply(products: Array, z: Array) -> Array:
        return (products[:, None] * z[None]).reshape(-1, z.shape[1])

    return list(accumulate(projected, multiply))


def _sum(axes: str, X: Array, Y: Array) -> Array:
    return get_array_module(X).einsum(axes, X, Y)


def _chunks(model: Model, rows: int) -> Iterator[slice]:
    """Cut the tokens so that their products stay in bounds."""
    most = _CHUNK if on_cpu(model.ops) else _GPU_CHUNK
    size = max(1, most // prod(_ranks_of(model)))
    return (slice(start, min(start + size, rows)) for start in range(0, rows, size))


def _views_of(model: Model, X: Array) -> list[Array]:
    ends = list(accumulate(_widths_of(model)))
    starts = [0, *ends[:-1]]
    return [model.ops.as_contig(X[:, s:e]) for s, e in zip(starts, ends, strict=True)]


def _ranks_of(model: Model) -> list[int]:
    return [model.get_dim(dim) for dim in model.dim_names if dim.startswith("nR_")]


def _widths_of(model: Model) -> list[int]:
    """List the widths of the views, 0 for one that is not known yet."""
    dims = [dim for dim in model.dim_names if dim.startswith("nI_")]
    return [model.get_dim(dim) if model.has_dim(dim) else 0 for dim in dims]


def _weights_of(model: Model) -> _Weights:
    count = len(_ranks_of(model))
    return _Weights(
        [model.get_param(f"W_{i}") for i in range(count)],
        [model.get_param(f"b_{i}") for i in range(count)],
        model.get_param("R"),
    )
