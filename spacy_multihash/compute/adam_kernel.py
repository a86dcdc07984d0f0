"""Adam's rule for one parameter, compiled by numba: each number is read and written once.

The operations, their order and their rounding are those of thinc's optimizer, which goes over all
numbers about ten times.
"""

from numba import njit
from numpy import float32, sqrt

from ..common.types import Array


@njit(error_model="numpy")  # type: ignore[untyped-decorator,unused-ignore]
def adam_step(
    weights: Array,
    gradient: Array,
    mom1: Array,
    mom2: Array,
    averages: Array,
    clip: float32,
    beta1: float32,
    rest1: float32,
    beta2: float32,
    rest2: float32,
    eps: float32,
    learn_rate: float32,
    decay: float32,
    average_rest: float32,
) -> None:
    """Take a step of Adam in place, and set the gradient to 0. All is float32, arrays are (N,).

    weights, gradient, mom1, mom2 (Array): The parameter, its gradient, and the moments.
    averages (Array): The averages of the weights, or (0,) to keep none.
    clip (float32): Factor of the gradient, 1 to leave it as it is.
    beta1, beta2 (float32): Decay of the moments. rest1 and rest2 are 1 - beta1 and 1 - beta2.
    eps (float32): What is added to the square root of the second moment.
    learn_rate (float32): The learning rate, with the correction of the moments' bias.
    decay (float32): Share of the weights that decays after the step.
    average_rest (float32): Share of the new weights in the averages.
    """
    averaged = averages.size > 0
    for i in range(weights.size):
        slope = gradient[i] * clip
        gradient[i] = 0
        mom1[i] = mom1[i] * beta1 + slope * rest1
        mom2[i] = mom2[i] * beta2 + rest2 * (slope * slope)
        weight = weights[i] - learn_rate * (mom1[i] / (sqrt(mom2[i]) + eps))
        weight = weight - decay * weight
        weights[i] = weight
        if averaged:
            averages[i] = averages[i] - average_rest * (averages[i] - weight)
