"""The linear-chain CRF over the tags of a batch: sums over paths, losses and probabilities.

A path is a valid sequence of tags. Its probability is proportional to the exponential of the sum of
the tokens' scores and of the transition scores of consecutive tags (equation 2 of Strubell et al.
2017). Other sequences have probability 0. We compute in logarithms, with -inf for no path.
"""

from typing import Any, NamedTuple, Optional

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
        order        3  0  2 |  4  1 |  5       sizes [3, 2, 1], bounds [0, 3, 5, 6]

    X[packed.order] brings an array of tokens into packed order, in which `packed.step(t)` is the
    slice of step t. Y[packed.order] = X brings it back.

    order (N,) int64: The position of each token in the batch, step by step.
    sizes (T,) int64: How many sequences have a step t: never more than the step before.
    bounds (T + 1,) int64: Step t is order[bounds[t] : bounds[t + 1]].
    """

    order: numpy.ndarray
    sizes: numpy.ndarray
    bounds: numpy.ndarray

    @property
    def num_steps(self) -> int:
        """The number of steps, T: the length of the longest sequence, 0 without tokens."""
        return len(self.sizes)

    @property
    def num_sequences(self) -> int:
        """The number of sequences with tokens."""
        return int(self.sizes[0]) if self.num_steps else 0

    def step(self, t: int) -> slice:
        """Find the tokens of step t in an array in packed order."""
        return slice(int(self.bounds[t]), int(self.bounds[t + 1]))


def pack(lengths: numpy.ndarray) -> Packed:
    """Pack the consecutive sequences of a batch, leaving out empty sequences.

    lengths (B,) int: The number of tokens of each sequence.
    """
    lengths = numpy.asarray(lengths, dtype="int64")
    ranked = numpy.argsort(-lengths, kind="stable")
    firsts = (numpy.cumsum(lengths) - lengths)[ranked]
    # How many sequences are longer than t: all but sequences of up to t tokens
    longest = int(lengths.max(initial=0))
    sizes = len(lengths) - numpy.cumsum(numpy.bincount(lengths, minlength=1))[:longest]
    bounds = numpy.concatenate([[0], numpy.cumsum(sizes)])
    steps = numpy.repeat(numpy.arange(longest), sizes)
    ranks = numpy.arange(len(steps)) - bounds[steps]
    return Packed(firsts[ranks] + steps, sizes, bounds)


# Matrix products sum over transition scores up to this size: the product of any two exponentials
# fits in float64. Larger scores are summed correctly too, but take longer.
_LARGEST = 300.0


class SplitTransitions(NamedTuple):
    """The scores of all valid transitions, in float64, and the columns of their tags.

    between (K, K): From O, L and U to O, B and U. K = 2 * C + 1.
    weights (K, K): The exponentials of `between`, or None above `_LARGEST`.
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
        """Reverse all transitions."""
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
    """Split the scores of all transitions, (nO, nO), into their two groups."""
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
    """Go from each tag to the valid next tags: (A, nO) float64 log sums -> (A, nO) float64."""
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
    """Split the adjacent columns of two kinds of tags along a new axis.

    X (A, 2 * C) -> (A, 2, C).
    """
    A, columns = X.shape
    return X.reshape((A, 2, columns // 2))


def log_sum(X: Array) -> Array:
    """Return log(exp(X).sum(axis=1)), -inf if all entries are -inf."""
    xp = get_array_module(X)
    largest = peaks(X)
    with numpy.errstate(divide="ignore"):
        return xp.log(xp.exp(X - largest).sum(axis=1)) + largest[:, 0]


def peaks(X: Array) -> Array:
    """Find the maxima along axis 1, keeping the axis, with 0 instead of -inf."""
    xp = get_array_module(X)
    largest = X.max(axis=1, keepdims=True)
    return xp.where(largest == -xp.inf, 0.0, largest)


class Expected(NamedTuple):
    """Expectations over paths.

    total: The log of the sum of the exponentials of their scores, summed over docs.
    tags (N, nO) float64: How often each token has each tag, by token in packed order.
    transitions (nO, nO) float64: How often a tag, the column, follows another, the row.
    """

    total: float
    tags: Array
    transitions: Array


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
    packed = pack(lengths)
    order = xp.asarray(packed.order)
    split = split_transitions(transitions)
    ordered = scores[order].astype("float64")
    free = expect(forward_backward(ordered, packed, split), packed, split)
    tags = xp.asarray(gold)[order][:, None]
    agree = (tags == MISSING) | (tags == xp.arange(scores.shape[1]))
    if are_entities(gold, lengths, scores.shape[1]):  # a single path agrees
        held = _count(ordered, packed, transitions, agree)
    else:
        sums = forward_backward(xp.where(agree, ordered, -xp.inf), packed, split)
        held = expect(sums, packed, split)
    loss = max(free.total - held.total, 0.0)  # below 0 by rounding only
    d_scores = xp.empty_like(scores)
    d_scores[order] = free.tags - held.tags
    return loss, d_scores, (free.transitions - held.transitions).astype(transitions.dtype)


def expect(sums: Sums, packed: Packed, transitions: SplitTransitions) -> Expected:
    """Return the expectations over all summed paths."""
    xp = get_array_module(sums.before)
    totals = sums.totals
    tags = xp.exp(sums.before + sums.after - totals[:, None])
    earlier, later = _pairs(packed)
    before = sums.before[xp.asarray(earlier)]
    after = (sums.scores + sums.after - totals[:, None])[later]
    between = _count_between(
        before[:, transitions.sources], after[:, transitions.targets], transitions
    )
    sources = split_kinds(before[:, transitions.within_sources])[:, :, None]  # (P, 2, 1, C)
    targets = split_kinds(after[:, transitions.within_targets])[:, None]  # (P, 1, 2, C)
    within = xp.exp(sources + transitions.within + targets).sum(axis=0)  # (2, 2, C)
    nO = tags.shape[1]
    counts = xp.zeros((nO, nO))
    counts[_between(xp, nO)], counts[_within(xp, nO)] = between, within
    return Expected(float(sums.totals[: packed.num_sequences].sum()), tags, counts)


def _count(scores: Array, packed: Packed, transitions: Array, chosen: Array) -> Expected:
    """Do the same for a single path of each doc, by counting.

    scores (N, nO) float64, chosen (N, nO) bool: By token in packed order, and tag.
    """
    xp = get_array_module(scores)
    tags = chosen.astype("float64")
    earlier, later = _pairs(packed)
    counts = tags[xp.asarray(earlier)].T @ tags[later]
    taken = counts > 0
    total = scores[chosen].sum() + (transitions[taken] * counts[taken]).sum()
    return Expected(float(total), tags, counts)


def _pairs(packed: Packed) -> tuple[numpy.ndarray, slice]:
    """Find the earlier and later tokens of all consecutive pairs, in packed order."""
    later = numpy.arange(packed.num_sequences, len(packed.order))
    earlier = later - numpy.repeat(packed.sizes[:-1], packed.sizes[1:])
    return earlier, slice(packed.num_sequences, None)


def _count_between(before: Array, after: Array, transitions: SplitTransitions) -> Array:
    """Sum the probabilities of going from O, L or U to O, B or U, of P pairs of tokens.

    before (P, K), after (P, K) -> (K, K) float64. P may be large, so we make no (P, K, K) array.
    """
    xp = get_array_module(before)
    if transitions.weights is None:
        pairs = zip(before.T, transitions.between, strict=True)
        return xp.stack(
            [xp.exp(of_tag[:, None] + row + after).sum(axis=0) for of_tag, row in pairs]
        )
    # The largest entry of each row on the left is 1, so that the right is bounded as probabilities
    # are. A row without any path has no such bound, but there the right is 0.
    left = xp.exp(before - peaks(before))
    right = xp.exp(after + before.max(axis=1, keepdims=True))
    return (left.T @ right) * transitions.weights


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
    """Logarithms of summed exponentials of scores, by token and tag, on the host.

    scores, before, after (N, nO): As in `Sums`, but by token in the batch's order.
    totals (N,): Of all paths of the token's doc, log Z.
    transitions (nO, nO): The scores of consecutive tags.
    """

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
    xp = get_array_module(scores)
    nO = scores.shape[1]
    if transitions is None:
        transitions = xp.zeros((nO, nO), dtype="float32")
        # No path continues into the next sentence
        lengths = numpy.diff(constraints.begins, append=len(scores))
    packed = pack(lengths)
    allowed = xp.asarray(allowed_tags(constraints, nO))
    allowed_scores = xp.where(allowed, scores.astype("float64"), -xp.inf)
    ordered = allowed_scores[xp.asarray(packed.order)]
    sums = forward_backward(ordered, packed, split_transitions(transitions))
    rows = numpy.argsort(packed.order)  # where tokens lie in packed order
    by_token = [to_numpy(array)[rows] for array in sums]
    return PathSums(
        by_token[0], by_token[1], by_token[2], by_token[3], to_numpy(transitions).astype("float64")
    )


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
