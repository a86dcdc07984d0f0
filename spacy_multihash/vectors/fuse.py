"""One vector of a token's vectors in several tables: arrays in, arrays out, forward and back.

    Y = sum_j A_j * P_j

P_j is the token's projected vector of table j. A_j is its weight: 1 for "linear"; for "mme" and
"scalar", the softmax of the scores of all tables that have the token (Winata et al. 2019; Kiela et
al. 2018). A table without the token has the weight 0. A token that no table has gets zeros.
"""

from typing import Literal, NamedTuple, Optional, get_args

from thinc.api import get_array_module

from ..common.types import Array

Mode = Literal["concat", "linear", "mme", "scalar"]
MODES: tuple[str, ...] = get_args(Mode)
# The modes whose weights depend on the token.
ATTENTION: tuple[str, ...] = ("mme", "scalar")

# The score of a table that has no say. Infinity would give NaN where no table has one.
_NO_SAY = -1e30


class Fused(NamedTuple):
    """The fused vectors of U tokens, and what the way back needs.

    vectors: (U, d).
    weights: Of each table, (n, U, d), or (n, U, 1) where one number weights the whole vector.
    scores: Their logarithms before the softmax, of the same shape. None without attention.
    """

    vectors: Array
    weights: Array
    scores: Optional[Array]


def fuse(mode: str, projected: Array, present: Array, attention: Optional[Array] = None) -> Fused:
    """Fuse the projected vectors of n tables.

    mode (str): "linear", "mme" or "scalar".
    projected: P, (n, U, d) floats.
    present: Which table has which token, (n, U) bool.
    attention: The vector a of "scalar", (d,) floats.
    """
    xp = get_array_module(projected)
    mask = present[:, :, None]
    if mode == "linear":
        return Fused((projected * mask).sum(axis=0), mask.astype(projected.dtype), None)
    scores = xp.tanh(projected) if mode == "mme" else (projected @ attention)[:, :, None]
    masked = xp.where(mask, scores, xp.asarray(_NO_SAY, dtype=projected.dtype))
    exponentials = xp.exp(masked - masked.max(axis=0)) * mask
    totals = exponentials.sum(axis=0)
    weights = exponentials / xp.where(totals > 0, totals, xp.ones_like(totals))
    return Fused((weights * projected).sum(axis=0), weights, scores)


def fuse_backward(
    mode: str,
    d_vectors: Array,
    projected: Array,
    fused: Fused,
    attention: Optional[Array] = None,
) -> tuple[Array, Optional[Array]]:
    """Go back: (U, d) -> the gradient of P (n, U, d), and that of a (d,), None without it.

        mme:     dP_j = dY * A_j * (1 + (P_j - Y) * (1 - tanh(P_j)**2))
        scalar:  ds_j = A_j * dY . (P_j - Y),  dP_j = A_j * dY + ds_j * a,  da = sum ds_j * P_j

    The other arguments are those of `fuse`, and its result.
    """
    d_projected = fused.weights * d_vectors
    if fused.scores is None:
        return d_projected, None
    d_scores = d_projected * (projected - fused.vectors)
    if mode == "mme":
        return d_projected + d_scores * (1 - fused.scores**2), None
    d_scores = d_scores.sum(axis=2, keepdims=True)
    d_attention = (d_scores * projected).sum(axis=(0, 1))
    return d_projected + d_scores * attention, d_attention
