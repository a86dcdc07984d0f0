"""The most probable sequence of actions (Viterbi), over the candidates of the exact probabilities.

The best sequence that is outside of entities before a token is made of the best one before an
earlier token, and of what lies between: a token outside, or an entity.
"""

from typing import NamedTuple

import numpy
from thinc.api import Ops, get_array_module, to_numpy

from ...compute.chunks import row_chunks
from ...compute.threads import map_few
from ..biluo import Entities
from .actions import NO_LABEL
from .candidates import LEAST_MASS, Round, begin_candidates, extend, open_and_other
from .greedy import find_entities
from .log_masses import log_masses_of
from .scores import Batch


class Arcs(NamedTuple):
    """A ways, each from one token to another, outside of entities before both, by their starts.

    starts, ends (A,) int64: The tokens.
    labels (A,) int64: The label of the entity [start, end), `NO_LABEL` for none.
    logs (A,) float64: The log of the probability, given the start.
    """

    starts: numpy.ndarray
    ends: numpy.ndarray
    labels: numpy.ndarray
    logs: numpy.ndarray


def find_best(
    batch: Batch, ops: Ops, temperature: float = 1.0, least: float = LEAST_MASS
) -> Entities:
    """Find the entities of the most probable sequence of each doc of a batch.

    Of equally probable actions, the one of the first column is taken, as greedy does. Greedy's
    entities are candidates whatever their mass: so no sequence is less probable than greedy's.

    temperature (float): Scores are divided by it.
    least (float): Candidates with less mass are not followed.
    """
    greedy = find_entities(batch, ops)
    of_greedy = Arcs(*greedy, log_masses_of(batch, ops, greedy, temperature))

    def look(rows: slice) -> Arcs:
        some = slice(*numpy.searchsorted(greedy.starts, [rows.start, rows.stop]))
        more = Arcs(*(part[some] for part in of_greedy))
        return _join([*_arcs_of(batch, rows, temperature, least), more])

    ends = batch.rules.ends
    begins = numpy.append(True, ends[1:] != ends[:-1]).tolist()
    logs = [-numpy.inf] * (len(ends) + 1)
    backs = list(range(-1, len(ends)))  # from where the best way comes
    labels = [NO_LABEL] * (len(ends) + 1)
    for _, arcs in map_few(ops, look, row_chunks(batch.X)):
        at = -1
        for start, end, label, log in zip(*(part.tolist() for part in arcs), strict=True):
            if start != at:
                at = start
                here = 0.0 if begins[at] else logs[at]
            if here + log > logs[end]:
                logs[end], backs[end], labels[end] = here + log, at, label
    return _trace(backs, labels, numpy.flatnonzero(begins).tolist())


def _trace(backs: list[int], labels: list[int], begins: list[int]) -> Entities:
    """Follow the best ways back from the ends of docs to their begins."""
    found, end = [], len(backs) - 1
    for begin in reversed(begins):
        while end > begin:
            start = backs[end]
            if labels[end] != NO_LABEL:
                found.append((start, end, labels[end]))
            end = start
    return Entities(*numpy.array(found[::-1], dtype="int64").reshape(-1, 3).T)


def _arcs_of(batch: Batch, rows: slice, temperature: float, least: float) -> list[Arcs]:
    """List the ways that begin with some tokens, of several labels only the best."""
    opens, others = open_and_other(batch, rows, temperature)
    xp = get_array_module(others.P)
    best = others.P.argmax(axis=1)
    P = to_numpy(others.P[xp.arange(len(best)), best])
    tokens = numpy.arange(rows.start, rows.stop)
    arcs = [_ways(tokens, tokens + 1, others.labels[to_numpy(best)], P)]
    if batch.rules.has_entities:
        arcs.append(
            _stuck(batch, tokens, 1.0 - to_numpy(opens.P.any(axis=1) | others.P.any(axis=1)))
        )
    for found in extend(batch, begin_candidates(opens, rows, least), rows, temperature, least):
        arcs += [_ends(found), _stuck(batch, found.starts[found.group_of], found.stuck.max(axis=1))]
    return arcs


def _ends(found: Round) -> Arcs:
    """List the entities of a round, of those of the same tokens only the best."""
    mass = numpy.maximum.reduceat(found.closing, found.groups, axis=0)
    is_best = found.closing == mass[found.group_of]
    numbers = numpy.arange(len(found.labels))[:, None]
    first = numpy.minimum.reduceat(
        numpy.where(is_best, numbers, len(numbers)), found.groups, axis=0
    )
    starts = numpy.broadcast_to(found.starts[:, None], mass.shape)
    return _ways(starts, found.ends, found.labels[first], mass)


def _stuck(batch: Batch, starts: numpy.ndarray, masses: numpy.ndarray) -> Arcs:
    """Lead sequences for which no action is valid to the ends of their docs, as spaCy does."""
    labels = numpy.full(len(starts), NO_LABEL)
    return _ways(starts, batch.rules.ends[starts], labels, masses)


def _ways(
    starts: numpy.ndarray, ends: numpy.ndarray, labels: numpy.ndarray, masses: numpy.ndarray
) -> Arcs:
    """List ways of any shape, but for those of no mass."""
    some = masses.nonzero()
    return Arcs(starts[some], ends[some], labels[some], numpy.log(masses[some]))


def _join(parts: list[Arcs]) -> Arcs:
    """Join lists of ways."""
    starts, ends, labels, logs = map(numpy.concatenate, zip(*parts, strict=True))
    order = starts.argsort(kind="stable")
    return Arcs(starts[order], ends[order], labels[order], logs[order])
