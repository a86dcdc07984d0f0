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

from collections.abc import Sequence
from typing import NamedTuple, Optional

import numpy
from spacy.tokens import Doc

from ..biluo import Entities, as_entities
from ..candidates import Listed, at_least, extend, in_order
from ..entities import SpanProbabilities, present_entities, span_probabilities
from .rules import NO_ACTION, NO_LABEL, Steps, valid_inside, valid_outside
from .states import Batch, find_entities, score_states

# Candidates with less mass are not followed.
LEAST_MASS = 1e-6
# The same for requested probabilities, so that their log-odds are right.
LEAST_MASS_ASKED = 1e-12
# Number of tokens whose candidates are followed at once, so that memory doesn't grow with the
# batch.
CHUNK = 512


class ScoredStates(Batch):
    """A batch, as `Scored` of a recognizer."""

    @property
    def labels(self) -> Sequence[str]:
        """The labels that the entities' numbers refer to."""
        return self.actions.labels

    def find(self) -> Entities:
        """Find the entities."""
        return find_entities(self)

    def probabilities(self, entities: Entities, temperature: float = 1.0) -> numpy.ndarray:
        """Compute the probabilities of E entities of a batch, (E,) float64."""
        return build_lattice(self, entities, temperature, least=LEAST_MASS_ASKED).probabilities

    def spans(
        self, docs: list[Doc], entities: Entities, temperature: float, above: Optional[float]
    ) -> SpanProbabilities:
        """Compute the probabilities of the predicted entities, and of candidates."""
        lattice = build_lattice(self, entities, temperature, above)
        listed = [(entities, lattice.probabilities)]
        listed.append((lattice.candidates, lattice.candidate_probabilities))
        # Entities that docs had before are certain to begin, and aren't counted
        present = present_entities(docs, self.labels)
        numpy.subtract.at(lattice.begins, (present.starts, present.labels), 1)
        return span_probabilities(docs, self.labels, listed, lattice.begins, lattice.left_out)


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
    labels = numpy.arange(len(actions.labels))
    stays = actions.label_of == NO_LABEL  # the actions after which the next token is outside too
    stays[actions.U[actions.U != NO_ACTION]] = True
    cut, begins = numpy.zeros(N), numpy.zeros((N, len(labels)))
    first_tokens = numpy.append(0, doc_ends[:-1])
    coming = numpy.zeros(N + 1)  # the mass that comes to each token, and to the end
    arrived = numpy.zeros(N + 1)  # the mass that came to the end of the doc before each token
    listed: list[Listed] = [(*as_entities([]), numpy.zeros(0))]

    def step(starts: numpy.ndarray, tokens: numpy.ndarray) -> tuple[numpy.ndarray, numpy.ndarray]:
        steps = valid_inside(batch.rules, actions, tokens[:, None], labels)
        return inside_probabilities(score_states(batch, tokens, starts), steps, temperature)

    for first in range(0, N, CHUNK):
        tokens = numpy.arange(first, min(first + CHUNK, N))
        P = outside_probabilities(batch, tokens, temperature)
        opens, units = (P[:, of] * (of != NO_ACTION) for of in (actions.B, actions.U))
        begins[tokens] = opens + units
        cut[tokens] = numpy.where(opens < least, opens, 0).sum(axis=1)
        if above is not None:
            listed.append(at_least(above, tokens, tokens + 1, units))
        arcs = [numpy.stack([tokens, tokens + 1, P[:, stays].sum(axis=1) + cut[tokens]])]
        for starts, ends, ending, too_small, stuck in extend(tokens, opens, step, least):
            lost = too_small.sum(axis=1)
            cut[starts] += lost
            begins[starts] -= stuck
            arcs.append(numpy.stack([starts, ends, ending.sum(axis=1) + lost]))
            if above is not None:
                listed.append(at_least(above, starts, ends, ending))
        _follow(tokens, numpy.concatenate(arcs, axis=1), {*first_tokens.tolist()}, coming, arrived)
    arrived[N], outside, left_out = coming[N], coming[:N], numpy.zeros(len(doc_ends))
    (full,) = (first_tokens < doc_ends).nonzero()
    lost = numpy.add.reduceat(outside * cut, first_tokens[full])
    left_out[full] = lost + 1 - arrived[doc_ends[full]]
    probabilities = outside[entities.starts] * numpy.exp(log_masses(batch, entities, temperature))
    candidates, masses = in_order(listed)
    masses = masses * outside[candidates.starts]
    (enough,) = (masses >= (above or 0)).nonzero()
    candidates = Entities(*(column[enough] for column in candidates))
    begins *= outside[:, None]
    left_out = left_out.clip(0, 1)
    return Lattice(outside, left_out, probabilities, candidates, masses[enough], begins)


def _follow(
    tokens: numpy.ndarray,
    arcs: numpy.ndarray,
    first_tokens: set[int],
    coming: numpy.ndarray,
    arrived: numpy.ndarray,
) -> None:
    """Follow what leads from outside to outside of entities, from token to token.

    arcs (3, M) float64: The tokens [start, end) and the mass of each.
    coming, arrived (N + 1,) float64: As in `build_lattice`, to add to.
    """
    order = arcs[0].argsort(kind="stable")
    bounds = numpy.searchsorted(arcs[0, order], numpy.append(tokens, tokens[-1] + 1)).tolist()
    ends, masses = arcs[1, order].astype("int64"), arcs[2, order]
    for number, token in enumerate(tokens.tolist()):
        if token in first_tokens:
            arrived[token], coming[token] = coming[token], 1.0
        of_token = slice(bounds[number], bounds[number + 1])
        coming[ends[of_token]] += coming[token] * masses[of_token]


# Probabilities of actions


def outside_probabilities(batch: Batch, tokens: numpy.ndarray, temperature: float) -> numpy.ndarray:
    """Compute the probabilities of actions at R tokens if no entity is open, (R, nO) float64.

    Invalid actions have probability 0.
    """
    scores = score_states(batch, tokens, numpy.full_like(tokens, -1)).astype("float64")
    scores[~valid_outside(batch.rules, batch.actions, tokens)] = -numpy.inf
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
    with numpy.errstate(over="ignore"):
        lead = lead / temperature
        return has_I / (1 + numpy.exp(lead)), has_L / (1 + numpy.exp(-lead))


def log_masses(batch: Batch, entities: Entities, temperature: float = 1.0) -> numpy.ndarray:
    """Compute log(p(B) p(I) ... p(L)), or log(p(U)), of E entities of a batch.

    Returns (E,) float64, -inf for invalid entities.
    """
    actions, lengths = batch.actions, entities.ends - entities.starts
    masses = numpy.zeros(len(lengths))
    columns = numpy.where(lengths == 1, actions.U[entities.labels], actions.B[entities.labels])
    with numpy.errstate(divide="ignore"):
        for later in range(int(lengths.max(initial=0))):
            (longer,) = numpy.nonzero((lengths > later) & (masses > -numpy.inf))
            for first in range(0, len(longer), CHUNK):
                rows = longer[first : first + CHUNK]
                starts, tokens = entities.starts[rows], entities.starts[rows] + later
                if later == 0:
                    P = outside_probabilities(batch, tokens, temperature)
                    P = P[numpy.arange(len(P)), columns[rows]] * (columns[rows] != NO_ACTION)
                else:
                    steps = valid_inside(batch.rules, actions, tokens, entities.labels[rows])
                    steps = Steps(*(columns[:, None] for columns in steps))
                    scores = score_states(batch, tokens, starts)
                    goes_on, closes = inside_probabilities(scores, steps, temperature)
                    is_last = lengths[rows] == later + 1
                    P = numpy.where(is_last, closes[:, 0], goes_on[:, 0])
                masses[rows] += numpy.log(P)
    return masses
