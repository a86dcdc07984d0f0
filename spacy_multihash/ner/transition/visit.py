"""The states that the model's own decisions lead to in an update.

They are those that spaCy's ner visits, one step of all docs after the other. Here they are found by
`follow`.
"""

from typing import NamedTuple

import numpy
from thinc.api import Ops, to_numpy

from ...common.types import Array
from ...compute.dropout_masks import DrawMask
from .actions import NO_ACTION, Actions
from .greedy import closes_first
from .hidden import Hidden, hide, join
from .path import Decisions, Openings, Path, States, follow
from .rows import Rows
from .rules import Rules, valid_inside
from .scores import score_outside, score_steps
from .states import Weights, inside_sums, outside_sums

_NO_STATES = States(*[numpy.zeros(0, dtype="int64")] * 4)


class Visited(NamedTuple):
    """The V states that an update visits: those outside, then those in entities.

    outside: Their rows.
    inside (States): By row.
    hidden (Hidden): Of all V.
    """

    outside: numpy.ndarray
    inside: States
    hidden: Hidden


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
