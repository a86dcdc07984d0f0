"""The forward-backward algorithm of a linear chain of tags, for all docs of a batch side by side.

Sums over all sequences of tags that are entities, in logarithms, with -inf for no way at all. As
`biluo.may_follow` has it, there are two kinds of steps from a token to the next: from O, L and U to
O, B and U, each to each, and from B and I to I and L of the same label only.
"""

from typing import NamedTuple, Optional

import numpy
from thinc.api import get_array_module

from ...common.types import Array
from ..biluo import OUTSIDE, num_labels, tag_columns
from .packing import Packed

# Transition scores of up to this size are summed over by products of matrices: the exponentials of
# any two of them, multiplied, are within float64. Larger ones are right as well, but slower.
_LARGEST = 300.0


class Steps(NamedTuple):
    """The scores of all steps that there are, in float64, and the columns of their tags.

    between (K, K): From O, L and U to O, B and U, K = 2 * C + 1.
    weights (K, K): Its exponentials, or None where that loses too much.
    sources (K,), targets (K,) int64: Their columns.
    within (2, 2, C): From B and I to I and L of the same label.
    within_sources, within_targets: Their columns: B and I, I and L lie side by side.
    """

    between: Array
    weights: Optional[Array]
    sources: Array
    targets: Array
    within: Array
    within_sources: slice
    within_targets: slice

    def reversed(self) -> "Steps":
        """Go the same steps backward."""
        return Steps(
            self.between.T,
            None if self.weights is None else self.weights.T,
            self.targets,
            self.sources,
            self.within.swapaxes(0, 1),
            self.within_targets,
            self.within_sources,
        )


class Sums(NamedTuple):
    """Logarithms of summed exponentials of scores, by token in packed order, and tag.

    scores (N, nO): The scores of the tokens themselves, -inf for a tag that is ruled out.
    before (N, nO): Of all that leads from the doc's first token to this tag, its score included.
    after (N, nO): Of all that leads from this tag to the doc's last token, its score left out.
    totals (N,): Of all sequences of the token's doc, log Z.
    """

    scores: Array
    before: Array
    after: Array
    totals: Array


def find_steps(transitions: Array) -> Steps:
    """Sort the steps that there are from all transitions.

    transitions (nO, nO) float32: As in `crf_loss`.
    """
    xp = get_array_module(transitions)
    C, columns = num_labels(len(transitions)), tag_columns(len(transitions))
    numbers = numpy.arange(len(transitions))
    sources, targets = (
        xp.asarray(numpy.concatenate([[OUTSIDE], numbers[kind], numbers[columns.U]]))
        for kind in (columns.L, columns.B)
    )
    within_sources = slice(columns.B.start, columns.I.stop)
    within_targets = slice(columns.I.start, columns.L.stop)
    scores = transitions.astype("float64")
    between = scores[sources[:, None], targets]
    within = scores[within_sources, within_targets].reshape((2, C, 2, C))
    return Steps(
        between,
        xp.exp(between) if float(abs(between).max()) <= _LARGEST else None,
        sources,
        targets,
        xp.einsum("icjc->ijc", within),
        within_sources,
        within_targets,
    )


def forward_backward(scores: Array, packed: Packed, steps: Steps) -> Sums:
    """Sum over all sequences of each doc, forward and backward.

    scores (N, nO) float64: Scores of tokens in packed order, -inf for tags ruled out.
    packed (Packed): The docs.
    steps (Steps): The scores of going from tag to tag.
    """
    xp = get_array_module(scores)
    back = steps.reversed()
    before, after = xp.full_like(scores, -xp.inf), xp.full_like(scores, -xp.inf)
    for t in range(packed.num_steps):
        now = packed.step(t)
        if t == 0:
            before[now, steps.targets] = scores[now, steps.targets]
        else:
            earlier = before[packed.step(t - 1)][: packed.sizes[t]]
            before[now] = _advance(earlier, steps) + scores[now]
    for t in reversed(range(packed.num_steps)):
        now, goes_on = after[packed.step(t)], 0
        if t + 1 < packed.num_steps:
            later = packed.step(t + 1)
            goes_on = int(packed.sizes[t + 1])
            now[:goes_on] = _advance(after[later] + scores[later], back)
        now[goes_on:, steps.sources] = 0
    return Sums(scores, before, after, log_sum(before + after))


def _advance(values: Array, steps: Steps) -> Array:
    """Go one step from each tag: (A, nO) float64 log sums -> (A, nO) float64, of those reached."""
    xp = get_array_module(values)
    reached = xp.empty_like(values)
    reached[:, steps.targets] = _leap(values[:, steps.sources], steps)
    within = values[:, steps.within_sources].reshape((len(values), *steps.within.shape[::2]))
    within = within[:, :, None] + steps.within  # (A, 2, 2, C)
    within = xp.logaddexp(within[:, 0], within[:, 1])
    reached[:, steps.within_targets] = within.reshape((len(values), -1))
    return reached


def _leap(values: Array, steps: Steps) -> Array:
    """Go from O, L and U to O, B and U: (A, K) -> (A, K), the log of exp @ exp."""
    xp = get_array_module(values)
    if steps.weights is None:
        return log_sum(values[:, :, None] + steps.between)
    largest = peaks(values)
    with numpy.errstate(divide="ignore"):
        return xp.log(xp.exp(values - largest) @ steps.weights) + largest


def log_sum(X: Array) -> Array:
    """Return log(exp(X).sum(axis=1)), -inf where all are."""
    xp = get_array_module(X)
    largest = peaks(X)
    with numpy.errstate(divide="ignore"):
        return xp.log(xp.exp(X - largest).sum(axis=1)) + largest[:, 0]


def peaks(X: Array) -> Array:
    """Find the largest entry of axis 1, which stays; 0 in place of -inf."""
    xp = get_array_module(X)
    largest = X.max(axis=1, keepdims=True)
    return xp.where(largest == -xp.inf, 0.0, largest)
