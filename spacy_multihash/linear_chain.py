"""A linear-chain CRF over the tags of a batch: its loss, and how sure it is of entities.

p(y | x) is proportional to the exponential of the sum of the tokens' scores and of the transition
scores of consecutive tags (equation 2 of Strubell et al. 2017), for the sequences of tags that are
entities; all others have no probability. The sums over all sequences are those of the
forward-backward algorithm, for all docs side by side, in logarithms, with -inf for no way at all.

As `biluo.may_follow` has it, there are two kinds of steps from a token to the next: from O, L and
U to O, B and U, each to each, and from B and I to I and L of the same label only.
"""

from typing import NamedTuple, Optional, Tuple

import numpy
from thinc.api import get_array_module, to_numpy

from .biluo import MISSING, OUTSIDE, Constraints, Entities, kinds, num_labels
from .chains import Chains, pack_chains
from .types import Array

# Transition scores of up to this size are summed over by products of matrices: the exponentials of
# any two of them, multiplied, are within float64. Larger ones are right as well, but slower.
_LARGEST = 300.0


class _Steps(NamedTuple):
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

    def reversed(self) -> "_Steps":
        """Go the same steps backward."""
        return _Steps(
            self.between.T,
            None if self.weights is None else self.weights.T,
            self.targets,
            self.sources,
            self.within.swapaxes(0, 1),
            self.within_targets,
            self.within_sources,
        )


class _Spelled(NamedTuple):
    """The K tokens of M entities, one entity after the other.

    positions (K,), tags (K,) int64: Their positions in the batch, and their tags.
    firsts (M,), lasts (M,) int64: Which of the K are the first and the last of an entity.
    """

    positions: numpy.ndarray
    tags: numpy.ndarray
    firsts: numpy.ndarray
    lasts: numpy.ndarray


class _Sums(NamedTuple):
    """Logarithms of summed exponentials of scores, by token in the order of the steps, and tag.

    scores (N, nO): The scores of the tokens themselves, -inf for a tag that is ruled out.
    before (N, nO): Of all that leads from the doc's first token to this tag, its score included.
    after (N, nO): Of all that leads from this tag to the doc's last token, its score left out.
    totals (N,): Of all sequences of the token's doc, log Z.
    """

    scores: Array
    before: Array
    after: Array
    totals: Array


def crf_loss(
    scores: Array, lengths: numpy.ndarray, transitions: Array, gold: numpy.ndarray
) -> Tuple[float, Array, Array]:
    """Return the negative log-likelihood of the docs' tags, summed, and its gradients.

    With missing tags, it is that of all sequences which agree with the known ones, together; a doc
    without known tags has loss 0 and no gradient.

    scores (N, nO) float32: Scores of the tags of all tokens.
    lengths (B,) int: The number of tokens of each doc, on the host.
    transitions (nO, nO) float32: Scores of consecutive tags, from the row's to the column's. Those
        that may not follow each other are not read, and have no gradient.
    gold (N,) int64: The tokens' tags, `biluo.MISSING` where not known, on the host.

    Returns the loss, d_scores (N, nO) float32 and d_transitions (nO, nO) float32. Raises ValueError
    for tags that no entities have.
    """
    xp = get_array_module(scores)
    chains = pack_chains(lengths)
    order = xp.asarray(chains.order)
    steps = _find_steps(transitions)
    free = _sum_up(scores[order].astype("float64"), chains, steps)
    tags = xp.asarray(gold)[order][:, None]
    agree = (tags == MISSING) | (tags == xp.arange(scores.shape[1]))
    held = _sum_up(xp.where(agree, free.scores, -xp.inf), chains, steps)
    first = slice(0, chains.num_chains)
    _check_gold(to_numpy(held.totals[first]), chains, lengths, gold)
    loss = float((free.totals[first] - held.totals[first]).sum())
    d_scores = xp.empty_like(scores)
    d_scores[order] = _tag_probabilities(free) - _tag_probabilities(held)
    d_transitions = _count_steps(free, chains, steps) - _count_steps(held, chains, steps)
    return loss, d_scores, d_transitions.astype(transitions.dtype)


def entity_marginals(
    scores: Array,
    lengths: numpy.ndarray,
    transitions: Optional[Array],
    entities: Entities,
    constraints: Constraints,
) -> numpy.ndarray:
    """Return the probability of each entity: that of all sequences which have it, with its label.

    scores (N, nO) float32: Scores of the tags of all tokens.
    lengths (B,) int: The number of tokens of each doc, on the host.
    transitions (nO, nO) float32: As in `crf_loss`. None for zeros: the tokens are independent but
        for the sequences that there are not.
    entities (Entities): M entities, on the host.
    constraints (Constraints): What is known of the tokens; what contradicts it has no probability.

    Returns (M,) float32 in [0, 1], on the host.
    """
    xp = get_array_module(scores)
    nO = scores.shape[1]
    if transitions is None:
        transitions = xp.zeros((nO, nO), dtype="float32")
    chains = pack_chains(lengths)
    order = xp.asarray(chains.order)
    allowed = xp.asarray(_allowed_tags(constraints, nO))
    packed = xp.where(allowed, scores.astype("float64"), -xp.inf)[order]
    sums = _sum_up(packed, chains, _find_steps(transitions))
    spelled = _spell_out(entities, nO)
    ranks = numpy.argsort(chains.order)  # where a token lies in the order of the steps
    rows, tags = ranks[spelled.positions], spelled.tags
    logs = _pick(sums.scores, rows, tags)
    logs[1:] += _pick(transitions, tags[:-1], tags[1:])
    # What leads to the first token counts its score, but not the transition between two entities
    logs[spelled.firsts] = _pick(sums.before, rows, tags)[spelled.firsts]
    ends = sums.after - sums.totals[:, None]
    logs[spelled.lasts] += _pick(ends, rows, tags)[spelled.lasts]
    return _multiply(logs, spelled.firsts)


def entity_products(scores: Array, entities: Entities) -> numpy.ndarray:
    """Return the product of the probabilities of each entity's tags, of independent tokens.

    Equation 1 of the paper: a softmax for each token, whatever sequence may come of it.

    scores (N, nO) float32: Scores of the tags of all tokens.
    entities (Entities): M entities, on the host.

    Returns (M,) float32 in [0, 1], on the host.
    """
    spelled = _spell_out(entities, scores.shape[1])
    logs = scores.astype("float64")
    logs -= _log_sum(logs)[:, None]
    return _multiply(_pick(logs, spelled.positions, spelled.tags), spelled.firsts)


def _find_steps(transitions: Array) -> _Steps:
    xp = get_array_module(transitions)
    C, columns = num_labels(len(transitions)), kinds(len(transitions))
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
    return _Steps(
        between,
        xp.exp(between) if float(abs(between).max()) <= _LARGEST else None,
        sources,
        targets,
        xp.einsum("icjc->ijc", within),
        within_sources,
        within_targets,
    )


def _sum_up(scores: Array, chains: Chains, steps: _Steps) -> _Sums:
    """Run forward and backward over all docs.

    scores (N, nO) float64: Scores in the order of the steps.
    """
    xp = get_array_module(scores)
    back = steps.reversed()
    before, after = xp.full_like(scores, -xp.inf), xp.full_like(scores, -xp.inf)
    for t in range(chains.steps):
        now = chains.step(t)
        if t == 0:
            before[now, steps.targets] = scores[now, steps.targets]
        else:
            earlier = before[chains.step(t - 1)][: chains.sizes[t]]
            before[now] = _advance(earlier, steps) + scores[now]
    for t in reversed(range(chains.steps)):
        now, goes_on = after[chains.step(t)], 0
        if t + 1 < chains.steps:
            later = chains.step(t + 1)
            goes_on = int(chains.sizes[t + 1])
            now[:goes_on] = _advance(after[later] + scores[later], back)
        now[goes_on:, steps.sources] = 0
    return _Sums(scores, before, after, _log_sum(before + after))


def _advance(values: Array, steps: _Steps) -> Array:
    """Go one step from each tag: (A, nO) float64 log sums -> (A, nO) float64, of those reached."""
    xp = get_array_module(values)
    reached = xp.empty_like(values)
    reached[:, steps.targets] = _leap(values[:, steps.sources], steps)
    within = values[:, steps.within_sources].reshape((len(values), *steps.within.shape[::2]))
    within = within[:, :, None] + steps.within  # (A, 2, 2, C)
    within = xp.logaddexp(within[:, 0], within[:, 1])
    reached[:, steps.within_targets] = within.reshape((len(values), -1))
    return reached


def _leap(values: Array, steps: _Steps) -> Array:
    """Go from O, L and U to O, B and U: (A, K) -> (A, K), the log of exp @ exp."""
    xp = get_array_module(values)
    if steps.weights is None:
        return _log_sum(values[:, :, None] + steps.between)
    peaks = _peaks(values)
    with numpy.errstate(divide="ignore"):
        return xp.log(xp.exp(values - peaks) @ steps.weights) + peaks


def _log_sum(X: Array) -> Array:
    """Return log(exp(X).sum(axis=1)), -inf where all are."""
    xp = get_array_module(X)
    peaks = _peaks(X)
    with numpy.errstate(divide="ignore"):
        return xp.log(xp.exp(X - peaks).sum(axis=1)) + peaks[:, 0]


def _peaks(X: Array) -> Array:
    """Find the largest entry of axis 1, which stays; 0 in place of -inf."""
    xp = get_array_module(X)
    peaks = X.max(axis=1, keepdims=True)
    return xp.where(peaks == -xp.inf, 0.0, peaks)


def _tag_probabilities(sums: _Sums) -> Array:
    """Return the marginal probability of each tag of each token: (N, nO) float64."""
    xp = get_array_module(sums.before)
    return xp.exp(sums.before + sums.after - sums.totals[:, None])


def _count_steps(sums: _Sums, chains: Chains, steps: _Steps) -> Array:
    """Return how often a tag is expected to follow another: (nO, nO) float64, of all docs."""
    xp = get_array_module(sums.before)
    nO = sums.before.shape[1]
    later = numpy.arange(chains.num_chains, len(chains.order))
    earlier = later - numpy.repeat(chains.sizes[:-1], chains.sizes[1:])
    before = sums.before[xp.asarray(earlier)]
    after = (sums.scores + sums.after - sums.totals[:, None])[chains.num_chains :]
    counts = xp.zeros((nO, nO))
    counts[steps.sources[:, None], steps.targets] = _count_leaps(
        before[:, steps.sources], after[:, steps.targets], steps
    )
    C, numbers = num_labels(nO), xp.arange(nO)
    sources, targets = steps.within_sources, steps.within_targets
    within = before[:, sources].reshape((len(before), 2, 1, C)) + steps.within
    within = xp.exp(within + after[:, targets].reshape((len(after), 1, 2, C)))  # (P, 2, 2, C)
    rows, columns = numbers[sources].reshape((2, 1, C)), numbers[targets].reshape((1, 2, C))
    counts[rows, columns] = within.sum(axis=0)
    return counts


def _count_leaps(before: Array, after: Array, steps: _Steps) -> Array:
    """Sum the probabilities of going from O, L or U to O, B or U, of P pairs of tokens.

    before (P, K), after (P, K) -> (K, K) float64. No (P, K, K) is made: P may be large.
    """
    xp = get_array_module(before)
    if steps.weights is None:
        pairs = zip(before.T, steps.between, strict=True)
        return xp.stack([xp.exp(one[:, None] + row + after).sum(axis=0) for one, row in pairs])
    # As the largest of a row on the left is 1, probabilities bound the right; of a row without any
    # way to it nothing does, but then the right is 0
    left = xp.exp(before - _peaks(before))
    right = xp.exp(after + before.max(axis=1, keepdims=True))
    return (left.T @ right) * steps.weights


def _allowed_tags(constraints: Constraints, nO: int) -> numpy.ndarray:
    """Tell which tags a token may have, (N, nO) bool; what may follow them does the rest."""
    columns = kinds(nO)
    allowed = numpy.ones((len(constraints.starts), nO), dtype=bool)
    allowed[constraints.starts, columns.I.start : columns.L.stop] = False
    allowed[constraints.spaces, columns.B] = allowed[constraints.spaces, columns.U] = False
    allowed[constraints.outside, OUTSIDE + 1 :] = False
    return allowed


def _spell_out(entities: Entities, nO: int) -> _Spelled:
    columns = kinds(nO)
    sizes = entities.ends - entities.starts
    firsts = numpy.cumsum(sizes) - sizes
    lasts = firsts + sizes - 1
    positions = numpy.repeat(entities.starts - firsts, sizes) + numpy.arange(sizes.sum())
    tags = numpy.repeat(columns.I.start + entities.labels, sizes)
    tags[firsts] = columns.B.start + entities.labels
    tags[lasts] = numpy.where(sizes == 1, columns.U.start, columns.L.start) + entities.labels
    return _Spelled(positions, tags, firsts, lasts)


def _pick(values: Array, rows: numpy.ndarray, columns: numpy.ndarray) -> numpy.ndarray:
    xp = get_array_module(values)
    return to_numpy(values[xp.asarray(rows), xp.asarray(columns)])


def _multiply(logs: numpy.ndarray, firsts: numpy.ndarray) -> numpy.ndarray:
    """Return the products of probabilities that begin at each first, from their logarithms."""
    products = numpy.exp(numpy.add.reduceat(logs, firsts))
    return numpy.minimum(products, 1).astype("float32")


def _check_gold(
    totals: numpy.ndarray, chains: Chains, lengths: numpy.ndarray, gold: numpy.ndarray
) -> None:
    """Raise ValueError if no sequence agrees with the tags of a doc: its total is -inf."""
    (impossible,) = numpy.nonzero(totals == -numpy.inf)
    if len(impossible):
        ends = numpy.cumsum(lengths)
        doc = int(numpy.searchsorted(ends, chains.order[impossible].min(), side="right"))
        tags = gold[ends[doc] - lengths[doc] : ends[doc]]
        raise ValueError(
            f"crf_loss: doc {doc} of the batch has gold tags that no entities have: expected B, I "
            "and L of one label, or U, with O around them, all within the doc, and "
            f"{MISSING} for unknown tags; was, as numbers: {tags[:20].tolist()}. "
            "Correct the entities of the training corpus."
        )
