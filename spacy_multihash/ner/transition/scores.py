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
    weights, rules, actions = batch.weights, batch.rules, batch.actions
    hidden = largest_pieces(outside_sums(batch.X[rows], weights), weights.nP)
    scores = score(hidden, weights, actions.outside)
    if weights.unseen is not None:
        scores[:, weights.unseen[actions.outside]] = LOWEST
    restricted = rules.restricted[rows]
    if restricted.any():
        (some,) = numpy.nonzero(restricted)
        valid = valid_outside(rules, actions, some + (rows.start or 0))
        xp = get_array_module(scores)
        scores[some] = xp.where(xp.asarray(valid), scores[some], -numpy.inf)
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
