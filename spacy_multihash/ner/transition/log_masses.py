"""The probabilities of given entities, if no entity is open before them."""

import numpy
from thinc.api import Ops, get_array_module, to_numpy

from ...compute.chunks import row_chunks
from ...compute.threads import map_chunks
from ..biluo import Entities
from .actions import NO_ACTION
from .candidates import closing_lead, outside_probabilities
from .rules import Steps, valid_inside
from .scores import Batch, inside_scores


def log_masses_of(
    batch: Batch, ops: Ops, entities: Entities, temperature: float = 1.0
) -> numpy.ndarray:
    """Compute log(p(B) p(I) ... p(L)), or log(p(U)), of E entities of a batch.

    temperature (float): Scores are divided by it.

    Returns (E,) float64, -inf for entities that are not valid.
    """
    if not len(entities.starts):
        return numpy.zeros(0)
    lengths = entities.ends - entities.starts
    states = numpy.repeat(numpy.arange(len(lengths)), lengths - 1)
    # 1, 2, ... within each entity: the tokens after the first
    after = numpy.arange(1, len(states) + 1) - numpy.repeat(
        (lengths - 1).cumsum() - lengths + 1, lengths - 1
    )
    starts, labels = entities.starts[states], entities.labels[states]
    tokens = starts + after
    is_last = tokens == entities.ends[states] - 1

    def of_inside(rows: slice) -> numpy.ndarray:
        steps = valid_inside(batch.rules, batch.actions, tokens[rows], labels[rows])
        scores = inside_scores(batch, starts[rows], tokens[rows], steps)
        return _log_probabilities(scores, steps, is_last[rows], temperature)

    def of_first(rows: slice) -> numpy.ndarray:
        some = entities.labels[rows]
        actions = batch.actions
        columns = numpy.where(lengths[rows] == 1, actions.U[some], actions.B[some])
        P = outside_probabilities(batch, entities.starts[rows], temperature)
        places = numpy.searchsorted(actions.outside, columns)  # of NO_ACTION it is 0
        xp = get_array_module(P)
        found = to_numpy(P[xp.arange(len(columns)), xp.asarray(places)])
        with numpy.errstate(divide="ignore"):
            return numpy.log(numpy.where(columns == NO_ACTION, 0, found))

    first = map_chunks(ops, of_first, row_chunks(lengths))
    inside = map_chunks(ops, of_inside, row_chunks(states))
    masses = numpy.concatenate(first)
    if inside:
        masses += numpy.bincount(states, numpy.concatenate(inside), len(masses))
    return masses


def _log_probabilities(
    scores: Steps, steps: Steps, closes: numpy.ndarray, temperature: float
) -> numpy.ndarray:
    """Compute the log of p(L) where an entity closes, and of p(I) elsewhere, (R,) float64."""
    xp, ahead = get_array_module(scores.L), closing_lead(scores, temperature)
    # Of two probabilities, that of the one that is behind by b is 1 / (1 + exp(b))
    behind = to_numpy(xp.where(xp.asarray(closes), -ahead, ahead))
    wanted = numpy.where(closes, steps.L, steps.I)
    other = numpy.where(closes, steps.I, steps.L)
    logs = -numpy.logaddexp(0, behind)
    logs[other == NO_ACTION] = 0
    logs[wanted == NO_ACTION] = -numpy.inf
    return logs
