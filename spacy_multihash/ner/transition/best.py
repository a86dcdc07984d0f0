"""The most probable sequence of actions (Viterbi), over the candidates of the exact probabilities.

The best sequence that is outside of entities before a token is made of the best one before an
earlier token, and of what lies between: a token outside, or an entity.
"""

from typing import NamedTuple

import numpy

from ..biluo import Entities
from .decode import find_entities
from .probabilities import CHUNK, LEAST_MASS, extend, log_masses, outside_probabilities
from .rules import NO_LABEL
from .states import Batch


class Arcs(NamedTuple):
    """A ways, each from one token to another, outside of entities before both.

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

    Of equally probable actions, the one of the first column is taken, as greedy does. Greedy's
    entities are candidates whatever their mass: so no sequence is less probable than greedy's.

    temperature (float): Scores are divided by it.
    least (float): Candidates with less mass are not followed.
    """
    N, doc_ends = len(batch.X), batch.rules.doc_ends
    greedy = find_entities(batch)
    of_greedy = Arcs(*greedy, log_masses(batch, greedy, temperature))
    begins = {0, *doc_ends.tolist()}
    logs = [-numpy.inf] * (N + 1)
    backs = list(range(-1, N))  # from where the best way comes
    labels = [NO_LABEL] * (N + 1)
    for first in range(0, N, CHUNK):
        tokens = numpy.arange(first, min(first + CHUNK, N))
        some = slice(*numpy.searchsorted(greedy.starts, [first, first + len(tokens)]))
        arcs = _arcs_from(batch, tokens, temperature, least)
        arcs.append(Arcs(*(column[some] for column in of_greedy)))
        joined = Arcs(*map(numpy.concatenate, zip(*arcs, strict=True)))
        order = joined.starts.argsort(kind="stable")
        at = -1
        for start, end, label, log in zip(*(x[order].tolist() for x in joined), strict=True):
            if start != at:
                at = start
                here = 0.0 if at in begins else logs[at]
            if here + log > logs[end]:
                logs[end], backs[end], labels[end] = here + log, at, label
    return _trace(backs, labels, sorted(begins - {N}))


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


def _arcs_from(batch: Batch, tokens: numpy.ndarray, temperature: float, least: float) -> list[Arcs]:
    """List the ways that begin with some tokens, of several labels only the best.

    Sequences for which no action is valid lead to the ends of their docs, as in spaCy.
    """
    actions, ends_of = batch.actions, batch.rules.ends_of
    P = outside_probabilities(batch, tokens, temperature)
    others = P.copy()
    others[:, actions.B[actions.B >= 0]] = 0
    best = others.argmax(axis=1)
    none = numpy.full(len(tokens), NO_LABEL)
    is_stuck = (~P.any(axis=1)).astype("float64")
    arcs = [
        _arcs(tokens, tokens + 1, actions.label_of[best], others.max(axis=1)),
        _arcs(tokens, ends_of(tokens), none, is_stuck),
    ]
    for starts, ends, ending, _, stuck in extend(batch, tokens, P, temperature, least):
        none = numpy.full(len(starts), NO_LABEL)
        arcs.append(_arcs(starts, ends, ending.argmax(axis=1), ending.max(axis=1)))
        arcs.append(_arcs(starts, ends_of(starts), none, stuck.max(axis=1)))
    return arcs


def _arcs(
    starts: numpy.ndarray, ends: numpy.ndarray, labels: numpy.ndarray, masses: numpy.ndarray
) -> Arcs:
    """List ways, but for those of no mass."""
    (some,) = masses.nonzero()
    return Arcs(starts[some], ends[some], labels[some], numpy.log(masses[some]))
