"""Adam with the steps of thinc's, several times as fast on CPU."""

from types import ModuleType
from typing import Any, List, Union

import numpy
from thinc.api import Optimizer
from thinc.backends import get_array_ops
from thinc.types import FloatsXd, Generator

from ..common.types import Array
from .dispatch import kernels_for

FloatOrSeq = Union[float, List[float], Generator]
# The largest share of averages that a step keeps, as in thinc.
_MOST_KEPT = 0.9999


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
) -> Optimizer:
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

    The results are the same to the last bit where the compiler of thinc does not fuse products and
    sums, as on x86-64. thinc's own steps are taken without compiled kernels, for arrays of a GPU,
    of another dtype than float32, with gaps, or of other sizes than before, and for a beta of 0.
    """

    __slots__ = ()

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
        kernels = kernels_for(weights)
        is_plain = self.b1 > 0.0 and self.b2 > 0.0 and self._are_plain(key, weights, gradient)
        if kernels is None or not is_plain:
            return super().__call__(key, weights, gradient, lr_scale=lr_scale)
        if len(gradient) < 1:
            return weights, gradient
        self.nr_update[key] += 1
        ops = get_array_ops(weights)
        for moments in (self.mom1, self.mom2):
            if key not in moments:
                moments[key] = ops.alloc1f(weights.size)
        if self.averages is not None and key not in self.averages:
            self.averages[key] = ops.alloc_f(weights.shape)
        if self.L2 != 0 and not self.L2_is_weight_decay:
            gradient += self.L2 * weights
        self._step(kernels, key, weights, gradient, lr_scale)
        return weights, gradient

    def _are_plain(self, key: tuple[int, str], weights: FloatsXd, gradient: FloatsXd) -> bool:
        """Tell whether the kernel can take all arrays of a step; it does not check their sizes."""
        known = (kept[key] for kept in (self.mom1, self.mom2, self.averages or {}) if key in kept)
        sizes = {values.size for values in (weights, gradient, *known)}
        return len(sizes) == 1 and _is_plain(weights) and _is_plain(gradient)

    def _step(
        self,
        kernels: ModuleType,
        key: tuple[int, str],
        weights: Array,
        gradient: Array,
        lr_scale: float,
    ) -> None:
        steps = self.nr_update[key]
        clip = 1.0
        if self.grad_clip and (norm := numpy.linalg.norm(gradient)) >= self.grad_clip:
            clip = self.grad_clip / norm
        averages: Any = None if self.averages is None else self.averages[key]
        unbiased = self.learn_rate * (1.0 - self.b2**steps) ** 0.5 / (1.0 - self.b1**steps)
        kernels.adam(
            weights.reshape(-1),
            gradient.reshape(-1),
            self.mom1[key],
            self.mom2[key],
            None if averages is None else averages.reshape(-1),
            clip,
            self.b1,
            self.b2,
            self.eps,
            unbiased * lr_scale,
            lr_scale * self.learn_rate * self.L2 if self.L2_is_weight_decay else 0.0,
            1.0 - min((1.0 + steps) / (10.0 + steps), _MOST_KEPT),
        )


def _is_plain(values: FloatsXd) -> bool:
    """Whether an array can be read as one row of float32 numbers in the memory of the CPU."""
    is_numpy = isinstance(values, numpy.ndarray)
    return is_numpy and values.dtype == "float32" and values.flags.c_contiguous
