"""The forward-backward algorithm over the tags of all docs of a batch, side by side.

It sums over all paths of a doc, in logarithms, with -inf for no path. A path is one tag for each
token, and the tags follow each other as they may. As `biluo.may_follow` has it, there are two
groups of transitions: between entities, from O, L and U to O, B and U, each to each; and within
one, from B and I to I and L of the same label.
"""

from typing import Any, NamedTuple, Optional

import numpy
from thinc.api import get_array_module

from ...common.types import Array
from ..biluo import num_labels, tag_columns
from .packing import Packed

# Matrix products sum over transition scores up to this size, as the product of the exponentials of
# any two is within float64. Larger scores give the right sums too, but take longer.
_LARGEST = 300.0


class SplitTransitions(NamedTuple):
    """The scores of all transitions that there are, in float64, and the columns of their tags.

    between (K, K): From O, L and U to O, B and U. K = 2 * C + 1.
    weights (K, K): The exponentials of `between`, or None where they lose too much.
    sources (K,), targets (K,) int64: The columns that `between` goes from and to.
    within (2, 2, C): From B and I (axis 0) to I and L (axis 1) of the same label (axis 2).
    within_sources, within_targets: The columns that `within` goes from and to, 2 * C each.
    """

    between: Array
    weights: Optional[Array]
    sources: Array
    targets: Array
    within: Array
    within_sources: slice
    within_targets: slice

    def reversed(self) -> "SplitTransitions":
        """Go the same ways backward."""
        return SplitTransitions(
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
    before (N, nO): Of all paths from the doc's first token to this tag, its score included.
    after (N, nO): Of all paths from this tag to the doc's last token, its score left out.
    totals (N,): Of all paths of the token's doc, log Z.
    """

    scores: Array
    before: Array
    after: Array
    totals: Array


def split_transitions(transitions: Array) -> SplitTransitions:
    """Split the scores of all transitions into their two groups.

    transitions (nO, nO) float32: As in `crf_loss`.
    """
    xp = get_array_module(transitions)
    nO = len(transitions)
    columns = tag_columns(nO)
    scores = transitions.astype("float64")
    between = scores[_between(xp, nO)]
    return SplitTransitions(
        between,
        xp.exp(between) if float(abs(between).max()) <= _LARGEST else None,
        xp.asarray(columns.OLU),
        xp.asarray(columns.OBU),
        scores[_within(xp, nO)],
        columns.BI,
        columns.IL,
    )


def join_transitions(between: Array, within: Array) -> Array:
    """Put values of both groups into one matrix, with 0 for what may not follow: (nO, nO) float64.

    between (K, K), within (2, 2, C) float64: As in `SplitTransitions`.
    """
    xp = get_array_module(between)
    nO = 1 + 4 * within.shape[2]
    joined = xp.zeros((nO, nO))
    joined[_between(xp, nO)] = between
    joined[_within(xp, nO)] = within
    return joined


def _between(xp: Any, nO: int) -> tuple[Array, Array]:  # noqa: ANN401 (numpy or CuPy)
    """Find the rows (K, 1) and the columns (1, K) of `between` in the matrix of all transitions."""
    columns = tag_columns(nO)
    return xp.asarray(columns.OLU[:, None]), xp.asarray(columns.OBU[None])


def _within(xp: Any, nO: int) -> tuple[Array, Array]:  # noqa: ANN401 (numpy or CuPy)
    """Find the rows (2, 1, C) and the columns (1, 2, C) of `within`, likewise."""
    C, columns, numbers = num_labels(nO), tag_columns(nO), numpy.arange(nO)
    rows = numbers[columns.BI].reshape((2, 1, C))
    return xp.asarray(rows), xp.asarray(numbers[columns.IL].reshape((1, 2, C)))


def forward_backward(scores: Array, packed: Packed, transitions: SplitTransitions) -> Sums:
    """Sum over all paths of each doc, forward and backward.

    scores (N, nO) float64: Scores of tokens in packed order, -inf for tags ruled out.
    packed (Packed): The docs.
    transitions (SplitTransitions): The scores of going from tag to tag.
    """
    xp = get_array_module(scores)
    back = transitions.reversed()
    before, after = xp.full_like(scores, -xp.inf), xp.full_like(scores, -xp.inf)
    for t in range(packed.num_steps):
        now = packed.step(t)
        if t == 0:
            before[now, transitions.targets] = scores[now, transitions.targets]
        else:
            earlier = before[packed.step(t - 1)][: packed.sizes[t]]
            before[now] = _follow(earlier, transitions) + scores[now]
    for t in reversed(range(packed.num_steps)):
        now, goes_on = after[packed.step(t)], 0
        if t + 1 < packed.num_steps:
            later = packed.step(t + 1)
            goes_on = int(packed.sizes[t + 1])
            now[:goes_on] = _follow(after[later] + scores[later], back)
        now[goes_on:, transitions.sources] = 0
    return Sums(scores, before, after, log_sum(before + after))


def _follow(sums: Array, transitions: SplitTransitions) -> Array:
    """Go from each tag to those that may follow: (A, nO) float64 log sums -> (A, nO) float64."""
    xp = get_array_module(sums)
    A, nO = sums.shape
    C = num_labels(nO)
    reached = xp.empty_like(sums)
    reached[:, transitions.targets] = _follow_between(sums[:, transitions.sources], transitions)
    sources = split_kinds(sums[:, transitions.within_sources])  # (A, 2, C)
    ways = sources[:, :, None] + transitions.within  # (A, 2, 2, C)
    within = xp.logaddexp(ways[:, 0], ways[:, 1])  # (A, 2, C)
    reached[:, transitions.within_targets] = within.reshape((A, 2 * C))
    return reached


def _follow_between(sums: Array, transitions: SplitTransitions) -> Array:
    """Go from O, L and U to O, B and U: (A, K) -> (A, K), the log of exp @ exp."""
    xp = get_array_module(sums)
    if transitions.weights is None:
        return log_sum(sums[:, :, None] + transitions.between)
    largest = peaks(sums)
    with numpy.errstate(divide="ignore"):
        return xp.log(xp.exp(sums - largest) @ transitions.weights) + largest


def split_kinds(X: Array) -> Array:
    """Give each of two kinds of tags, whose columns lie side by side, an axis of its own.

    X (A, 2 * C) -> (A, 2, C).
    """
    A, columns = X.shape
    return X.reshape((A, 2, columns // 2))


def log_sum(X: Array) -> Array:
    """Return log(exp(X).sum(axis=1)), which is -inf where all entries are."""
    xp = get_array_module(X)
    largest = peaks(X)
    with numpy.errstate(divide="ignore"):
        return xp.log(xp.exp(X - largest).sum(axis=1)) + largest[:, 0]


def peaks(X: Array) -> Array:
    """Find the largest entries along axis 1, which keeps length 1. It is 0 in place of -inf."""
    xp = get_array_module(X)
    largest = X.max(axis=1, keepdims=True)
    return xp.where(largest == -xp.inf, 0.0, largest)
