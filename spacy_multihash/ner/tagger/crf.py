"""The linear-chain CRF over the tags of a batch: sums over paths, losses and probabilities.

A path is a valid sequence of tags. Its probability is proportional to the exponential of the sum of
the tokens' scores and of the transition scores of consecutive tags (equation 2 of Strubell et al.
2017). Other sequences have probability 0. We compute in logarithms, with -inf for no path.
"""

from itertools import pairwise
from typing import NamedTuple, Optional

import numpy
from thinc.api import get_array_module, to_numpy

from ...common.types import Array
from ..biluo import (
    MISSING,
    Constraints,
    Entities,
    allowed_tags,
    are_entities,
    num_labels,
    tag_columns,
)
from ..candidates import at_least, extend, in_order


class Packed(NamedTuple):
    """Where the tokens of all sequences are, by step. Step t has each sequence's t-th token.

    The longest sequences come first; equally long sequences are in the batch's order. So the
    sequences that have a step t are the first sizes[t] of step t - 1:

        sequences   a0 a1    b0    c0 c1 c2     positions 0 to 5 in the batch
        steps       c0 a0 b0 | c1 a1 | c2
        order        3  0  2 |  4  1 |  5       sizes [3, 2, 1]

    X[packed.order] brings an array of tokens into packed order, and Y[packed.order] = X brings it
    back.

    order (N,) int64: The position of each token in the batch, step by step.
    sizes (T,) int64: How many sequences have a step t: never more than the step before.
    steps (T,): Where each step is in packed order.
    """

    order: numpy.ndarray
    sizes: numpy.ndarray
    steps: list[slice]

    def pairs(self) -> tuple[numpy.ndarray, slice]:
        """Find the earlier and later tokens of all consecutive pairs, in packed order."""
        first = int(self.sizes[:1].sum())
        earlier = numpy.arange(first, len(self.order)) - self.sizes[:-1].repeat(self.sizes[1:])
        return earlier, slice(first, None)


def pack(lengths: numpy.ndarray) -> Packed:
    """Pack the consecutive sequences of a batch, (B,) int, leaving out empty sequences."""
    lengths = numpy.asarray(lengths, dtype="int64")
    ranked = numpy.argsort(-lengths, kind="stable")
    firsts = (lengths.cumsum() - lengths)[ranked]
    # How many sequences are longer than t: all but sequences of up to t tokens
    longest = int(lengths.max(initial=0))
    sizes = len(lengths) - numpy.bincount(lengths, minlength=1).cumsum()[:longest]
    bounds = [0, *sizes.cumsum().tolist()]
    steps = numpy.arange(longest).repeat(sizes)
    ranks = numpy.arange(len(steps)) - numpy.array(bounds)[steps]
    return Packed(firsts[ranks] + steps, sizes, [slice(*ends) for ends in pairwise(bounds)])


# Matrix products sum over transition scores up to this size: the product of any two exponentials
# fits in float64. Larger scores are summed correctly too, but take longer.
_LARGEST = 300.0


class Transitions:
    """The scores of all valid transitions, in float64.

    between (K, K): From O, L and U to O, B and U. K = 2 * C + 1.
    weights (K, K): The exponentials of `between`, or None above `_LARGEST`.
    within (2, 2, C): From B and I (axis 0) to I and L (axis 1) of the same label (axis 2).
    """

    def __init__(self, scores: Array) -> None:
        """Split the scores of all transitions, (nO, nO)."""
        xp, nO = get_array_module(scores), len(scores)
        columns, tags, C = tag_columns(nO), numpy.arange(nO), num_labels(nO)
        self.OLU, self.OBU = xp.asarray(columns.OLU), xp.asarray(columns.OBU)
        self.BI, self.IL = columns.BI, columns.IL
        before, after = tags[self.BI].reshape(2, 1, C), tags[self.IL].reshape(1, 2, C)
        self._between = self.OLU[:, None], self.OBU[None]
        self._within = xp.asarray(before), xp.asarray(after)
        scores = scores.astype("float64")
        self.between, self.within = scores[self._between], scores[self._within]
        is_small = float(abs(self.between).max()) <= _LARGEST
        self.weights = xp.exp(self.between) if is_small else None

    def after(self, sums: Array) -> Array:
        """Go from each tag to the valid next tags: (A, nO) float64 log sums -> (A, nO) float64."""
        return self._follow(sums, self.OLU, self.OBU, self.BI, self.IL)

    def before(self, sums: Array) -> Array:
        """Go from each tag to the valid tags before it, likewise."""
        return self._follow(sums, self.OBU, self.OLU, self.IL, self.BI)

    def _follow(
        self, sums: Array, sources: Array, targets: Array, inside: slice, then: slice
    ) -> Array:
        xp, back = get_array_module(sums), sources is self.OBU
        reached, outside = xp.empty_like(sums), sums[:, sources]
        if self.weights is None:
            between = self.between.T if back else self.between
            reached[:, targets] = log_sum(outside[:, :, None] + between)
        else:
            largest = peaks(outside)
            weights = self.weights.T if back else self.weights
            with numpy.errstate(divide="ignore"):
                reached[:, targets] = xp.log(xp.exp(outside - largest) @ weights) + largest
        within = self.within.swapaxes(0, 1) if back else self.within
        ways = split_kinds(sums[:, inside])[:, :, None] + within  # (A, 2, 2, C)
        reached[:, then] = xp.logaddexp(ways[:, 0], ways[:, 1]).reshape(len(sums), -1)
        return reached

    def count(self, before: Array, after: Array) -> Array:
        """Sum the probabilities of all transitions, of P pairs of tokens: (nO, nO) float64.

        before, after (P, nO): The log sums of all paths to a tag of the earlier token, and from a
            tag of the later token. P may be large, so we make no (P, K, K) array.
        """
        xp = get_array_module(before)
        counts = xp.zeros((before.shape[1], before.shape[1]))
        left, right = before[:, self.OLU], after[:, self.OBU]
        if self.weights is None:
            pairs = zip(left.T, self.between, strict=True)
            sums = [xp.exp(of_tag[:, None] + row + right).sum(axis=0) for of_tag, row in pairs]
            counts[self._between] = xp.stack(sums)
        else:
            # The largest entry of each row on the left is 1, so that the right is bounded as
            # probabilities are. A row without any path has no such bound, but there the right is 0.
            right = xp.exp(right + left.max(axis=1, keepdims=True))
            counts[self._between] = (xp.exp(left - peaks(left)).T @ right) * self.weights
        sources = split_kinds(before[:, self.BI])[:, :, None]  # (P, 2, 1, C)
        targets = split_kinds(after[:, self.IL])[:, None]  # (P, 1, 2, C)
        counts[self._within] = xp.exp(sources + self.within + targets).sum(axis=0)
        return counts


class Sums(NamedTuple):
    """Logarithms of summed exponentials of scores, by token and tag.

    scores (N, nO): The scores of the tokens themselves, -inf for a tag that is ruled out.
    before (N, nO): Of all paths from the doc's first token to this tag, its score included.
    after (N, nO): Of all paths from this tag to the doc's last token, its score left out.
    totals (N,): Of all paths of the token's doc, log Z.
    """

    scores: Array
    before: Array
    after: Array
    totals: Array


def forward_backward(scores: Array, packed: Packed, transitions: Transitions) -> Sums:
    """Sum over all paths of each doc, forward and backward, in packed order.

    scores (N, nO) float64: -inf for tags ruled out.
    """
    xp, steps = get_array_module(scores), packed.steps
    before, after = xp.full_like(scores, -xp.inf), xp.full_like(scores, -xp.inf)
    for t, now in enumerate(steps):
        if t == 0:
            before[now, transitions.OBU] = scores[now, transitions.OBU]
        else:
            earlier = before[steps[t - 1]][: packed.sizes[t]]
            before[now] = transitions.after(earlier) + scores[now]
    goes_on = 0
    for t, step in reversed([*enumerate(steps)]):
        now = after[step]
        if goes_on:
            later = steps[t + 1]
            now[:goes_on] = transitions.before(after[later] + scores[later])
        now[goes_on:, transitions.OLU] = 0
        goes_on = int(packed.sizes[t])
    return Sums(scores, before, after, log_sum(before + after))


def split_kinds(X: Array) -> Array:
    """Split the adjacent columns of two kinds of tags: (A, 2 * C) -> (A, 2, C)."""
    return X.reshape((len(X), 2, X.shape[1] // 2))


def log_sum(X: Array) -> Array:
    """Return log(exp(X).sum(axis=1)), -inf if all entries are -inf."""
    xp, largest = get_array_module(X), peaks(X)
    with numpy.errstate(divide="ignore"):
        return xp.log(xp.exp(X - largest).sum(axis=1)) + largest[:, 0]


def peaks(X: Array) -> Array:
    """Find the maxima along axis 1, keeping the axis, with 0 instead of -inf."""
    xp = get_array_module(X)
    largest = X.max(axis=1, keepdims=True)
    return xp.where(largest == -xp.inf, 0.0, largest)


# The log of the sum of all paths' exponentials, summed over docs; how often each token has each tag
# (N, nO), in packed order; and how often a tag, the column, follows another, the row (nO, nO).
_Expected = tuple[float, Array, Array]


def crf_loss(
    scores: Array, lengths: numpy.ndarray, transitions: Array, gold: numpy.ndarray
) -> tuple[float, Array, Array]:
    """Return the negative log-likelihood of the docs' tags, summed, and its gradients.

    If tags are missing, the likelihood sums over all paths that agree with known tags. A doc
    without known tags has loss 0 and no gradient.

    scores (N, nO) float32: Scores of the tags of all tokens.
    lengths (B,) int: The number of tokens of each doc, on the host.
    transitions (nO, nO) float32: Scores of consecutive tags, from the row's to the column's.
        Invalid transitions are ignored, and have no gradient.
    gold (N,) int64: The tokens' tags, `biluo.MISSING` if unknown, on the host.

    Returns the loss, d_scores (N, nO) float32 and d_transitions (nO, nO) float32.
    """
    xp = get_array_module(scores)
    packed, split = pack(lengths), Transitions(transitions)
    order = xp.asarray(packed.order)
    ordered = scores[order].astype("float64")
    total, free, free_pairs = _expect(ordered, packed, split)
    tags = xp.asarray(gold)[order][:, None]
    agree = (tags == MISSING) | (tags == xp.arange(scores.shape[1]))
    if are_entities(gold, lengths, scores.shape[1]):  # a single path agrees
        of_gold, held, held_pairs = _count(ordered, packed, transitions, agree)
    else:
        of_gold, held, held_pairs = _expect(xp.where(agree, ordered, -xp.inf), packed, split)
    d_scores = xp.empty_like(scores)
    d_scores[order] = free - held
    loss = max(total - of_gold, 0.0)  # below 0 by rounding only
    return loss, d_scores, (free_pairs - held_pairs).astype(transitions.dtype)


def _expect(scores: Array, packed: Packed, transitions: Transitions) -> _Expected:
    """Return the expectations over all paths."""
    sums = forward_backward(scores, packed, transitions)
    xp, totals = get_array_module(scores), sums.totals[:, None]
    earlier, later = packed.pairs()
    after = (scores + sums.after - totals)[later]
    pairs = transitions.count(sums.before[xp.asarray(earlier)], after)
    tags = xp.exp(sums.before + sums.after - totals)
    return float(sums.totals[: later.start].sum()), tags, pairs


def _count(scores: Array, packed: Packed, transitions: Array, chosen: Array) -> _Expected:
    """Do the same for a single path of each doc, by counting its tags, chosen (N, nO) bool."""
    tags = chosen.astype("float64")
    earlier, later = packed.pairs()
    counts = tags[get_array_module(scores).asarray(earlier)].T @ tags[later]
    taken = counts > 0
    total = scores[chosen].sum() + (transitions[taken] * counts[taken]).sum()
    return float(total), tags, counts


def tagging_loss(
    scores: Array,
    lengths: numpy.ndarray,
    transitions: Optional[Array],
    gold: numpy.ndarray,
) -> tuple[float, Array, Optional[Array]]:
    """Return the mean loss of all passes, and its gradients.

    scores (P, N, nO) float32: Scores of the tags.
    transitions (nO, nO) float32: As in `crf_loss`. None for `cross_entropy`.
    """
    if transitions is None:
        return *cross_entropy(scores, gold), None
    P, N, nO = scores.shape
    passes = scores.reshape((P * N, nO)), numpy.tile(lengths, P), transitions, numpy.tile(gold, P)
    loss, d_scores, d_transitions = crf_loss(*passes)
    return loss / P, d_scores.reshape(scores.shape) / P, d_transitions / P


def cross_entropy(scores: Array, gold: numpy.ndarray) -> tuple[float, Array]:
    """Return the negative log-probability of independent tags, and its gradient.

    Equations 10 and 11 of Strubell et al. 2017.

    scores (P, N, nO) float32: Scores of the tags.
    gold (N,) int64: The tags, on the host. `biluo.MISSING` tags are ignored.
    """
    xp = get_array_module(scores)
    P = len(scores)
    (tagged,) = numpy.nonzero(gold != MISSING)
    tags, tagged = xp.asarray(gold[tagged]), xp.asarray(tagged)
    d_scores = scores - scores.max(axis=2, keepdims=True)
    right = d_scores[:, tagged, tags]
    xp.exp(d_scores, out=d_scores)
    totals = d_scores.sum(axis=2, keepdims=True)
    loss = (xp.log(totals[:, tagged, 0]) - right).sum(dtype="float64") / P
    d_scores /= totals
    d_scores[:, tagged, tags] -= 1
    d_scores[:, xp.asarray(gold == MISSING)] = 0
    d_scores /= P
    return float(loss), d_scores


class PathSums(NamedTuple):
    """`Sums` by token in the batch's order, and transitions (nO, nO), on the host."""

    scores: numpy.ndarray
    before: numpy.ndarray
    after: numpy.ndarray
    totals: numpy.ndarray
    transitions: numpy.ndarray


def path_sums(
    scores: Array,
    lengths: numpy.ndarray,
    transitions: Optional[Array],
    constraints: Constraints,
) -> PathSums:
    """Sum over all paths that the constraints allow.

    scores (N, nO) float: Scores of the tags of all tokens.
    lengths (B,) int: The number of tokens of each doc, on the host.
    transitions (nO, nO) float: As in `crf_loss`. None for zeros. Then tokens are independent,
        except that sequences must be valid.
    """
    xp, nO = get_array_module(scores), scores.shape[1]
    if transitions is None:
        transitions = xp.zeros((nO, nO), dtype="float32")
        # No path continues into the next sentence
        lengths = numpy.diff(constraints.begins, append=len(scores))
    packed = pack(lengths)
    allowed = xp.asarray(allowed_tags(constraints, nO))
    ordered = xp.where(allowed, scores.astype("float64"), -xp.inf)[xp.asarray(packed.order)]
    sums = forward_backward(ordered, packed, Transitions(transitions))
    rows = numpy.argsort(packed.order)  # where tokens lie in packed order
    by_token = [to_numpy(array)[rows] for array in sums]
    return PathSums._make([*by_token, to_numpy(transitions).astype("float64")])


def entity_marginals(sums: PathSums, entities: Entities) -> numpy.ndarray:
    """Return the probability of each entity: the sum over all paths that have it.

    Returns (M,) float64 in [0, 1] for M entities, 0 for those that contradict the constraints.
    """
    if not len(entities.starts):
        return numpy.zeros(0)
    # The K tokens of all entities, entity by entity, and their tags
    sizes = entities.ends - entities.starts
    firsts = numpy.cumsum(sizes) - sizes
    lasts = firsts + sizes - 1
    tokens = numpy.repeat(entities.starts - firsts, sizes) + numpy.arange(sizes.sum())
    columns = tag_columns(sums.scores.shape[1])
    tags = numpy.repeat(columns.I.start + entities.labels, sizes)
    tags[firsts] = columns.B.start + entities.labels
    tags[lasts] = numpy.where(sizes == 1, columns.U.start, columns.L.start) + entities.labels
    logs = sums.scores[tokens, tags]
    logs[1:] += sums.transitions[tags[:-1], tags[1:]]
    # For the first token, all paths to it count, and no transition from another entity
    logs[firsts] = sums.before[tokens, tags][firsts]
    logs[lasts] += (sums.after[tokens, tags] - sums.totals[tokens])[lasts]
    return numpy.minimum(numpy.exp(numpy.add.reduceat(logs, firsts)), 1)


def begin_marginals(sums: PathSums) -> numpy.ndarray:
    """Return the probability that an entity of each label begins with each token, (N, C)."""
    return numpy.minimum(numpy.add(*_begins(sums)), 1)


def _begins(sums: PathSums) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Return the probabilities of the tags B and U, (N, C) each."""
    columns = tag_columns(sums.scores.shape[1])
    logs = sums.before + sums.after - sums.totals[:, None]
    begun, units = (numpy.minimum(numpy.exp(logs[:, c]), 1) for c in (columns.B, columns.U))
    return begun, units


def probable_entities(sums: PathSums, above: float) -> tuple[Entities, numpy.ndarray]:
    """List all entities of at least a probability, in order, and their probabilities (M,) float64.

    Given all scores, tags are a Markov chain: what follows a tag depends on that tag alone. So the
    mass of an entity that goes on is the mass before, times a probability.
    """
    columns = tag_columns(sums.scores.shape[1])
    begun, units = _begins(sums)
    tokens, labels = numpy.arange(len(begun)), numpy.arange(begun.shape[1])

    def step(starts: numpy.ndarray, tokens: numpy.ndarray) -> tuple[numpy.ndarray, numpy.ndarray]:
        first = numpy.where(tokens - starts == 1, columns.B.start, columns.I.start)
        sources, rows = first[:, None] + labels, tokens[:, None]
        behind = sums.after[rows - 1, sources]
        behind[behind == -numpy.inf] = numpy.inf  # no path, and no mass
        chances = []
        for kind in (columns.I, columns.L):
            targets = kind.start + labels
            way = sums.scores[rows, targets] + sums.after[rows, targets]
            way += sums.transitions[sources, targets]
            chances.append(numpy.minimum(numpy.exp(way - behind), 1))
        return chances[0], chances[1]

    listed = [at_least(above, tokens, tokens + 1, units)]
    for starts, ends, ending, _, _ in extend(tokens, begun, step, above):
        listed.append(at_least(above, starts, ends, ending))
    return in_order(listed)
