"""A linear-chain CRF over the tags of a batch: its loss.

p(y | x) is proportional to the exponential of the sum of the tokens' scores and of the transition
scores of consecutive tags (equation 2 of Strubell et al. 2017), for the sequences of tags that are
entities; all others have no probability.
"""

from typing import NamedTuple, Tuple

import numpy
from thinc.api import get_array_module, to_numpy

from ...common.types import Array
from ..biluo import MISSING, are_entities, num_labels
from .forward_backward import Steps, Sums, find_steps, forward_backward, peaks
from .packing import Packed, pack


class _Expected(NamedTuple):
    """What is expected of sequences of tags.

    total: The log of the sum of the exponentials of their scores, summed over docs.
    tags (N, nO) float64: How often each token has each tag, by token in packed order.
    steps (nO, nO) float64: How often a tag follows another.
    """

    total: float
    tags: Array
    steps: Array


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
    packed = pack(lengths)
    order = xp.asarray(packed.order)
    steps = find_steps(transitions)
    ordered = scores[order].astype("float64")
    free = _expect(forward_backward(ordered, packed, steps), packed, steps)
    tags = xp.asarray(gold)[order][:, None]
    agree = (tags == MISSING) | (tags == xp.arange(scores.shape[1]))
    if are_entities(gold, lengths, scores.shape[1]):  # a single sequence agrees
        held = _count(ordered, packed, transitions, agree)
    else:
        sums = forward_backward(xp.where(agree, ordered, -xp.inf), packed, steps)
        _check_gold(to_numpy(sums.totals[: packed.num_sequences]), packed, lengths, gold)
        held = _expect(sums, packed, steps)
    loss = max(free.total - held.total, 0.0)  # below 0 by rounding only
    d_scores = xp.empty_like(scores)
    d_scores[order] = free.tags - held.tags
    return loss, d_scores, (free.steps - held.steps).astype(transitions.dtype)


def _expect(sums: Sums, packed: Packed, steps: Steps) -> _Expected:
    """Return what is expected of all sequences that are summed over."""
    xp = get_array_module(sums.before)
    nO = sums.before.shape[1]
    tags = xp.exp(sums.before + sums.after - sums.totals[:, None])
    earlier, later = _pairs(packed)
    before = sums.before[xp.asarray(earlier)]
    after = (sums.scores + sums.after - sums.totals[:, None])[later]
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
    return _Expected(float(sums.totals[: packed.num_sequences].sum()), tags, counts)


def _count(scores: Array, packed: Packed, transitions: Array, chosen: Array) -> _Expected:
    """Return what there is of a single sequence of each doc.

    scores (N, nO) float64, chosen (N, nO) bool: By token in packed order, and tag.
    """
    xp = get_array_module(scores)
    tags = chosen.astype("float64")
    earlier, later = _pairs(packed)
    steps = tags[xp.asarray(earlier)].T @ tags[later]
    taken = steps > 0
    total = scores[chosen].sum() + (transitions[taken] * steps[taken]).sum()
    return _Expected(float(total), tags, steps)


def _pairs(packed: Packed) -> Tuple[numpy.ndarray, slice]:
    """Find all tokens that follow another in their doc: those before them, and themselves."""
    later = numpy.arange(packed.num_sequences, len(packed.order))
    earlier = later - numpy.repeat(packed.sizes[:-1], packed.sizes[1:])
    return earlier, slice(packed.num_sequences, None)


def _count_leaps(before: Array, after: Array, steps: Steps) -> Array:
    """Sum the probabilities of going from O, L or U to O, B or U, of P pairs of tokens.

    before (P, K), after (P, K) -> (K, K) float64. No (P, K, K) is made: P may be large.
    """
    xp = get_array_module(before)
    if steps.weights is None:
        pairs = zip(before.T, steps.between, strict=True)
        return xp.stack([xp.exp(one[:, None] + row + after).sum(axis=0) for one, row in pairs])
    # As the largest of a row on the left is 1, probabilities bound the right; of a row without any
    # way to it nothing does, but then the right is 0
    left = xp.exp(before - peaks(before))
    right = xp.exp(after + before.max(axis=1, keepdims=True))
    return (left.T @ right) * steps.weights


def _check_gold(
    totals: numpy.ndarray, packed: Packed, lengths: numpy.ndarray, gold: numpy.ndarray
) -> None:
    """Raise ValueError if no sequence agrees with the tags of a doc: its total is -inf."""
    (impossible,) = numpy.nonzero(totals == -numpy.inf)
    if len(impossible):
        ends = numpy.cumsum(lengths)
        doc = int(numpy.searchsorted(ends, packed.order[impossible].min(), side="right"))
        tags = gold[ends[doc] - lengths[doc] : ends[doc]]
        raise ValueError(
            f"crf_loss: doc {doc} of the batch has gold tags that no entities have: expected B, I "
            "and L of one label, or U, with O around them, all within the doc, and "
            f"{MISSING} for unknown tags; was, as numbers: {tags[:20].tolist()}. "
            "Correct the entities of the training corpus."
        )
