"""From the vectors of n-grams to vectors of docs."""

from typing import Callable

from thinc.api import Model
from thinc.types import Floats2d, Ragged
from thinc.util import ArrayInfo

from ..common.pinned import Pinned
from ..common.types import Reduction
from ..compute.ops import for_kernel

NAME = "reduce_ngrams"


def reduce_ngrams(reduction: Reduction, width: int) -> Reduction:
    """Reduce the vectors of each doc to one, which is zeros for a doc without vectors.

    thinc's reductions give zeros as well, but not where no doc of a batch has a vector: the Ragged
    does not know the width then.

    vectors (M, width) float32 with lengths (B,) int32 -> vectors (B, width) float32.

    reduction (Reduction): thinc's reduce_sum or reduce_mean.
    width (int): Width of the vectors.
    """
    return Model(
        NAME,
        forward,
        layers=[reduction],
        dims={"nO": width, "nI": width},
        attrs={"reduce": Pinned(reduction.name)},
    )


def forward(model: Reduction, X: Ragged, is_train: bool) -> tuple[Floats2d, Callable]:
    """Reduce the vectors, if there are any."""
    if not len(X.dataXd):
        return _handle_empty(model, X)
    vectors = for_kernel(model.ops, X.dataXd, "float32")
    Y, backprop_reduction = model.layers[0](Ragged(vectors, X.lengths), is_train)
    Y_info = ArrayInfo.from_array(Y)

    def backprop(dY: Floats2d) -> Ragged:
        Y_info.check_consistency(dY)
        return backprop_reduction(for_kernel(model.ops, dY, "float32"))

    return Y, backprop


def _handle_empty(model: Reduction, X: Ragged) -> tuple[Floats2d, Callable]:
    width = model.get_dim("nO")

    def backprop(d_vectors: Floats2d) -> Ragged:
        return Ragged(model.ops.alloc2f(0, width), X.lengths)

    return model.ops.alloc2f(len(X.lengths), width), backprop
