"""The entities that spaCy's greedy recognizer finds, without its steps.

The best action outside of entities is known for all tokens at once. Where it is B, an entity may
begin: a candidate. The end of a candidate is where L first scores higher than I, which depends on
no other candidate. Last comes a walk from left to right, which leaves out candidates that begin
within an entity:

    token         0   1   2   3   4   5   6
    outside       O   B   O   B   O   U   O
    candidates        1 ----> L               taken
                              3 > L           left out, since it begins within the first
                                      5       taken
"""

from bisect import bisect_left
from collections.abc import Callable
from typing import NamedTuple

import numpy
from thinc.api import Ops, get_array_module, to_numpy

from ...compute.chunks import row_chunks
from ...compute.threads import map_chunks
from ..biluo import Entities
from .actions import NO_ACTION, NO_LABEL
from .rules import Steps, valid_inside
from .scores import Batch, inside_scores, outside_scores

# In place of the end of a candidate: it is not known yet; or no action is valid, where spaCy gives
# up the rest of the doc.
UNKNOWN, STUCK = -1, -2
# How many tokens of every candidate are tried at once, one number after the other. Few entities are
# longer than all of them together. A longer candidate is followed only if the walk comes to it: so
# a model that begins entities everywhere takes no time squared.
_FIRST_WIDTHS = (3, 8)
_LONGEST_WIDTH = 1024


class Openings(NamedTuple):
    """The tokens where the best action outside is neither O nor U-, in order, on the host.

    tokens, columns (M,) int64: Their positions, and the best action, `NO_ACTION` if none is valid.
    """

    tokens: numpy.ndarray
    columns: numpy.ndarray


def find_entities(batch: Batch, ops: Ops) -> Entities:
    """Find the entities of a batch."""
    found = map_chunks(ops, lambda rows: find_openings(batch, rows), row_chunks(batch.X))
    starts, columns = (numpy.concatenate(parts) for parts in zip(*found, strict=True))
    stuck = columns == NO_ACTION
    labels = numpy.where(stuck, NO_LABEL, batch.actions.label_of[columns])
    is_open = batch.actions.opens[columns] & ~stuck
    ends = numpy.where(is_open, UNKNOWN, numpy.where(stuck, STUCK, starts + 1))

    def look(candidates: numpy.ndarray, first: int, width: int) -> numpy.ndarray:
        """Look for the ends of candidates, and return the candidates without one."""
        ends[candidates] = find_ends(batch, starts[candidates], labels[candidates], first, width)
        return candidates[ends[candidates] == UNKNOWN]

    candidates, tried = numpy.flatnonzero(is_open), 1
    for width in _FIRST_WIDTHS:
        if len(candidates):
            candidates = look(candidates, tried, width)
        tried += width
    taken = _walk(starts, ends, batch.rules.ends, lambda some: _follow(some, tried, look))
    return Entities(starts[taken], ends[taken], labels[taken])


def find_openings(batch: Batch, rows: slice) -> Openings:
    """Find where the best action outside is neither O nor U-, among some tokens."""
    scores = outside_scores(batch, rows)
    xp = get_array_module(scores)
    best = scores.argmax(axis=1)
    stays = xp.asarray(batch.actions.stays[batch.actions.outside])
    is_open = ~stays[best]
    if batch.rules.has_entities:  # otherwise some action is valid at every token
        is_open |= scores.max(axis=1) == -numpy.inf
    (tokens,) = xp.nonzero(is_open)
    columns = batch.actions.outside[to_numpy(best[tokens])]
    if batch.rules.has_entities:
        stuck = to_numpy(scores[tokens].max(axis=1) == -numpy.inf)
        columns[stuck] = NO_ACTION
    return Openings(to_numpy(tokens) + (rows.start or 0), columns)


def find_ends(
    batch: Batch, starts: numpy.ndarray, labels: numpy.ndarray, first: int, width: int
) -> numpy.ndarray:
    """Find where candidates end, among `width` tokens from the `first`-th after their start on.

    starts, labels (M,) int64: The first token and the label of each candidate.

    Returns (M,) int64: The ends, `UNKNOWN` or `STUCK`.
    """
    tokens = starts[:, None] + numpy.arange(first, first + width)
    within = tokens < batch.rules.ends[starts][:, None]
    candidate, _ = within.nonzero()
    tokens = tokens[within]
    steps = valid_inside(batch.rules, batch.actions, tokens, labels[candidate])
    closes = closes_at(batch, starts[candidate], tokens, steps)
    stuck = (steps.I == NO_ACTION) & (steps.L == NO_ACTION)
    stops = numpy.zeros(within.shape, dtype=bool)
    stops[within] = closes | stuck
    ends = numpy.where(stops.any(axis=1), starts + first + stops.argmax(axis=1) + 1, UNKNOWN)
    if stuck.any():
        is_stuck = numpy.zeros(within.shape, dtype=bool)
        is_stuck[within] = stuck
        at_stop = is_stuck[numpy.arange(len(starts)), stops.argmax(axis=1)]
        ends[at_stop] = STUCK
    return ends


def closes_at(
    batch: Batch, starts: numpy.ndarray, tokens: numpy.ndarray, steps: Steps
) -> numpy.ndarray:
    """Tell whether L is the better action of R states in entities, (R,) bool, on the host."""
    closes = steps.L != NO_ACTION
    (open_to_both,) = numpy.nonzero(closes & (steps.I != NO_ACTION))
    if len(open_to_both):
        both = Steps(steps.I[open_to_both], steps.L[open_to_both])
        scores = inside_scores(batch, starts[open_to_both], tokens[open_to_both], both)
        # Of equal scores, spaCy takes the action whose column comes first
        ties = get_array_module(scores.I).asarray(both.L < both.I)
        ahead = (scores.L > scores.I) | ((scores.L == scores.I) & ties)
        closes[open_to_both] = to_numpy(ahead)
    return closes


def _follow(candidates: numpy.ndarray, tried: int, look: Callable[..., numpy.ndarray]) -> None:
    """Find the ends of a few candidates, however long they are."""
    width = _FIRST_WIDTHS[-1]
    while len(candidates):
        width = min(2 * width, _LONGEST_WIDTH)
        candidates = look(candidates, tried, width)
        tried += width


def _walk(
    starts: numpy.ndarray,
    ends: numpy.ndarray,
    ends_of_docs: numpy.ndarray,
    find_ends: Callable[[numpy.ndarray], None],
) -> numpy.ndarray:
    """Take candidates from left to right, without those that begin within an entity.

    starts, ends (M,) int64: In order. An end may be UNKNOWN until `find_ends` has set it.
    ends_of_docs (N,) int64: Where the doc of each token ends.

    Returns the numbers of those taken, in order.
    """
    begins, stops = starts.tolist(), ends_of_docs[starts].tolist()
    taken: list[int] = []
    parts = [(0, len(begins))]  # of the candidates: first all, then the rest of some docs
    while parts:
        waiting: list[int] = []
        found = ends.tolist()
        for first, last in parts:
            free = 0  # the first token that is in no entity yet
            for number in range(first, last):
                if begins[number] < free:
                    continue
                end = found[number]
                if end >= 0:
                    taken.append(number)
                    free = end
                else:
                    free = stops[number]
                    if end == UNKNOWN:
                        waiting.append(number)
        if waiting:
            find_ends(numpy.array(waiting))
        parts = [(number, bisect_left(begins, stops[number], number)) for number in waiting]
    return numpy.array(sorted(taken), dtype="int64")
