"""The loss of a linear-chain CRF over the tags of a batch.

A path is one tag for each token, and the tags follow each other as they may. Its probability is
proportional to the exponential of the sum of the tokens' scores and of the transition scores of
consecutive tags (equation 2 of Strubell et al. 2017). All other sequences of tags have none.
"""

from typing import NamedTuple

import numpy
from thinc.api import get_array_module, to_numpy

from ...common.types import Array
from ..biluo import MISSING, are_entities
from .forward_backward import (
    SplitTransitions,
    Sums,
    forward_backward,
    join_transitions,
    peaks,
    split_kinds,
    split_transitions,
)
from .packing import Packed, pack


class Expected(NamedTuple):
    """What is expected of paths.

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

    With missing tags, it is that of all paths that agree with the known ones, together. A doc
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
    split = split_transitions(transitions)
    ordered = scores[order].astype("float64")
    free = expect(forward_backward(ordered, packed, split), packed, split)
    tags = xp.asarray(gold)[order][:, None]
    agree = (tags == MISSING) | (tags == xp.arange(scores.shape[1]))
    if are_entities(gold, lengths, scores.shape[1]):  # a single path agrees
        held = _count(ordered, packed, transitions, agree)
    else:
        sums = forward_backward(xp.where(agree, ordered, -xp.inf), packed, split)
        _check_gold(to_numpy(sums.totals[: packed.num_sequences]), packed, lengths, gold)
        held = expect(sums, packed, split)
    loss = max(free.total - held.total, 0.0)  # below 0 by rounding only
    d_scores = xp.empty_like(scores)
    d_scores[order] = free.tags - held.tags
    return loss, d_scores, (free.transitions - held.transitions).astype(transitions.dtype)


def expect(sums: Sums, packed: Packed, transitions: SplitTransitions) -> Expected:
    """Return what is expected of all paths that are summed over."""
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
    counts = join_transitions(between, within)
    return Expected(float(sums.totals[: packed.num_sequences].sum()), tags, counts)


def _count(scores: Array, packed: Packed, transitions: Array, chosen: Array) -> Expected:
    """Return the same of a single path of each doc, by counting.

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
    """Find all pairs of consecutive tokens in packed order: the earlier ones, the later ones."""
    later = numpy.arange(packed.num_sequences, len(packed.order))
    earlier = later - numpy.repeat(packed.sizes[:-1], packed.sizes[1:])
    return earlier, slice(packed.num_sequences, None)


def _count_between(before: Array, after: Array, transitions: SplitTransitions) -> Array:
    """Sum the probabilities of going from O, L or U to O, B or U, of P pairs of tokens.

    before (P, K), after (P, K) -> (K, K) float64. P may be large, so that nothing of shape
    (P, K, K) is made.
    """
    xp = get_array_module(before)
    if transitions.weights is None:
        pairs = zip(before.T, transitions.between, strict=True)
        return xp.stack([xp.exp(one[:, None] + row + after).sum(axis=0) for one, row in pairs])
    # The largest entry of each row on the left is 1, so that the right is bounded as probabilities
    # are. A row without any path has no such bound, but there the right is 0.
    left = xp.exp(before - peaks(before))
    right = xp.exp(after + before.max(axis=1, keepdims=True))
    return (left.T @ right) * transitions.weights


def _check_gold(
    totals: numpy.ndarray, packed: Packed, lengths: numpy.ndarray, gold: numpy.ndarray
) -> None:
    """Raise ValueError if no path agrees with the tags of a doc, whose total then is -inf."""
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
