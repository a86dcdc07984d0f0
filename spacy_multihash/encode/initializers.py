"""What the weights of dilated convolutions begin with."""

from collections.abc import Callable
from functools import partial
from typing import cast

from thinc.api import Ops, glorot_uniform_init
from thinc.types import Floats2d


def identity_init(C: int) -> Callable[[Ops, tuple[int, ...]], Floats2d]:
    """Make the initializer of a convolution over windows of C tokens.

    W (nO, C * nI): each dimension of the token itself goes to the same of the result, if there are
    as many (Strubell et al. 2017, appendix A.1); else Glorot-uniform.
    """
    return partial(_init_identity, C)


def residual_init(number: int) -> Callable[[Ops, tuple[int, ...]], Floats2d]:
    """Make the initializer of a convolution that is one of a number which add to the same vector.

    W (nO, C * nI): Glorot-uniform, divided by their number. Undivided, shared weights that are
    added in pass after pass make vectors and gradients grow by factors.
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
