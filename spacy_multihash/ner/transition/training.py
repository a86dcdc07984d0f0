"""An update of the model: the states that its own decisions lead to, their loss, and the way back.

The states are those that spaCy's ner visits, one step of all docs after the other. Here they are
found by `follow`, and go through the layers at once: the loss of a state depends on no other.
"""

from collections.abc import Sequence
from typing import NamedTuple

import numpy
from spacy.tokens import Doc
from thinc.api import Model, Ops, get_array_module, to_numpy

from ...common.types import Array
from ...compute.dropout_masks import DrawMask, mask_drawers
from ...compute.matmul import matmul
from .actions import NO_ACTION, Actions
from .costs import INVALID, Gold, inside_costs, outside_costs
from .greedy import closes_first
from .hidden import Hidden, hide, hide_backward, join
from .lesson import Lesson
from .path import Decisions, Openings, Path, States, follow
from .rules import Rules, valid_inside
from .scores import LOWEST, score_outside, score_steps
from .starts import Parts
from .states import (
    Weights,
    inside_features,
    inside_sums,
    outside_sums,
    score,
    weights_of,
)

_NO_STATES = States(*[numpy.zeros(0, dtype="int64")] * 4)


class Rows(NamedTuple):
    """Parts of docs, one after the other, R rows in all.

    tokens (R,) int64: The token of each row, by position in the batch.
    stops (R,) int64: The row after the last one of the row's part.
    steps (R,) int64: How many rows the part begins before it; below 0 for tokens of an entity that
        is open before the part begins. These are features of its states and no states themselves.
    forced (Openings): The entities that are open where parts begin, as their first rows.
    begins (number of `forced`,) int64: How many rows after those the parts begin.
    """

    tokens: numpy.ndarray
    stops: numpy.ndarray
    steps: numpy.ndarray
    forced: Openings
    begins: numpy.ndarray


class Visited(NamedTuple):
    """The V states that an update visits: those outside, then those in entities.

    outside: Their rows.
    inside (States): By row.
    hidden (Hidden): Of all V.
    """

    outside: numpy.ndarray
    inside: States
    hidden: Hidden


def lay_out(parts: Parts, actions: Actions) -> Rows:
    """Put the tokens of parts one after the other."""
    sizes = parts.ends - parts.starts
    stops = sizes.cumsum()
    firsts = stops - sizes
    within = numpy.arange(sizes.sum()) - numpy.repeat(firsts, sizes)
    before = parts.begins - parts.starts
    (is_open,) = before.nonzero()
    return Rows(
        tokens=numpy.repeat(parts.starts, sizes) + within,
        stops=numpy.repeat(stops, sizes),
        steps=within - numpy.repeat(before, sizes),
        forced=Openings(firsts[is_open], actions.B[parts.labels[is_open]]),
        begins=before[is_open],
    )


def learn(
    model: Model,
    docs: Sequence[Doc],
    lesson: Lesson,
    *,
    state_dropout: float,
    spacy_gradient: bool,
) -> float:
    """Add the gradients of a batch to a parser_model, and return the loss.

    state_dropout (float): The share of the hidden layer that is dropped, of each state anew.
    spacy_gradient (bool): See `backpropagate`.
    """
    gold, rules, actions, parts = lesson
    X, backprop = model.get_ref("tok2vec").begin_update(docs)
    weights, rows = weights_of(model, X), lay_out(parts, actions)
    (draw,) = mask_drawers(model.ops, state_dropout, 1)
    visited = visit(X, weights, rules, actions, rows, draw, model.ops)
    loss = loss_of(visited, weights, gold, rules, actions, rows)
    if weights.unseen is not None:
        loss.d_scores[:, weights.unseen] = 0
        model.attrs["unseen_classes"] -= set(numpy.flatnonzero(loss.seen).tolist())
    backprop(
        backpropagate(
            model, visited, loss.d_scores, X, weights, rows, spacy_gradient=spacy_gradient
        )
    )
    return loss.value


def visit(
    X: Array, weights: Weights, rules: Rules, actions: Actions, rows: Rows, draw: DrawMask, ops: Ops
) -> Visited:
    """Find the states that the model's own decisions lead to, with dropout.

    X (N, nI) float32: The vectors of tokens.
    draw (Callable): Draws the dropout masks of states.
    """
    outside = hide(outside_sums(X[rows.tokens], weights), weights, draw, ops)
    openings, begins = _openings(outside, weights, rules, actions, rows)
    kept: list[tuple[States, Hidden]] = []

    def decide(states: States) -> Decisions:
        starts, tokens = rows.tokens[states.starts], rows.tokens[states.tokens]
        hidden = hide(inside_sums(X, starts, tokens, weights), weights, draw, ops)
        kept.append((states, hidden))
        steps = valid_inside(rules, actions, tokens, states.labels)
        goes_on, closes = steps.I != NO_ACTION, steps.L != NO_ACTION
        scores = score_steps(hidden.values, weights, steps)
        stuck = ~closes & ~goes_on
        closes &= ~goes_on | closes_first(scores, steps)
        return Decisions(closes, stuck)

    path = follow(openings, actions, rows.stops, decide, begins)
    ends = numpy.zeros(len(openings.tokens), dtype="int64")
    ends[path.numbers] = path.ends
    states: list[States] = []
    hidden = [outside.take(_outside(path, rows))]
    for some, of_some in kept:
        visited = some.tokens < ends[some.candidates]
        states.append(States(*(column[visited] for column in some)))
        hidden.append(of_some.take(visited))
    inside = States(*(numpy.concatenate(parts) for parts in zip(_NO_STATES, *states, strict=True)))
    return Visited(_outside(path, rows), inside, join(hidden))


def _openings(
    hidden: Hidden, weights: Weights, rules: Rules, actions: Actions, rows: Rows
) -> tuple[Openings, numpy.ndarray]:
    """Find where entities open, by the scores or before a part, and where decisions begin."""
    scores = score_outside(hidden.values, weights, rules, actions, rows.tokens)
    columns = actions.outside[to_numpy(scores.argmax(axis=1))]
    columns[to_numpy(scores.max(axis=1)) == -numpy.inf] = NO_ACTION
    opens = (columns == NO_ACTION) | ~actions.stays[columns]
    (own,) = numpy.nonzero(opens & (rows.steps >= 0))
    tokens = numpy.concatenate([own, rows.forced.tokens])
    begins = numpy.concatenate([numpy.ones(len(own), dtype="int64"), rows.begins])
    columns = numpy.concatenate([columns[own], rows.forced.columns])
    order = tokens.argsort()
    return Openings(tokens[order], columns[order]), begins[order]


def _outside(path: Path, rows: Rows) -> numpy.ndarray:
    """List the rows where the path is outside of entities."""
    depth = numpy.zeros(len(rows.tokens) + 1, dtype="int64")
    depth[path.starts + 1] += 1
    depth[numpy.where(path.stuck, rows.stops[path.starts], path.ends)] -= 1
    return numpy.flatnonzero((depth[:-1].cumsum() == 0) & (rows.steps >= 0))


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
    visited: Visited, weights: Weights, gold: Gold, rules: Rules, actions: Actions, rows: Rows
) -> Loss:
    """Compute spaCy's log loss: the probability of the valid actions that cost least.

    Both sums of the softmax go over all actions, valid or not, as in spaCy's `cpu_log_loss`. Where
    all valid actions cost more than 1, there is no loss.
    """
    xp = get_array_module(visited.hidden.values)
    scores = score(visited.hidden.values, weights)
    if weights.unseen is not None:
        _lower(scores, weights.unseen, visited, rows)
    costs = _costs(visited, gold, rules, actions, rows)
    least = costs.min(axis=1, keepdims=True)
    is_best = xp.asarray((costs == least) & (least <= 1))
    d_scores = _softmax(scores, xp)
    d_scores -= _softmax(xp.where(is_best, scores, -numpy.inf), xp)
    d_scores[~is_best.any(axis=1)] = 0
    return Loss(float((d_scores**2).sum()), d_scores, (costs == 0).any(axis=0))


def _lower(scores: Array, unseen: numpy.ndarray, visited: Visited, rows: Rows) -> None:
    """Set the scores of actions that were never seen to the lowest of all states of the step."""
    xp = get_array_module(scores)
    steps = rows.steps[numpy.concatenate([visited.outside, visited.inside.tokens])]
    lowest = numpy.full(steps.max() + 1, numpy.inf, dtype="float32")
    numpy.minimum.at(lowest, steps, to_numpy(scores.min(axis=1)))
    scores[:, unseen] = xp.asarray(lowest[steps])[:, None]


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


def backpropagate(
    model: Model,
    visited: Visited,
    d_scores: Array,
    X: Array,
    weights: Weights,
    rows: Rows,
    *,
    spacy_gradient: bool,
) -> Array:
    """Add the gradients of `lower` and `upper`, and return that of the vectors of tokens.

    d_scores (V, nC) float32.
    spacy_gradient (bool): As spaCy computes it. It takes the last token of the batch for features
        that are missing, which adds to the gradient of their weights.

    Returns (N, nI) float32.
    """
    xp, ops = get_array_module(X), model.ops
    hidden = visited.hidden
    d_hidden = d_scores
    if weights.upper is not None:
        upper = model.get_ref("upper")
        upper.inc_grad("W", upper.ops.asarray_f(matmul(d_scores.T, hidden.values)))
        upper.inc_grad("b", upper.ops.asarray_f(d_scores.sum(axis=0)))
        d_hidden = matmul(d_scores, weights.upper)
    d_sums = hide_backward(d_hidden, hidden, weights, ops)
    first = len(visited.outside)
    d_outside, d_inside = d_sums[:first], d_sums[first:]
    outside = xp.asarray(rows.tokens[visited.outside])
    inside = xp.asarray(
        inside_features(
            rows.tokens[visited.inside.starts],
            rows.tokens[visited.inside.tokens],
            len(weights.W),
        )
    )
    dX = ops.alloc2f(*X.shape)
    dW, d_pad = xp.zeros_like(weights.W), xp.zeros_like(weights.pad)
    for feature, W in enumerate(weights.W):
        tokens, d_feature = inside[:, feature], d_inside
        present = tokens >= 0
        if not present.all():
            d_pad[feature] += d_feature[~present].sum(axis=0)
            tokens, d_feature = tokens[present], d_feature[present]
        if feature == 0:
            tokens, d_feature = xp.concatenate([outside, tokens]), d_sums
        else:
            d_pad[feature] += d_outside.sum(axis=0)
        dW[feature] = matmul(d_feature.T, X[tokens])
        ops.scatter_add(dX, tokens, matmul(d_feature, W))
    if spacy_gradient:
        dW += d_pad[:, :, None] * X[-1]
    lower = model.get_ref("lower")
    lower.inc_grad("W", dW.reshape(lower.get_param("W").shape))
    lower.inc_grad("b", d_sums.sum(axis=0).reshape(lower.get_param("b").shape))
    lower.inc_grad("pad", d_pad.reshape(lower.get_param("pad").shape))
    return dX
