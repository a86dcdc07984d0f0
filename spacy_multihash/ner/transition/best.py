"""The most probable sequence of actions (Viterbi), over the candidates of the exact probabilities.

The best sequence that is outside of entities before a token extends the best sequence before an
earlier token, by a token outside or by an entity.
"""

from typing import NamedTuple

import numpy

from ..biluo import Entities, as_entities
from .probabilities import CHUNK, LEAST_MASS, extend, log_masses, outside_probabilities
from .rules import NO_ACTION, NO_LABEL
from .states import Batch, find_entities


class Arcs(NamedTuple):
    """A arcs, each from a token to another, outside of entities before both.

    starts, ends (A,) int64: The tokens.
    labels (A,) int64: The label of the entity [start, end), `NO_LABEL` for none.
    logs (A,) float64: The log of the probability, given the start.
    """

    starts: numpy.ndarray
    ends: numpy.ndarray
    labels: numpy.ndarray
    logs: numpy.ndarray


def find_best(batch: Batch, temperature: float = 1.0, least: float = LEAST_MASS) -> Entities:
    """Find the entities of the most probable sequence of each doc of a batch.

    Ties go to the action of the first column, as in greedy. Greedy's entities are candidates
    whatever their mass, so the result is at least as probable as greedy's.

    temperature (float): Scores are divided by it.
    least (float): Candidates with less mass are not followed.
    """
    N = len(batch.X)
    greedy = find_entities(batch)
    of_greedy = Arcs(*greedy, log_masses(batch, greedy, temperature))
    begins = {0, *batch.rules.doc_ends.tolist()}
    logs = [-numpy.inf] * (N + 1)
    backs = list(range(-1, N))  # where the best arc comes from
    labels = [NO_LABEL] * (N + 1)
    for first in range(0, N, CHUNK):
        tokens = numpy.arange(first, min(first + CHUNK, N))
        of_tokens = slice(*numpy.searchsorted(greedy.starts, [first, first + len(tokens)]))
        arcs = _arcs_from(batch, tokens, temperature, least)
        arcs.append(Arcs(*(column[of_tokens] for column in of_greedy)))
        joined = Arcs(*map(numpy.concatenate, zip(*arcs, strict=True)))
        order = joined.starts.argsort(kind="stable")
        for start, end, label, log in zip(*(x[order].tolist() for x in joined), strict=True):
            whole = log if start in begins else logs[start] + log
            if whole > logs[end]:
                logs[end], backs[end], labels[end] = whole, start, label
    entities, end = [], N
    for begin in sorted(begins - {N}, reverse=True):
        while end > begin:
            if labels[end] != NO_LABEL:
                entities.append((backs[end], end, labels[end]))
            end = backs[end]
    return as_entities(entities[::-1])


def _arcs_from(batch: Batch, tokens: numpy.ndarray, temperature: float, least: float) -> list[Arcs]:
    """List the arcs that begin with some tokens, only for the best label.

    Sequences without a valid action lead to the ends of their docs, as in spaCy.
    """
    actions, ends_of = batch.actions, batch.rules.ends_of
    P = outside_probabilities(batch, tokens, temperature)
    others = P.copy()
    others[:, actions.B[actions.B != NO_ACTION]] = 0
    best = actions.label_of[others.argmax(axis=1)]
    is_stuck = (~P.any(axis=1)).astype("float64")
    arcs = [
        _arcs(tokens, tokens + 1, best, others.max(axis=1)),
        _arcs(tokens, ends_of(tokens), numpy.full(len(tokens), NO_LABEL), is_stuck),
    ]
    for starts, ends, ending, _, stuck in extend(batch, tokens, P, temperature, least):
        arcs.append(_arcs(starts, ends, ending.argmax(axis=1), ending.max(axis=1)))
        none = numpy.full(len(starts), NO_LABEL)
        arcs.append(_arcs(starts, ends_of(starts), none, stuck.max(axis=1)))
    return arcs


def _arcs(
    starts: numpy.ndarray, ends: numpy.ndarray, labels: numpy.ndarray, masses: numpy.ndarray
) -> Arcs:
    """List arcs with a mass above 0."""
    (rows,) = masses.nonzero()
    return Arcs(starts[rows], ends[rows], labels[rows], numpy.log(masses[rows]))
