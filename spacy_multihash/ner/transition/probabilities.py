"""Exact probabilities of entities, as sums over all sequences of actions.

The probability of an action is the softmax of the scores of all actions that are valid in its
state. A state is a token and, while an entity is open, the token and the label that it began with.
So all sequences that are outside of entities before a token are alike from there on:

    out(i)          the probability that no entity is open before the token i; 1 for i = 0
    P(s..e, x)    = out(s) p(B-x at s) p(I-x) ... p(I-x) p(L-x at e)      p(U-x at s) for s = e
    out(i + 1)    = out(i) p(O at i) + the sum of P over all entities that end with i

An entity without out(s) is its *mass*. Entities that have begun, the candidates, are extended token
by token, all those of some tokens at once, until little mass is left. Of what has too little, the
tokens are taken to be outside again: so nothing is lost for later tokens, and how much it was is
known.
"""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, Optional

import numpy
from spacy.tokens import Doc

from ..biluo import Entities
from ..docs import Confidences, confidences_of, set_confidences, spans_of
from .rules import NO_ACTION, NO_LABEL, Steps, valid_inside, valid_outside
from .states import Batch, score_states

# Candidates with less mass are not followed.
LEAST_MASS = 1e-6
# The same where probabilities are asked for, whose log-odds are right then.
LEAST_MASS_ASKED = 1e-12
# How many tokens the candidates begin with that are followed at once, so that memory doesn't grow
# with the batch.
CHUNK = 512


class Found(NamedTuple):
    """M entities and their probabilities, in any order.

    entities (Entities): The entities.
    probabilities (M,) float64: The probability of each.
    """

    entities: Entities
    probabilities: numpy.ndarray


class Lattice(NamedTuple):
    """What is known of all sequences of actions of N tokens.

    outside (N,) float64: The probability that no entity is open before each token.
    left_out (D,) float64: Of each doc, the mass of what was not followed to its end. No probability
        of the doc is wrong by more.
    probabilities (E,) float64: The probabilities of the entities that were asked for.
    candidates (Found): All entities that are probable enough, in order.
    """

    outside: numpy.ndarray
    left_out: numpy.ndarray
    probabilities: numpy.ndarray
    candidates: Found


class SpanProbabilities(NamedTuple):
    """Probabilities of entities of a batch of D docs.

    confidences: Of each doc, the probabilities of the entities found, and of candidates.
    candidates (Entities): All entities that are probable enough, found or not, in order.
    left_out (D,) float64: No probability of a doc is wrong by more.
    """

    confidences: list[Confidences]
    candidates: Entities
    left_out: numpy.ndarray


class Extended(NamedTuple):
    """Candidates that begin with S tokens, and one more token of each, for K labels.

    starts, ends (S,) int64: The first token, and the one after the next token.
    ending (S, K) float64: The mass of the entities that end with the next token.
    cut (S, K) float64: The mass that goes on, but is too small.
    stuck (S, K) float64: The mass for which no action is valid.
    """

    starts: numpy.ndarray
    ends: numpy.ndarray
    ending: numpy.ndarray
    cut: numpy.ndarray
    stuck: numpy.ndarray


def span_probabilities(
    docs: Sequence[Doc],
    batch: Batch,
    entities: Entities,
    temperature: float,
    above: Optional[float],
) -> SpanProbabilities:
    """Compute the probabilities of entities of docs, and list other candidates.

    docs (Sequence[Doc]): The docs of the batch.
    above (Optional[float]): List all entities of at least this probability. None lists none.
    """
    lattice = build_lattice(batch, entities, temperature, above)
    labels = batch.actions.labels
    confidences: list[Confidences] = [{} for _ in docs]
    for some, probabilities in ((entities, lattice.probabilities), lattice.candidates):
        found = confidences_of(docs, some, probabilities, labels)
        for of_doc, more in zip(confidences, found, strict=True):
            of_doc.update(more)
    return SpanProbabilities(confidences, lattice.candidates.entities, lattice.left_out)


def no_probabilities(docs: Sequence[Doc]) -> SpanProbabilities:
    """Return the probabilities of docs without tokens."""
    return SpanProbabilities([{} for _ in docs], _no_entities().entities, numpy.zeros(len(docs)))


def set_span_probabilities(
    docs: Sequence[Doc], found: SpanProbabilities, labels: Sequence[str], spans_key: str
) -> None:
    """Put doc.ents and the other candidates into doc.spans[spans_key], with their scores.

    Its attrs get "scores", (M,) float32, and "left_out", a float.

    labels (Sequence[str]): The labels of the recognizer.
    """
    candidates = spans_of(docs, found.candidates, labels)
    for i, doc in enumerate(docs):
        entities = {(ent.start, ent.end, ent.label) for ent in doc.ents}
        others = [
            span for span in candidates[i] if (span.start, span.end, span.label) not in entities
        ]
        set_confidences(doc, found.confidences[i], set(labels), spans_key, others)
        doc.spans[spans_key].attrs["left_out"] = float(found.left_out[i])


def build_lattice(
    batch: Batch,
    entities: Entities,
    temperature: float = 1.0,
    above: Optional[float] = None,
    least: float = LEAST_MASS,
) -> Lattice:
    """Sum over all sequences of actions.

    entities (Entities): E entities of the batch, whose probabilities are asked for.
    temperature (float): Scores are divided by it.
    above (Optional[float]): List all entities of at least this probability. None lists none.
    least (float): Candidates with less mass are not followed, or of less than `above`. Above 0.
    """
    least = min(least, above or least)
    N, doc_ends = len(batch.X), batch.rules.doc_ends
    lengths = numpy.diff(doc_ends, prepend=0)
    begins = numpy.zeros(N + 1, dtype=bool)
    begins[(doc_ends - lengths)[lengths > 0]] = True
    coming = numpy.zeros(N + 1)  # what comes to each token, and to the end
    arrived = numpy.zeros(N + 1)  # what came to the end of the doc before each token
    cut = numpy.zeros(N)
    candidates = [_no_entities()]
    for first in range(0, N, CHUNK):
        tokens = numpy.arange(first, min(first + CHUNK, N))
        P = outside_probabilities(batch, tokens, temperature)
        opens = P[:, batch.actions.B] * (batch.actions.B != NO_ACTION)
        cut[tokens] = numpy.where(opens < least, opens, 0).sum(axis=1)
        stays = _stay(P, batch) + cut[tokens]
        listed = [] if above is None else [_units(tokens, P, batch, above)]
        arcs = [numpy.zeros((3, 0))]
        for found in extend(batch, tokens, P, temperature, least):
            too_small = found.cut.sum(axis=1)
            cut[found.starts] += too_small
            masses = found.ending.sum(axis=1) + too_small
            arcs.append(numpy.stack([found.starts, found.ends, masses]))
            if above is not None:
                listed.append(_ending(found, above))
        starts, ends, masses = numpy.concatenate(arcs, axis=1)
        order = starts.argsort(kind="stable")
        bounds = numpy.searchsorted(starts[order], numpy.append(tokens, tokens[-1] + 1)).tolist()
        ends, masses = ends[order].astype("int64"), masses[order]
        for number, (token, stay) in enumerate(zip(tokens.tolist(), stays.tolist(), strict=True)):
            if begins[token]:
                arrived[token], coming[token] = coming[token], 1.0
            here = coming[token]
            coming[token + 1] += here * stay
            of_token = slice(bounds[number], bounds[number + 1])
            coming[ends[of_token]] += here * masses[of_token]
        candidates += [_at_least(above or 0.0, found, coming) for found in listed]
    arrived[N] = coming[N]
    outside = coming[:N]
    left_out = numpy.zeros(len(lengths))
    (full,) = lengths.nonzero()
    left_out[full] = (
        numpy.add.reduceat(outside * cut, (doc_ends - lengths)[full]) + 1 - arrived[doc_ends[full]]
    )
    masses = numpy.exp(log_masses(batch, entities, temperature))
    return Lattice(
        outside,
        left_out.clip(0, 1),
        outside[entities.starts] * masses,
        _join(candidates),
    )


def entity_probabilities(
    batch: Batch, entities: Entities, temperature: float = 1.0
) -> numpy.ndarray:
    """Compute the probabilities of E entities of a batch, (E,) float64."""
    return build_lattice(batch, entities, temperature, least=LEAST_MASS_ASKED).probabilities


# Probabilities of actions


def outside_probabilities(batch: Batch, tokens: numpy.ndarray, temperature: float) -> numpy.ndarray:
    """Compute the probabilities of actions at R tokens if no entity is open, (R, nO) float64.

    The probability of an action that is not valid is 0.
    """
    scores = score_states(batch, tokens, numpy.full_like(tokens, -1)).astype("float64")
    valid = valid_outside(batch.rules, batch.actions, tokens)
    scores[~valid] = -numpy.inf
    highest = scores.max(axis=1, keepdims=True)
    scores -= numpy.where(highest == -numpy.inf, 0, highest)
    with numpy.errstate(over="ignore"):  # of infinity too, the exponential is right
        P: numpy.ndarray = numpy.exp(scores / temperature)
    total = P.sum(axis=1, keepdims=True)
    P /= numpy.where(total == 0, 1, total)
    return P


def inside_probabilities(
    scores: numpy.ndarray, steps: Steps, temperature: float
) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Compute the probabilities of I and L in states in entities.

    scores (R, nO) float32: The scores of all actions.
    steps (Steps): The columns, (R, K) each.

    Returns (R, K) float64 each, 0 for what is not valid.
    """
    rows = numpy.arange(len(scores))[:, None]
    lead = scores[rows, steps.L].astype("float64") - scores[rows, steps.I]
    has_I, has_L = steps.I != NO_ACTION, steps.L != NO_ACTION
    lead[~has_I], lead[~has_L] = numpy.inf, -numpy.inf
    with numpy.errstate(over="ignore"):  # of infinity too, the exponential is right
        lead = lead / temperature
        return has_I / (1 + numpy.exp(lead)), has_L / (1 + numpy.exp(-lead))


def _stay(P: numpy.ndarray, batch: Batch) -> numpy.ndarray:
    """Sum the probabilities to be outside before the next token too: of U, O and U-, (R,)."""
    stays = batch.actions.label_of == NO_LABEL
    stays[batch.actions.U[batch.actions.U != NO_ACTION]] = True
    return P[:, stays].sum(axis=1)


# Candidates


def extend(
    batch: Batch, tokens: numpy.ndarray, P: numpy.ndarray, temperature: float, least: float
) -> Iterator[Extended]:
    """Extend the candidates that begin with some tokens while they have at least so much mass.

    P (S, nO) float64: The probabilities of actions there, if no entity is open.
    """
    actions, labels = batch.actions, numpy.arange(len(batch.actions.labels))
    starts, masses = tokens, P[:, actions.B] * (actions.B != NO_ACTION)
    masses = numpy.where(masses >= least, masses, 0)
    while True:
        alive = masses.any(axis=1)
        starts, tokens, masses = starts[alive], tokens[alive] + 1, masses[alive]
        if not len(starts):
            return
        scores = score_states(batch, tokens, starts)
        steps = valid_inside(batch.rules, actions, tokens[:, None], labels)
        goes_on, closes = inside_probabilities(scores, steps, temperature)
        after = masses * goes_on
        cut = numpy.where(after < least, after, 0)
        stuck = numpy.where((steps.I == NO_ACTION) & (steps.L == NO_ACTION), masses, 0)
        yield Extended(starts, tokens + 1, masses * closes, cut, stuck)
        masses = after - cut


def log_masses(batch: Batch, entities: Entities, temperature: float = 1.0) -> numpy.ndarray:
    """Compute log(p(B) p(I) ... p(L)), or log(p(U)), of E entities of a batch.

    Returns (E,) float64, -inf for entities that are not valid.
    """
    actions, lengths = batch.actions, entities.ends - entities.starts
    masses = numpy.zeros(len(lengths))
    columns = numpy.where(lengths == 1, actions.U[entities.labels], actions.B[entities.labels])
    with numpy.errstate(divide="ignore"):
        for first in range(0, len(lengths), CHUNK):
            some = slice(first, first + CHUNK)
            P = outside_probabilities(batch, entities.starts[some], temperature)
            P = P[numpy.arange(len(P)), columns[some]] * (columns[some] != NO_ACTION)
            masses[some] = numpy.log(P)
        for later in range(1, int(lengths.max(initial=1))):
            (longer,) = numpy.nonzero((lengths > later) & (masses > -numpy.inf))
            for first in range(0, len(longer), CHUNK):
                rows = longer[first : first + CHUNK]
                starts, tokens = entities.starts[rows], entities.starts[rows] + later
                steps = valid_inside(batch.rules, actions, tokens, entities.labels[rows])
                steps = Steps(*(columns[:, None] for columns in steps))
                scores = score_states(batch, tokens, starts)
                goes_on, closes = inside_probabilities(scores, steps, temperature)
                is_last = lengths[rows] == later + 1
                masses[rows] += numpy.log(numpy.where(is_last, closes[:, 0], goes_on[:, 0]))
    return masses


# Lists of entities


def _no_entities() -> Found:
    return Found(Entities(*numpy.zeros((3, 0), dtype="int64")), numpy.zeros(0))


def _units(tokens: numpy.ndarray, P: numpy.ndarray, batch: Batch, above: float) -> Found:
    """List the entities of a single token that have at least the mass `above`."""
    U = batch.actions.U
    masses = P[:, U] * (U != NO_ACTION)
    rows, labels = (masses >= above).nonzero()
    starts = tokens[rows]
    return Found(Entities(starts, starts + 1, labels), masses[rows, labels])


def _ending(found: Extended, above: float) -> Found:
    """List the entities that end with the next token and have at least the mass `above`."""
    rows, labels = (found.ending >= above).nonzero()
    entities = Entities(found.starts[rows], found.ends[rows], labels)
    return Found(entities, found.ending[rows, labels])


def _at_least(above: float, found: Found, outside: numpy.ndarray) -> Found:
    """Turn masses into probabilities, and keep the entities of at least a probability."""
    probabilities = outside[found.entities.starts] * found.probabilities
    kept = probabilities >= above
    return Found(Entities(*(column[kept] for column in found.entities)), probabilities[kept])


def _join(parts: Sequence[Found]) -> Found:
    """Join lists of entities, in the order of starts, ends and labels."""
    columns = zip(*(part.entities for part in parts), strict=True)
    entities = Entities(*map(numpy.concatenate, columns))
    order = numpy.lexsort(entities[::-1])
    probabilities = numpy.concatenate([part.probabilities for part in parts])
    return Found(Entities(*(column[order] for column in entities)), probabilities[order])
