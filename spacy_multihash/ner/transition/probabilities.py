"""Exact probabilities of entities, as sums over all sequences of actions.

The probability of an action is the softmax of the scores of all actions that are valid in its
state. A state is a token and, while an entity is open, the token and the label that it began with.
So all sequences that are outside of entities before a token are alike from there on:

    out(i)          the probability that no entity is open before the token i; 1 for i = 0
    P(s..e, x)    = out(s) p(B-x at s) p(I-x) ... p(I-x) p(L-x at e)      p(U-x at s) for s = e
    out(i + 1)    = out(i) p(O at i) + the sum of P over all entities that end with i

P without the factor out(s) is the *mass* of an entity. After entities that aren't followed any
further, tokens count as outside again: so later tokens lose nothing, and the lost mass is known.
"""

from typing import NamedTuple, Optional

import numpy

from ..biluo import Entities
from ..candidates import Listed, Step, at_least, extend, in_order
from .rules import NO_ACTION, NO_LABEL, Actions, Steps, valid_inside, valid_outside
from .states import Batch, score_states

# Candidates with less mass are not followed.
LEAST_MASS = 1e-6
# The same for requested probabilities, so that their log-odds are right.
LEAST_MASS_ASKED = 1e-12
# Number of tokens whose candidates are followed at once, so that memory doesn't grow with the
# batch.
CHUNK = 512


class Lattice(NamedTuple):
    """Sums over all sequences of actions of N tokens in D docs.

    outside (N,) float64: The probability that no entity is open before each token.
    left_out (D,) float64: For each doc, the mass that wasn't followed to its end. It bounds the
        errors of the doc's probabilities.
    probabilities (E,) float64: The probabilities of the requested entities.
    candidates (Entities): All entities that are probable enough, in order.
    candidate_probabilities (M,) float64: Of `candidates`.
    begins (N, K) float64: The probability that an entity of each label begins with each token.
    """

    outside: numpy.ndarray
    left_out: numpy.ndarray
    probabilities: numpy.ndarray
    candidates: Entities
    candidate_probabilities: numpy.ndarray
    begins: numpy.ndarray


def build_lattice(
    batch: Batch,
    entities: Entities,
    temperature: float = 1.0,
    above: Optional[float] = None,
    least: float = LEAST_MASS,
) -> Lattice:
    """Sum over all sequences of actions.

    entities (Entities): E entities of the batch to find the probabilities of.
    temperature (float): Scores are divided by it.
    above (Optional[float]): List all entities of at least this probability. None lists none.
    least (float): Candidates with less mass than this and `above` aren't followed. Above 0.
    """
    least = min(least, above or least)
    N, doc_ends, actions = len(batch.X), batch.rules.doc_ends, batch.actions
    lengths = numpy.diff(doc_ends, prepend=0)
    begins = numpy.zeros(N + 1, dtype=bool)
    begins[(doc_ends - lengths)[lengths > 0]] = True
    coming = numpy.zeros(N + 1)  # the mass that comes to each token, and to the end
    arrived = numpy.zeros(N + 1)  # the mass that came to the end of the doc before each token
    cut, begins_of = numpy.zeros(N), numpy.zeros((N, len(actions.labels)))
    stays = actions.label_of == NO_LABEL  # the actions after which the next token is outside too
    stays[actions.U[actions.U != NO_ACTION]] = True
    nothing, step = numpy.zeros(0, "int64"), steps_of(batch, temperature)
    listed = [Listed(nothing, nothing, nothing, numpy.zeros(0))]
    for first in range(0, N, CHUNK):
        tokens = numpy.arange(first, min(first + CHUNK, N))
        P = outside_probabilities(batch, tokens, temperature)
        opens = opening(actions, P)
        cut[tokens] = numpy.where(opens < least, opens, 0).sum(axis=1)
        to_next = P[:, stays].sum(axis=1) + cut[tokens]
        units = P[:, actions.U] * (actions.U != NO_ACTION)
        begins_of[tokens] = opens + units
        if above is not None:
            listed.append(at_least(above, tokens, tokens + 1, units))
        arcs = [numpy.zeros((3, 0))]
        for extended in extend(tokens, opens, step, least):
            too_small = extended.cut.sum(axis=1)
            cut[extended.starts] += too_small
            begins_of[extended.starts] -= extended.stuck
            masses = extended.ending.sum(axis=1) + too_small
            arcs.append(numpy.stack([extended.starts, extended.ends, masses]))
            if above is not None:
                listed.append(at_least(above, extended.starts, extended.ends, extended.ending))
        starts, ends, masses = numpy.concatenate(arcs, axis=1)
        order = starts.argsort(kind="stable")
        bounds = numpy.searchsorted(starts[order], numpy.append(tokens, tokens[-1] + 1)).tolist()
        ends, masses = ends[order].astype("int64"), masses[order]
        for number, (token, mass) in enumerate(zip(tokens.tolist(), to_next.tolist(), strict=True)):
            if begins[token]:
                arrived[token], coming[token] = coming[token], 1.0
            here = coming[token]
            coming[token + 1] += here * mass
            of_token = slice(bounds[number], bounds[number + 1])
            coming[ends[of_token]] += here * masses[of_token]
    arrived[N] = coming[N]
    outside = coming[:N]
    left_out = numpy.zeros(len(lengths))
    (full,) = lengths.nonzero()
    lost = numpy.add.reduceat(outside * cut, (doc_ends - lengths)[full])
    left_out[full] = lost + 1 - arrived[doc_ends[full]]
    probabilities = outside[entities.starts] * numpy.exp(log_masses(batch, entities, temperature))
    candidates, masses = in_order(listed)
    masses = masses * outside[candidates.starts]
    (enough,) = (masses >= (above or 0)).nonzero()
    candidates = Entities(*(column[enough] for column in candidates))
    begins_of *= outside[:, None]
    left_out = left_out.clip(0, 1)
    return Lattice(outside, left_out, probabilities, candidates, masses[enough], begins_of)


def entity_probabilities(
    batch: Batch, entities: Entities, temperature: float = 1.0
) -> numpy.ndarray:
    """Compute the probabilities of E entities of a batch, (E,) float64."""
    return build_lattice(batch, entities, temperature, least=LEAST_MASS_ASKED).probabilities


# Probabilities of actions


def outside_probabilities(batch: Batch, tokens: numpy.ndarray, temperature: float) -> numpy.ndarray:
    """Compute the probabilities of actions at R tokens if no entity is open, (R, nO) float64.

    Invalid actions have probability 0.
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

    Returns (R, K) float64 each, 0 for invalid actions.
    """
    rows = numpy.arange(len(scores))[:, None]
    lead = scores[rows, steps.L].astype("float64") - scores[rows, steps.I]
    has_I, has_L = steps.I != NO_ACTION, steps.L != NO_ACTION
    lead[~has_I], lead[~has_L] = numpy.inf, -numpy.inf
    with numpy.errstate(over="ignore"):  # of infinity too, the exponential is right
        lead = lead / temperature
        return has_I / (1 + numpy.exp(lead)), has_L / (1 + numpy.exp(-lead))


def steps_of(batch: Batch, temperature: float) -> Step:
    """Return the function that extends entities by a token; see `Step`."""
    labels = numpy.arange(len(batch.actions.labels))

    def step(starts: numpy.ndarray, tokens: numpy.ndarray) -> tuple[numpy.ndarray, numpy.ndarray]:
        scores = score_states(batch, tokens, starts)
        steps = valid_inside(batch.rules, batch.actions, tokens[:, None], labels)
        return inside_probabilities(scores, steps, temperature)

    return step


def opening(actions: Actions, P: numpy.ndarray) -> numpy.ndarray:
    """Return the probabilities that entities of several tokens begin: (S, nO) -> (S, K)."""
    return P[:, actions.B] * (actions.B != NO_ACTION)


def log_masses(batch: Batch, entities: Entities, temperature: float = 1.0) -> numpy.ndarray:
    """Compute log(p(B) p(I) ... p(L)), or log(p(U)), of E entities of a batch.

    Returns (E,) float64, -inf for invalid entities.
    """
    actions, lengths = batch.actions, entities.ends - entities.starts
    masses = numpy.zeros(len(lengths))
    columns = numpy.where(lengths == 1, actions.U[entities.labels], actions.B[entities.labels])
    with numpy.errstate(divide="ignore"):
        for first in range(0, len(lengths), CHUNK):
            rows = slice(first, first + CHUNK)
            P = outside_probabilities(batch, entities.starts[rows], temperature)
            P = P[numpy.arange(len(P)), columns[rows]] * (columns[rows] != NO_ACTION)
            masses[rows] = numpy.log(P)
        for later in range(1, int(lengths.max(initial=1))):
            (longer,) = numpy.nonzero((lengths > later) & (masses > -numpy.inf))
            for first in range(0, len(longer), CHUNK):
                chosen = longer[first : first + CHUNK]
                starts, tokens = entities.starts[chosen], entities.starts[chosen] + later
                steps = valid_inside(batch.rules, actions, tokens, entities.labels[chosen])
                steps = Steps(*(columns[:, None] for columns in steps))
                scores = score_states(batch, tokens, starts)
                goes_on, closes = inside_probabilities(scores, steps, temperature)
                is_last = lengths[chosen] == later + 1
                masses[chosen] += numpy.log(numpy.where(is_last, closes[:, 0], goes_on[:, 0]))
    return masses
