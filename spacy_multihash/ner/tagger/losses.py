"""What training minimizes, given scores of tags (P, N, nO) after each of P passes.

Losses are means over passes, and sums over tokens as in spaCy's tagger.
"""

from typing import Optional

import numpy
from thinc.api import get_array_module

from ...common.types import Array
from ...compute.blas import single_threaded
from ..biluo import MISSING, Entities
from .crf import crf_loss
from .wrong_entities import wrong_entity_loss


def tagging_loss(
    scores: Array,
    lengths: numpy.ndarray,
    transitions: Optional[Array],
    gold: numpy.ndarray,
    wrong: Optional[Entities] = None,
) -> tuple[float, Array, Optional[Array]]:
    """Return the loss that fits the model, and its gradients.

    With transitions it is `crf_losses`, otherwise `cross_entropy`, which has no gradient of
    transitions. The `wrong_entity_loss` of entities that are known to be wrong is added.
    """
    loss, d_scores, d_transitions = (
        (*cross_entropy(scores, gold), None)
        if transitions is None
        else crf_losses(scores, lengths, transitions, gold)
    )
    if wrong is not None and len(wrong.starts):
        more, d_more, d_more_transitions = wrong_entity_loss(scores, lengths, transitions, wrong)
        loss, d_scores = loss + more, d_scores + d_more
        if d_transitions is not None:
            d_transitions = d_transitions + d_more_transitions
    return loss, d_scores, d_transitions


def cross_entropy(scores: Array, gold: numpy.ndarray) -> tuple[float, Array]:
    """Return the negative log-probability of independent tags, and its gradient.

    Equations 10 and 11 of Strubell et al. 2017.

    scores (P, N, nO) float32: Scores of the tags.
    gold (N,) int64: The tags, on the host. Where they are `biluo.MISSING` there is no loss.
    """
    xp = get_array_module(scores)
    P = len(scores)
    (known,) = numpy.nonzero(gold != MISSING)
    tags, known = xp.asarray(gold[known]), xp.asarray(known)
    d_scores = scores - scores.max(axis=2, keepdims=True)
    right = d_scores[:, known, tags]
    xp.exp(d_scores, out=d_scores)
    totals = d_scores.sum(axis=2, keepdims=True)
    loss = (xp.log(totals[:, known, 0]) - right).sum(dtype="float64") / P
    d_scores /= totals
    d_scores[:, known, tags] -= 1
    d_scores[:, xp.asarray(gold == MISSING)] = 0
    d_scores /= P
    return float(loss), d_scores


def crf_losses(
    scores: Array, lengths: numpy.ndarray, transitions: Array, gold: numpy.ndarray
) -> tuple[float, Array, Array]:
    """Return the mean loss of the linear-chain CRF of each pass, and its gradients.

    See `crf.crf_loss`: d_scores (P, N, nO) and d_transitions (nO, nO), float32.
    """
    P, N, nO = scores.shape
    passes = scores.reshape((P * N, nO)), numpy.tile(lengths, P), transitions, numpy.tile(gold, P)
    loss, d_scores, d_transitions = single_threaded(crf_loss, *passes)
    return loss / P, d_scores.reshape(scores.shape) / P, d_transitions / P


def expectation_linear_penalty(
    dropped: Array, plain: Array, gold: numpy.ndarray
) -> tuple[float, Array]:
    """Return the squared distance of scores with dropout from those without, and its gradient.

    This is expectation-linear dropout (Ma et al. 2017) with a single sample of dropout, summed over
    tokens and tags. The gradient is that of `dropped`; the gradient of `plain` is its negative.

    dropped, plain (P, N, nO) float32: Scores of the same tokens.
    gold (N,) int64: Their tags. Where they are `biluo.MISSING` there is no penalty.
    """
    difference = dropped - plain
    difference[:, get_array_module(plain).asarray(gold == MISSING)] = 0
    P = len(difference)
    return float((difference**2).sum(dtype="float64")) / P, 2 * difference / P
