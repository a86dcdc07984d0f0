"""The states that the model's own decisions lead to in an update.

They are those that spaCy's ner visits, one step of all docs after the other. Here they are found by
`follow`. They come in chunks, so that memory for their scores does not grow with the batch.
"""

from collections.abc import Iterable, Iterator
from functools import partial
from typing import NamedTuple, Optional

import numpy
from thinc.api import Ops, to_numpy

from ...common.types import Array
from ...compute.chunks import GPU_CHUNK, cut_rows, on_cpu
from ...compute.dropout_masks import DrawMask
from .actions import NO_ACTION, Actions
from .greedy import closes_first
from .hidden import Hidden, Mask, hide, join, pack_mask, unpack_mask
from .path import Decisions, Openings, Path, States, follow
from .rows import Rows
from .rules import Rules, valid_inside
from .scores import score_outside, score_steps
from .states import Weights, inside_sums, outside_sums

# How many states a chunk has about. A usual batch of 1000 words is one chunk.
_CHUNK = 4096
_NO_ROWS = numpy.zeros(0, dtype="int64")
_NO_STATES = States(_NO_ROWS, _NO_ROWS, _NO_ROWS, _NO_ROWS)


class Visited(NamedTuple):
    """V states that an update visits: those outside, then those in entities.

    outside: Their rows.
    inside (States): By row.
    hidden (Hidden): Of all V.
    """

    outside: numpy.ndarray
    inside: States
    hidden: Hidden

    @property
    def number(self) -> int:
        """V, how many states they are."""
        return len(self.outside) + len(self.inside.tokens)


def visit(
    X: Array, weights: Weights, rules: Rules, actions: Actions, rows: Rows, draw: DrawMask, ops: Ops
) -> list[Visited]:
    """Find the states that the model's own decisions lead to, with dropout, in chunks.

    X (N, nI) float32: The vectors of tokens.
    draw (Callable): Draws the dropout masks of states.
    """
    size = _CHUNK if on_cpu(ops) else GPU_CHUNK
    outside: list[Hidden] = []
    columns: list[numpy.ndarray] = []
    parts = cut_rows(len(rows.tokens), size)
    for part in parts:
        tokens = rows.tokens[part]
        outside.append(hide(outside_sums(X[tokens], weights), weights, draw, ops))
        columns.append(_columns(outside[-1], weights, rules, actions, tokens))
    openings, begins = _openings(numpy.concatenate(columns), actions, rows)
    kept: list[tuple[States, Optional[Mask]]] = []

    def hide_inside(starts: numpy.ndarray, tokens: numpy.ndarray, draw: DrawMask) -> Hidden:
        return hide(inside_sums(X, starts, tokens, weights), weights, draw, ops)

    def decide(states: States) -> Decisions:
        starts, tokens = rows.tokens[states.starts], rows.tokens[states.tokens]
        hidden = hide_inside(starts, tokens, draw)
        kept.append((states, None if hidden.mask is None else pack_mask(hidden.mask)))
        steps = valid_inside(rules, actions, tokens, states.labels)
        goes_on, closes = steps.I != NO_ACTION, steps.L != NO_ACTION
        scores = score_steps(hidden.values, weights, steps)
        stuck = ~closes & ~goes_on
        closes &= ~goes_on | closes_first(scores, steps)
        return Decisions(closes, stuck)

    path = follow(openings, actions, rows.stops, decide, begins)
    ends = numpy.zeros(len(openings.tokens), dtype="int64")
    ends[path.numbers] = path.ends

    def pieces() -> Iterator[Visited]:
        """Take the states that are on the way, and let go of the others.

        Few of the states in entities are, so the hidden layer of these is computed once more.
        """
        on_the_way = _outside(path, rows)
        for part in parts:
            first, last = numpy.searchsorted(on_the_way, [part.start, part.stop])
            some = on_the_way[first:last]
            yield Visited(some, _NO_STATES, outside.pop(0).take(some - part.start))
        while kept:
            states, mask = kept.pop(0)
            (numbers,) = numpy.nonzero(states.tokens < ends[states.candidates])
            for part in cut_rows(len(numbers), size):
                some = numbers[part]
                inside = States(*(column[some] for column in states))
                tokens = (rows.tokens[inside.starts], rows.tokens[inside.tokens])
                hidden = hide_inside(*tokens, partial(unpack_mask, mask, some))
                yield Visited(_NO_ROWS, inside, hidden)

    return _in_chunks(pieces(), size)


def _in_chunks(pieces: Iterable[Visited], size: int) -> list[Visited]:
    """Join pieces until they have at least `size` states; the last chunk may have fewer."""
    chunks: list[Visited] = []
    some: list[Visited] = []
    for piece in pieces:
        if piece.number:
            some.append(piece)
        if sum(each.number for each in some) >= size:
            chunks.append(_join(some))
            some = []
    return [*chunks, _join(some)] if some else chunks


def _join(pieces: list[Visited]) -> Visited:
    if len(pieces) == 1:
        return pieces[0]
    columns = zip(*(piece.inside for piece in pieces), strict=True)
    return Visited(
        numpy.concatenate([piece.outside for piece in pieces]),
        States(*map(numpy.concatenate, columns)),
        join([piece.hidden for piece in pieces]),
    )


def _columns(
    hidden: Hidden, weights: Weights, rules: Rules, actions: Actions, tokens: numpy.ndarray
) -> numpy.ndarray:
    """Find the best actions outside at R tokens, (R,) int64, `NO_ACTION` where none is valid."""
    scores = score_outside(hidden.values, weights, rules, actions, tokens)
    columns: numpy.ndarray = actions.outside[to_numpy(scores.argmax(axis=1))]
    columns[to_numpy(scores.max(axis=1)) == -numpy.inf] = NO_ACTION
    return columns


def _openings(
    columns: numpy.ndarray, actions: Actions, rows: Rows
) -> tuple[Openings, numpy.ndarray]:
    """Find where entities open, by the best actions or before a part, and where decisions begin."""
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
