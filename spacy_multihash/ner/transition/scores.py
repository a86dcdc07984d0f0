"""Scores of the actions that are valid in the states of a batch."""

from typing import NamedTuple, Union

import numpy

from ...common.types import Array
from .actions import Actions
from .rules import Rules, Steps, rule_out
from .states import Weights, inside_sums, largest_pieces, outside_sums, score, score_some

# The score of an action that was never seen: below all others that are valid.
LOWEST = numpy.finfo("float32").min


class Batch(NamedTuple):
    """Docs with N tokens in all.

    X (N, nI) float32: The vectors of tokens, on the device.
    weights (Weights): The parameters, on the device.
    rules (Rules): What tokens allow, on the host.
    actions (Actions): Which column of scores is which.
    """

    X: Array
    weights: Weights
    rules: Rules
    actions: Actions


def outside_scores(batch: Batch, rows: Union[slice, numpy.ndarray]) -> Array:
    """Score `actions.outside` for R tokens, in a row or at any places.

    rows (slice or (R,) int64): The tokens, on the host.

    Returns (R, M) float32, -inf for what is not valid.
    """
    hidden = largest_pieces(outside_sums(batch.X[rows], batch.weights), batch.weights.nP)
    return score_outside(hidden, batch.weights, batch.rules, batch.actions, rows)


def score_outside(
    hidden: Array,
    weights: Weights,
    rules: Rules,
    actions: Actions,
    tokens: Union[slice, numpy.ndarray],
) -> Array:
    """Score `actions.outside`: hidden (R, nO) -> (R, M) float32, -inf for what is not valid.

    tokens (slice or (R,) int64): The states' tokens.
    """
    scores = score(hidden, weights, actions.outside)
    if weights.unseen is not None:
        scores[:, weights.unseen[actions.outside]] = LOWEST
    rule_out(scores, rules, actions, tokens, -numpy.inf)
    return scores


def inside_scores(
    batch: Batch, starts: numpy.ndarray, tokens: numpy.ndarray, steps: Steps
) -> Steps:
    """Score I and L of R states in entities, (R,) float32 each."""
    weights = batch.weights
    hidden = largest_pieces(inside_sums(batch.X, starts, tokens, weights), weights.nP)
    return score_steps(hidden, weights, steps)


def score_steps(hidden: Array, weights: Weights, steps: Steps) -> Steps:
    """Score I and L: hidden (R, nO), columns (R,) each -> (R,) float32 each."""
    columns = numpy.array(steps)
    scores = score_some(hidden, weights, columns)
    if weights.unseen is not None:
        scores[weights.unseen[columns]] = LOWEST
    return Steps(*scores)
