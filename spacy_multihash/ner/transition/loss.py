"""spaCy's loss of the states of an update: they go through it at once, as none needs another."""

from collections.abc import Iterable
from typing import NamedTuple, Optional

import numpy
from thinc.api import get_array_module, to_numpy

from ...common.types import Array
from .actions import Actions
from .costs import INVALID, Gold, inside_costs, outside_costs
from .rows import Rows
from .rules import Rules, valid_inside
from .scores import LOWEST
from .states import Weights, score
from .visit import Visited


class Loss(NamedTuple):
    """The loss of states, and its gradient.

    value: The sum of the squared gradient, as spaCy reports it.
    d_scores (V, nC) float32: The gradient.
    seen (nC,) bool: Which actions were right in some state.
    """

    value: float
    d_scores: Array
    seen: numpy.ndarray


def loss_of(
    visited: Visited,
    weights: Weights,
    gold: Gold,
    rules: Rules,
    actions: Actions,
    rows: Rows,
    lowest: Optional[numpy.ndarray] = None,
) -> Loss:
    """Compute spaCy's log loss: the probability of the valid actions that cost least.

    lowest (number of steps,) float32: What `lowest_scores` returned, for a model in which actions
        were never seen.

    Both sums of the softmax go over all actions, valid or not, as in spaCy's `cpu_log_loss`. Where
    all valid actions cost more than 1, there is no loss.
    """
    xp = get_array_module(visited.hidden.values)
    scores = score(visited.hidden.values, weights)
    if weights.unseen is not None and lowest is not None:
        scores[:, weights.unseen] = xp.asarray(lowest[_steps(visited, rows)])[:, None]
    costs = _costs(visited, gold, rules, actions, rows)
    least = costs.min(axis=1, keepdims=True)
    is_best = xp.asarray((costs == least) & (least <= 1))
    d_scores = _softmax(scores, xp)
    d_scores -= _softmax(xp.where(is_best, scores, -numpy.inf), xp)
    d_scores[~is_best.any(axis=1)] = 0
    return Loss(float((d_scores**2).sum()), d_scores, (costs == 0).any(axis=0))


def lowest_scores(chunks: Iterable[Visited], weights: Weights, rows: Rows) -> numpy.ndarray:
    """Find the lowest score of all states of each step: that of actions that were never seen."""
    lowest = numpy.full(rows.steps.max() + 1, numpy.inf, dtype="float32")
    for visited in chunks:
        scores = score(visited.hidden.values, weights)
        numpy.minimum.at(lowest, _steps(visited, rows), to_numpy(scores.min(axis=1)))
    return lowest


def _steps(visited: Visited, rows: Rows) -> numpy.ndarray:
    return rows.steps[numpy.concatenate([visited.outside, visited.inside.tokens])]


def _costs(
    visited: Visited, gold: Gold, rules: Rules, actions: Actions, rows: Rows
) -> numpy.ndarray:
    """Tell what all actions cost in all states, (V, nC) uint8."""
    inside, first = visited.inside, len(visited.outside)
    V = first + len(inside.tokens)
    costs = numpy.full((V, actions.nO + 1), INVALID, dtype="uint8")  # NO_ACTION is the last
    tokens = rows.tokens[visited.outside]
    costs[:first, actions.outside] = outside_costs(gold, rules, actions, tokens)
    states = inside._replace(starts=rows.tokens[inside.starts], tokens=rows.tokens[inside.tokens])
    steps = valid_inside(rules, actions, states.tokens, states.labels)
    of_states = numpy.arange(first, V)
    for columns, of_action in zip(steps, inside_costs(gold, rules, actions, states), strict=True):
        costs[of_states, columns] = of_action
    return costs[:, :-1]


def _softmax(scores: Array, xp: Array) -> Array:
    """Return probabilities (V, nC); of a row of -inf, numbers that are not used."""
    highest = scores.max(axis=1, keepdims=True)
    exps = xp.exp(scores - xp.maximum(highest, LOWEST))
    exps /= xp.maximum(exps.sum(axis=1, keepdims=True), 1e-10)
    return exps
