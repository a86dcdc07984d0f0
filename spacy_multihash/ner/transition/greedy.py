"""The entities that spaCy's greedy recognizer finds: at each state, the action that scores best."""

from functools import partial

import numpy
from thinc.api import Ops, get_array_module, to_numpy

from ...compute.blas import single_threaded
from ...compute.chunks import row_chunks
from ...compute.threads import map_chunks
from ..biluo import Entities
from .actions import NO_ACTION
from .path import Decisions, Openings, States, follow
from .rules import Steps, valid_inside
from .scores import Batch, inside_scores, outside_scores


def find_entities(batch: Batch, ops: Ops) -> Entities:
    """Find the entities of a batch."""
    found = map_chunks(ops, lambda rows: find_openings(batch, rows), row_chunks(batch.X))
    openings = Openings(*(numpy.concatenate(parts) for parts in zip(*found, strict=True)))

    def decide(states: States) -> Decisions:
        steps = valid_inside(batch.rules, batch.actions, states.tokens, states.labels)
        closes = steps.L != NO_ACTION
        goes_on = steps.I != NO_ACTION
        (both,) = numpy.nonzero(closes & goes_on)
        if len(both):
            columns = Steps(steps.I[both], steps.L[both])
            scores = inside_scores(batch, states.starts[both], states.tokens[both], columns)
            closes[both] = closes_first(scores, columns)
        return Decisions(closes, ~closes & ~goes_on)

    each = partial(map_chunks, ops)
    path = single_threaded(follow, openings, batch.actions, batch.rules.ends, decide, 1, each)
    return path.entities


def find_openings(batch: Batch, rows: slice) -> Openings:
    """Find where the best action outside is neither O nor U-, among some tokens."""
    scores = outside_scores(batch, rows)
    xp = get_array_module(scores)
    best = scores.argmax(axis=1)
    is_open = xp.asarray(batch.actions.makes_entity)[best]
    # O is valid at every token of docs without entities, and most models have it
    may_be_stuck = batch.rules.has_entities or batch.actions.O == NO_ACTION
    if may_be_stuck:
        is_open |= scores.max(axis=1) == -numpy.inf
    (tokens,) = xp.nonzero(is_open)
    columns = batch.actions.outside[to_numpy(best[tokens])]
    if may_be_stuck:
        columns[to_numpy(scores[tokens].max(axis=1) == -numpy.inf)] = NO_ACTION
    return Openings(to_numpy(tokens) + (rows.start or 0), columns)


def closes_first(scores: Steps, columns: Steps) -> numpy.ndarray:
    """Tell where L scores better than I, (R,) bool; of equals, spaCy takes the first column."""
    closes = to_numpy(scores.L > scores.I)
    equal = to_numpy(scores.L == scores.I)
    if equal.any():
        closes = numpy.where(equal, columns.L < columns.I, closes)
    return closes
