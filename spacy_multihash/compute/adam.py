"""Adam in one pass over each parameter: thinc's steps, several times as fast on a CPU."""

from typing import Any, List, Union, cast

import numpy
from thinc.api import Optimizer
from thinc.types import FloatsXd, Generator

from ..common.types import Array
from .dispatch import kernels
from .ops import operations
from .threads import in_parts

FloatOrSeq = Union[float, List[float], Generator]
# The largest share of averages that a step keeps, as in thinc.
_MOST_KEPT = 0.9999
# A step on so many blocks takes as long as a row of other layers.
_BLOCKS_A_ROW = 4


def make_adam_v1(
    learn_rate: FloatOrSeq = 0.001,
    *,
    L2: FloatOrSeq = 0.0,
    beta1: FloatOrSeq = 0.9,
    beta2: FloatOrSeq = 0.999,
    eps: FloatOrSeq = 1e-08,
    grad_clip: FloatOrSeq = 1.0,
    L2_is_weight_decay: bool = True,
    use_averages: bool = True,
) -> "Adam":
    """Make an optimizer that takes the same steps as thinc's Adam.v1, faster.

    Arguments and defaults are thinc's. Each number may also be a schedule.

    learn_rate (FloatOrSeq): Learning rate.
    L2 (FloatOrSeq): Weight decay.
    beta1, beta2 (FloatOrSeq): Decay of the first and the second moment.
    eps (FloatOrSeq): Added to the square root of the second moment.
    grad_clip (FloatOrSeq): Largest norm of a parameter's gradient, or 0 for no limit.
    L2_is_weight_decay (bool): Whether L2 decays the weights, or is a term of the gradient.
    use_averages (bool): Whether to keep averages of the weights, which spaCy evaluates with.
    """
    return Adam(
        learn_rate,
        L2=L2,
        beta1=beta1,
        beta2=beta2,
        eps=eps,
        grad_clip=grad_clip,
        L2_is_weight_decay=L2_is_weight_decay,
        use_averages=use_averages,
    )


class Adam(Optimizer):
    """thinc's Adam (Kingma and Ba 2015, Algorithm 1), with one pass over each parameter.

    Where the compiler of thinc does not fuse products and sums, as on x86-64, the results are the
    same to the last bit, with two exceptions. The norm of a gradient that is clipped is summed more
    precisely. And on x86-64, numbers below 1e-38 become 0: such moments of rows that are rarely
    used would slow down a long training.

    thinc's own steps are taken without compiled kernels, for arrays of a GPU, of another dtype than
    float32, with gaps, or of other sizes than before, and for a beta of 0.
    """

    __slots__ = ("moving",)

    # Of each parameter, its moments and which of their blocks may be other than 0, (blocks,) uint8.
    moving: dict[tuple[int, str], tuple[FloatsXd, FloatsXd, Any]]

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401
        """Take thinc's arguments."""
        super().__init__(*args, **kwargs)
        self.moving = {}

    def blocks_with_moments(self, key: tuple[int, str], blocks: int) -> Any:  # noqa: ANN401
        """Return which blocks of moments may be other than 0: none before the first step.

        All, if others than the kernels took the last step.
        """
        mom1, mom2, has_moments = self.moving.get(key, (None, None, None))
        if has_moments is not None and mom1 is self.mom1.get(key) and mom2 is self.mom2.get(key):
            return has_moments
        is_first = key not in self.mom1 and key not in self.mom2
        return numpy.full(blocks, not is_first, dtype="uint8")

    def __call__(
        self,
        key: tuple[int, str],
        weights: FloatsXd,
        gradient: FloatsXd,
        *,
        lr_scale: float = 1.0,
    ) -> tuple[FloatsXd, FloatsXd]:
        """Take a step in place, set the gradient to 0, and return both.

        key (tuple[int, str]): The parameter's node and name.
        weights, gradient (FloatsXd): Arrays of any shape, the same for both.
        lr_scale (float): Factor of the learning rate.
        """
        w, g, ops = cast(Array, weights), cast(Array, gradient), operations(weights)
        mom1, mom2, averages = self.mom1, self.mom2, self.averages
        sizes = {of_all[key].size for of_all in (mom1, mom2, averages or {}) if key in of_all}
        is_plain = all(map(_is_plain, (w, g))) and len(sizes | {w.size, g.size}) == 1
        if not (ops.is_compiled and is_plain and self.b1 > 0.0 and self.b2 > 0.0):
            self.moving.pop(key, None)
            return super().__call__(key, weights, gradient, lr_scale=lr_scale)
        if len(g) < 1:
            return weights, gradient
        self.nr_update[key] += 1
        blocks = kernels.num_blocks(w.size)
        has_moments = self.blocks_with_moments(key, blocks)
        for of_all in (mom1, mom2):
            if key not in of_all:
                of_all[key] = ops.alloc1f(w.size)
        self.moving[key] = mom1[key], mom2[key], has_moments
        if averages is not None and key not in averages:
            averages[key] = ops.alloc_f(w.shape)
        decay = lr_scale * self.learn_rate * self.L2
        if self.L2 != 0 and not self.L2_is_weight_decay:
            g += self.L2 * w
            decay = 0.0
        row, is_zero = g.reshape(-1), numpy.empty(blocks, dtype="uint8")
        norm, clip = kernels.sum_squares(row, is_zero) ** 0.5, 1.0
        if self.grad_clip and norm >= self.grad_clip:
            clip = self.grad_clip / norm
        elif self.grad_clip and not norm < self.grad_clip:
            raise ValueError(
                f"The gradient of a parameter {key[1]} {g.shape} is NaN. Look for the component "
                "whose loss is nan, and train again with a lower learn_rate."
            )
        steps = self.nr_update[key]
        unbiased = self.learn_rate * (1.0 - self.b2**steps) ** 0.5
        unbiased /= 1.0 - self.b1**steps
        of_averages = None if averages is None else averages[key].reshape((-1,))
        arrays = w.reshape(-1), row, mom1[key], mom2[key], of_averages, is_zero, has_moments
        average_rest = 1.0 - min((1.0 + steps) / (10.0 + steps), _MOST_KEPT)
        numbers = clip, self.b1, self.b2, self.eps, unbiased * lr_scale, decay, average_rest
        in_parts(
            lambda first, last: kernels.adam(*arrays, first, last, *numbers),
            blocks,
            rows=blocks // _BLOCKS_A_ROW,
        )
        return weights, gradient


def _is_plain(values: Array) -> bool:
    """Check if an array can be read as one row of float32 numbers in the memory of the CPU."""
    is_numpy = isinstance(values, numpy.ndarray)
    return is_numpy and values.dtype == "float32" and values.flags.c_contiguous
