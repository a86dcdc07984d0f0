"""Exact probabilities of entities, as sums over all sequences of actions.

A state is a token and, while an entity is open, the token and the label that it began with. So all
sequences that come to be outside of entities at a token are alike from there on:

    out(i)          the probability that no entity is open before the token i; 1 for i = 0
    P(s..e, x)    = out(s) p(B-x at s) p(I-x) ... p(I-x) p(L-x at e)      p(U-x at s) for s = e
    out(i + 1)    = out(i) p(O at i) + the sum of P over all entities that end with i
"""

from collections.abc import Sequence
from typing import NamedTuple, Optional

import numpy
from thinc.api import Ops, to_numpy

from ...compute.chunks import row_chunks
from ...compute.threads import map_few
from ..biluo import Entities
from .actions import NO_LABEL
from .candidates import LEAST_MASS, Choice, Round, begin_candidates, extend, open_and_other
from .log_masses import log_masses_of
from .scores import Batch


class Found(NamedTuple):
    """M entities and their probabilities, in any order.

    entities (Entities): The entities.
    probabilities (M,) float64: Those of each.
    """

    entities: Entities
    probabilities: numpy.ndarray


class Lattice(NamedTuple):
    """What is known of all sequences of actions of N tokens.

    outside (N,) float64: The probability that no entity is open before each token.
    left_out (D,) float64: Of each doc that has tokens, the mass of what was not followed to its
        end. No probability of the doc is wrong by more.
    probabilities (E,) float64: Those of the entities that were asked for.
    candidates (Found): All entities that are probable enough.
    """

    outside: numpy.ndarray
    left_out: numpy.ndarray
    probabilities: numpy.ndarray
    candidates: Found


class Chunk(NamedTuple):
    """What R tokens in a row lead to, if no entity is open before them, on the host.

    rows (slice): The tokens.
    steps (R,) float64: The probability that none is open before the next token either.
    cut (R,) float64: The mass of candidates that begin with each token and are not followed.
    starts, ends (A,) int64, masses (A,) float64: From where to where entities of several tokens go,
        and their mass, summed over labels; in the order of starts.
    candidates (Found): Entities of enough mass, with their masses in place of probabilities.
    """

    rows: slice
    steps: numpy.ndarray
    cut: numpy.ndarray
    starts: numpy.ndarray
    ends: numpy.ndarray
    masses: numpy.ndarray
    candidates: Found


def entity_probabilities(
    batch: Batch, ops: Ops, entities: Entities, temperature: float = 1.0
) -> numpy.ndarray:
    """Compute the probabilities of E entities of a batch, (E,) float64.

    temperature (float): Scores are divided by it.
    """
    return build_lattice(batch, ops, entities, temperature).probabilities


def build_lattice(
    batch: Batch,
    ops: Ops,
    entities: Entities,
    temperature: float = 1.0,
    above: Optional[float] = None,
    least: float = LEAST_MASS,
) -> Lattice:
    """Sum over all sequences of actions.

    entities (Entities): E entities of the batch, whose probabilities are asked for.
    temperature (float): Scores are divided by it.
    above (Optional[float]): List all entities of at least this probability. Null lists none.
    least (float): Candidates with less mass are not followed, or of less than `above`. Above 0.
    """
    least = min(least, above or least)
    walk = _Walk(batch.rules.ends)
    candidates: list[Found] = []

    def look(rows: slice) -> Chunk:
        return _look(batch, rows, temperature, above, least)

    for _, chunk in map_few(ops, look, row_chunks(batch.X)):
        walk.add(chunk)
        if above is not None:
            candidates.append(_at_least(above, walk.weigh(chunk.candidates)))
    masses = numpy.exp(log_masses_of(batch, ops, entities, temperature))
    asked = walk.weigh(Found(entities, masses)).probabilities
    return Lattice(walk.outside, walk.left_out(), asked, _join(candidates))


def _look(
    batch: Batch, rows: slice, temperature: float, above: Optional[float], least: float
) -> Chunk:
    """Find what some tokens lead to, and the entities of at least the mass `above`."""
    opens, others = open_and_other(batch, rows, temperature)
    cut = to_numpy((opens.P * (opens.P < least)).sum(axis=1))
    steps = to_numpy(others.P.sum(axis=1)) + cut
    candidates = [] if above is None else [_units(others, rows, above)]
    arcs = [numpy.zeros((3, 0))]
    for found in extend(batch, begin_candidates(opens, rows, least), rows, temperature, least):
        masses = numpy.add.reduceat(found.closing + found.cut, found.groups, axis=0)
        start, _ = some = masses.nonzero()
        arcs.append(numpy.stack([found.starts[start], found.ends[some], masses[some]]))
        cut_of = numpy.add.reduceat(found.cut.sum(axis=1), found.groups)
        cut[found.starts - rows.start] += cut_of
        if above is not None:
            candidates.append(_at_least(above, _entities(found)))
    starts, ends, masses = numpy.concatenate(arcs, axis=1)
    order = starts.argsort(kind="stable")
    starts, ends = starts[order].astype("int64"), ends[order].astype("int64")
    return Chunk(rows, steps, cut, starts, ends, masses[order], _join(candidates))


def _units(others: Choice, rows: slice, above: float) -> Found:
    """List the entities of one token that have at least the mass `above`."""
    found = (others.P >= above).nonzero()
    masses = to_numpy(others.P[found])
    starts, columns = map(to_numpy, found)
    labels, starts = others.labels[columns], starts + rows.start
    is_U = labels != NO_LABEL
    entities = Entities(starts[is_U], starts[is_U] + 1, labels[is_U])
    return Found(entities, masses[is_U])


def _entities(found: Round) -> Found:
    """List all entities of a round, and their masses."""
    shape = found.closing.shape
    group = found.group_of
    starts = numpy.broadcast_to(found.starts[group][:, None], shape)
    labels = numpy.broadcast_to(found.labels[:, None], shape)
    entities = Entities(starts.ravel(), found.ends[group].ravel(), labels.ravel())
    return Found(entities, found.closing.ravel())


def _at_least(above: float, found: Found) -> Found:
    """Keep the entities of at least a probability."""
    kept = found.probabilities >= above
    return Found(Entities(*(part[kept] for part in found.entities)), found.probabilities[kept])


def _join(parts: Sequence[Found]) -> Found:
    """Join lists of entities, in the order of starts, ends and labels."""
    if not parts:
        return Found(Entities(*numpy.zeros((3, 0), dtype="int64")), numpy.zeros(0))
    columns = zip(*(part.entities for part in parts), strict=True)
    entities = Entities(*map(numpy.concatenate, columns))
    order = numpy.lexsort(entities[::-1])
    probabilities = numpy.concatenate([part.probabilities for part in parts])
    return Found(Entities(*(column[order] for column in entities)), probabilities[order])


class _Walk:
    """Adds up the mass that comes to each token, chunk by chunk."""

    def __init__(self, ends: numpy.ndarray) -> None:
        """Begin before the first token.

        ends (N,) int64: Where each token's doc ends.
        """
        self.begins = numpy.append(True, ends[1:] != ends[:-1])
        self.doc_of = self.begins.cumsum() - 1
        self.outside = numpy.zeros(len(ends))
        # What comes to each token, and to the end; what came to the ends of docs; what was cut
        self.coming = [0.0] * (len(ends) + 1)
        self.arrived: list[float] = []
        self.cut = numpy.zeros(self.doc_of[-1] + 1)

    def add(self, chunk: Chunk) -> None:
        """Go on to the next tokens."""
        rows, coming = chunk.rows, self.coming
        begins, steps = self.begins[rows].tolist(), chunk.steps.tolist()
        ends, masses = chunk.ends.tolist(), chunk.masses.tolist()
        firsts = numpy.searchsorted(chunk.starts, range(rows.start, rows.stop + 1)).tolist()
        for i, token in enumerate(range(rows.start, rows.stop)):
            if begins[i]:
                self.arrived.append(coming[token])
                coming[token] = 1.0
            here = coming[token]
            coming[token + 1] += here * steps[i]
            for arc in range(firsts[i], firsts[i + 1]):
                coming[ends[arc]] += here * masses[arc]
        self.outside[rows] = coming[rows]
        numpy.add.at(self.cut, self.doc_of[rows], self.outside[rows] * chunk.cut)

    def weigh(self, found: Found) -> Found:
        """Turn masses into probabilities."""
        return Found(found.entities, self.outside[found.entities.starts] * found.probabilities)

    def left_out(self) -> numpy.ndarray:
        """Return the mass that was cut, or got stuck, (D,) float64."""
        arrived = numpy.array([*self.arrived[1:], self.coming[-1]])
        return numpy.clip(self.cut + 1 - arrived, 0, 1)
