"""What training minimizes, given scores of tags (P, N, nO) after each of P passes.

Losses are means over passes, and sums over tokens as in spaCy's tagger.
"""

from typing import Optional

import numpy
from thinc.api import get_array_module

from ...common.types import Array
from ...compute.blas import single_threaded
from ..biluo import MISSING
from .crf import crf_loss


def tagging_loss(
    scores: Array,
    lengths: numpy.ndarray,
    transitions: Optional[Array],
    gold: numpy.ndarray,
) -> tuple[float, Array, Optional[Array]]:
    """Return the loss that fits the model, and its gradients.

    With transitions it is `crf_losses`, otherwise `cross_entropy`, which has no gradient of
    transitions.
    """
    if transitions is None:
        return *cross_entropy(scores, gold), None
    return crf_losses(scores, lengths, transitions, gold)


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
