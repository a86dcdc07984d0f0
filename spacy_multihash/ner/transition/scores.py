"""Scores of the actions that are valid in the states of a batch."""

from typing import NamedTuple

import numpy
from thinc.api import get_array_module

from ...common.types import Array
from .actions import Actions
from .rules import Rules, Steps, valid_outside
from .states import Weights, inside_sums, largest_pieces, outside_sums, score, score_one

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


def outside_scores(batch: Batch, rows: slice) -> Array:
    """Score `actions.outside` for some tokens: (R, M) float32, -inf for what is not valid."""
    hidden = largest_pieces(outside_sums(batch.X[rows], batch.weights), batch.weights.nP)
    tokens = numpy.arange(*rows.indices(len(batch.X)))
    return score_outside(hidden, batch.weights, batch.rules, batch.actions, tokens)


def score_outside(
    hidden: Array, weights: Weights, rules: Rules, actions: Actions, tokens: numpy.ndarray
) -> Array:
    """Score `actions.outside`: hidden (R, nO) -> (R, M) float32, -inf for what is not valid.

    tokens (R,) int64: The states' tokens.
    """
    xp = get_array_module(hidden)
    scores = score(hidden, weights, actions.outside)
    if weights.unseen is not None:
        scores[:, weights.unseen[actions.outside]] = LOWEST
    (some,) = numpy.nonzero(rules.restricted[tokens])
    restricted = scores[some]
    scores[:, actions.outside == actions.blocked] = -numpy.inf
    valid = xp.asarray(valid_outside(rules, actions, tokens[some]))
    scores[some] = xp.where(valid, restricted, -numpy.inf)
    return scores


def inside_scores(
    batch: Batch, starts: numpy.ndarray, tokens: numpy.ndarray, steps: Steps
) -> Steps:
    """Score I and L of R states in entities, (R,) float32 each."""
    weights = batch.weights
    sums = inside_sums(batch.X, starts, tokens, weights)
    hidden = largest_pieces(sums, weights.nP)
    scores = Steps(*(score_one(hidden, weights, columns) for columns in steps))
    if weights.unseen is not None:
        for of_action, columns in zip(scores, steps, strict=True):
            of_action[weights.unseen[columns]] = LOWEST
    return scores
