"""The layer that makes one vector of those of a token's attributes, which stand side by side."""

from collections.abc import Sequence
from typing import Optional, cast

from thinc.api import LayerNorm, Model, chain
from thinc.types import Floats2d

from ..common.checks import check_whole
from ..compute.maxout_norm import MAX_PIECES, MaxoutNorm
from .tucker_fusion import TuckerFusion, check_ranks

# The name of static vectors as a view, beside those of attributes.
VECTORS = "vectors"


def build_mix(
    where: str,
    width: int,
    views: Sequence[str],
    widths: Sequence[Optional[int]],
    *,
    maxout_pieces: int,
    tucker_ranks: Optional[list[int]],
) -> Model[Floats2d, Floats2d]:
    """Build the layer that mixes the vectors of several views, with layer normalization.

    Tucker fusion is normalized as maxout is: the layers behind it expect rows of one scale, and
    the scale of a product of many views changes with each of them.

    vectors (U, d_1 + ... + d_M) float32 -> (U, width) float32.

    where (str): The layer that it is for, for messages.
    views (Sequence[str]): Names of the views: attributes, and "vectors".
    widths (Sequence[Optional[int]]): Their widths. None for one that is known at initialization.
    maxout_pieces (int): Number of maxout pieces, where tucker_ranks is None.
    tucker_ranks (Optional[list[int]]): The rank of each view in a TuckerFusion. None takes a
        MaxoutNorm.

    Raises ValueError for a number of pieces, or ranks, that are out of range.
    """
    check_whole(where, "maxout_pieces", maxout_pieces, 1, MAX_PIECES)
    if tucker_ranks is not None:
        check_ranks(where, "tucker_ranks", tucker_ranks, views, widths)
        return chain(TuckerFusion(width, widths, tucker_ranks), LayerNorm(width))
    nI = None if None in widths else sum(cast(Sequence[int], widths))
    return MaxoutNorm(width, nI, nP=maxout_pieces)
