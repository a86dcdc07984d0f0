"""From the n-grams of docs to those that a dictionary has."""

from typing import Callable, Optional

from thinc.api import Model, to_numpy
from thinc.types import Ragged

from ..common.types import NgramFilter, RowLayer
from .symbols import UNKNOWN_ROW

NAME = "known_ngrams"


def known_ngrams(lookup: RowLayer) -> NgramFilter:
    """Keep the n-grams that have a row of their own, and leave the others out.

    Svenstrup et al. 2017, section 5.4, embed only the n-grams of their dictionary.

    n-gram ids (M,) uint64 with lengths (B,) int32 -> some of them, with their lengths. Ids have no
    gradient.

    lookup (RowLayer): Looks n-grams up, ids -> rows. N-grams that it does not have get row 0.
    """
    return Model(NAME, forward, init=init, layers=[lookup])


def forward(model: NgramFilter, X: Ragged, is_train: bool) -> tuple[Ragged, Callable]:
    """Look all n-grams up at once, and count how many are left of each doc."""
    xp = model.ops.xp
    known = model.layers[0].predict(X.dataXd)[:, 0] != UNKNOWN_ROW  # (M,)
    before = xp.concatenate([xp.zeros(1, dtype="int64"), xp.cumsum(known)])  # (M + 1,)
    ends = to_numpy(X.lengths).cumsum()
    at_ends = before[model.ops.asarray1i(ends)]
    lengths = xp.diff(at_ends, prepend=xp.zeros(1, dtype="int64"))
    kept = Ragged(X.dataXd[known], model.ops.asarray1i(lengths))

    def backprop(d_kept: Ragged) -> Ragged:
        return Ragged(model.ops.alloc1i(len(known)), X.lengths)  # integers have no gradient

    return kept, backprop


def init(model: NgramFilter, X: Optional[Ragged] = None, Y: Optional[Ragged] = None) -> None:
    """Check that there is a dictionary."""
    model.layers[0].initialize()
