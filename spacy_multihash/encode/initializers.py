"""Initial weights of dilated convolutions."""

from collections.abc import Callable
from functools import partial
from typing import cast

from thinc.api import Ops, glorot_uniform_init
from thinc.types import Floats2d


def identity_init(C: int) -> Callable[[Ops, tuple[int, ...]], Floats2d]:
    """Make the initializer of a convolution over windows of C tokens, W (nO, C * nI).

    If input and result have the same width, the convolution starts as the identity on the token
    itself (Strubell et al. 2017, appendix A.1). Otherwise W is drawn Glorot-uniform.
    """
    return partial(_init_identity, C)


def residual_init(number: int) -> Callable[[Ops, tuple[int, ...]], Floats2d]:
    """Make the initializer of a residual convolution, W (nO, C * nI).

    W is drawn Glorot-uniform, and divided by the number of convolutions that add to the same
    vector. Otherwise vectors and gradients would grow by a factor with every pass, where passes
    share their weights.
    """
    return partial(_init_divided, number)


def _init_divided(number: int, ops: Ops, shape: tuple[int, ...]) -> Floats2d:
    return cast(Floats2d, glorot_uniform_init(ops, shape) / number)


def _init_identity(C: int, ops: Ops, shape: tuple[int, ...]) -> Floats2d:
    nO, columns = shape
    if columns != C * nO:
        return cast(Floats2d, glorot_uniform_init(ops, shape))
    centre = C // 2 * nO
    W = ops.alloc2f(nO, columns)
    W[:, centre : centre + nO] = ops.xp.eye(nO, dtype="float32")
    return W
