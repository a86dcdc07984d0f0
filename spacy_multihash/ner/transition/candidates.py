"""Entities that a recognizer might find, and their probabilities given that no entity is open.

An action's probability is the softmax of the scores of all actions that are valid in its state. A
candidate is an entity that has begun: tokens [s, i), a label x, and the mass

    p(B-x at s)  *  the product of p(I-x) over all tokens after s

of the sequences that come so far. At the token i the mass is split: p(L-x) of it ends there, which
is an entity, and p(I-x) goes on. Candidates are followed in rounds, all those of some tokens at
once, until little mass is left. Of what has too little the tokens are taken to be outside again
after i: so nothing is lost for later tokens, and how much it was is known.
"""

from collections.abc import Iterator
from typing import NamedTuple, Union

import numpy
from thinc.api import get_array_module, to_numpy

from ...common.types import Array
from .actions import NO_ACTION
from .inside_table import InsideTable
from .rules import Steps, valid_inside
from .scores import LOWEST, Batch, outside_scores
from .states import largest_pieces, score

# Candidates with less mass are not followed.
LEAST_MASS = 1e-6
# Few candidates are followed by many tokens at once, which takes fewer rounds: as many tokens as
# make about so many states.
_STATES = 512


class Choice(NamedTuple):
    """Probabilities of some actions at R tokens, if no entity is open.

    P (R, M) float64: On the device.
    labels (M,) int64: The numbers of the actions' labels, `NO_LABEL` for O and U-.
    """

    P: Array
    labels: numpy.ndarray


class Candidates(NamedTuple):
    """M entities that have begun, in the order of their first tokens, on the host.

    starts, labels (M,) int64: The first token, and the number of the label.
    masses (M,) float64: Their probability, given that no entity is open before them.
    """

    starts: numpy.ndarray
    labels: numpy.ndarray
    masses: numpy.ndarray


class Round(NamedTuple):
    """What comes of M candidates at W tokens, one after the other; they begin with R tokens.

    starts (R,) int64: The tokens they begin with, in order.
    groups (R,) int64: Where the candidates of each start begin.
    labels (M,) int64: The labels of candidates.
    first (int): The first token is so many after the start.
    closing (M, W) float64: The mass of entities that end with each token.
    cut (M, W) float64: The mass that is too small after each token.
    stuck (M, W) float64: The mass for which no action is valid.
    """

    starts: numpy.ndarray
    groups: numpy.ndarray
    labels: numpy.ndarray
    first: int
    closing: numpy.ndarray
    cut: numpy.ndarray
    stuck: numpy.ndarray

    @property
    def ends(self) -> numpy.ndarray:
        """Where entities end that end with each token, (R, W) int64."""
        return self.starts[:, None] + self.first + 1 + numpy.arange(self.closing.shape[1])

    @property
    def group_of(self) -> numpy.ndarray:
        """The number of each candidate's start, (M,) int64."""
        sizes = numpy.diff(numpy.append(self.groups, len(self.labels)))
        return numpy.repeat(numpy.arange(len(self.groups)), sizes)


def outside_probabilities(
    batch: Batch, rows: Union[slice, numpy.ndarray], temperature: float
) -> Array:
    """Compute the probability of each of `actions.outside` at R tokens, if no entity is open.

    rows (slice or (R,) int64): The tokens, on the host.

    Returns (R, M) float64, 0 for what is not valid.
    """
    P = outside_scores(batch, rows).astype("float64")
    xp = get_array_module(P)
    highest = P.max(axis=1, keepdims=True)
    if batch.rules.has_entities:  # otherwise some action is valid at every token
        highest = xp.where(highest == -numpy.inf, 0, highest)
    P -= highest
    with numpy.errstate(over="ignore"):  # of infinity too, the exponential is right
        P /= temperature
    xp.exp(P, out=P)
    total = P.sum(axis=1, keepdims=True)
    P /= xp.where(total == 0, 1, total)
    return P


def open_and_other(batch: Batch, rows: slice, temperature: float) -> tuple[Choice, Choice]:
    """Compute the probabilities of B, and those of U, O and U-, of R tokens in a row."""
    outside, labels = batch.actions.outside, batch.actions.label_of
    P = outside_probabilities(batch, rows, temperature)
    opens = batch.actions.opens[outside]
    xp = get_array_module(P)
    of_open, of_other = (
        Choice(P[:, xp.asarray(some.nonzero()[0])], labels[outside[some]])
        for some in (opens, ~opens)
    )
    return of_open, of_other


def begin_candidates(opens: Choice, rows: slice, least: float) -> Candidates:
    """List the candidates that begin with R tokens in a row, with at least so much mass."""
    found = (opens.P >= least).nonzero()
    starts, columns = map(to_numpy, found)
    return Candidates(starts + rows.start, opens.labels[columns], to_numpy(opens.P[found]))


def extend(
    batch: Batch, candidates: Candidates, rows: slice, temperature: float, least: float
) -> Iterator[Round]:
    """Extend candidates while they have at least so much mass.

    rows (slice): The tokens that they begin with.
    """
    if not len(candidates.starts):
        return
    table = InsideTable(batch.X, batch.weights, rows)
    first = 1
    while len(candidates.starts):
        starts, labels, masses = candidates
        groups = numpy.append(0, numpy.flatnonzero(starts[1:] != starts[:-1]) + 1)
        left = batch.rules.ends[starts[groups]] - starts[groups] - first
        width = min(max(_STATES // len(starts), 1), int(left.max()))
        tokens = starts[:, None] + numpy.arange(first, first + width)
        # No mass is left beyond the end of a doc: any token may stand there
        tokens = numpy.minimum(tokens, len(batch.X) - 1)
        goes_on, closes = _probabilities(batch, table, candidates, groups, tokens, temperature)
        after = masses[:, None] * goes_on.cumprod(axis=1)
        before = numpy.concatenate([masses[:, None], after[:, :-1]], axis=1)
        before[before < least] = 0
        cut = numpy.where((after < least) & (before > 0), after, 0)
        stuck = numpy.where((goes_on == 0) & (closes == 0), before, 0)
        yield Round(starts[groups], groups, labels, first, before * closes, cut, stuck)
        kept = after[:, -1] >= least
        candidates = Candidates(starts[kept], labels[kept], after[kept, -1])
        first += width


def closing_lead(scores: Steps, temperature: float) -> Array:
    """Compute by how much L is ahead of I, (R,) float64, on the device.

    scores (Steps): Their scores, (R,) float32 each, on the device.
    """
    ahead = scores.L.astype("float64")
    ahead -= scores.I
    with numpy.errstate(over="ignore"):
        ahead /= temperature
    return ahead


def both_probabilities(scores: Steps, steps: Steps, temperature: float) -> Steps:
    """Compute the probabilities of I and L, of R states in entities, (R,) float64 each.

    scores (Steps): Their scores, (R,) float32 each, on the device.
    steps (Steps): On the host, the columns of actions, `NO_ACTION` for those that are not valid.

    Returns both on the host, 0 for what is not valid.
    """
    xp, ahead = get_array_module(scores.L), closing_lead(scores, temperature)
    small = xp.exp(-abs(ahead))
    large = 1 / (1 + small)
    small *= large
    closes_first = ahead > 0
    goes_on = to_numpy(xp.where(closes_first, small, large))
    closes = to_numpy(xp.where(closes_first, large, small))
    no_I, no_L = steps.I == NO_ACTION, steps.L == NO_ACTION
    goes_on[no_I], closes[no_I] = 0, 1
    goes_on[no_L] = ~no_I[no_L]
    closes[no_L] = 0
    return Steps(goes_on, closes)


def _probabilities(
    batch: Batch,
    table: InsideTable,
    candidates: Candidates,
    groups: numpy.ndarray,
    tokens: numpy.ndarray,
    temperature: float,
) -> Steps:
    """Compute the probabilities of I and L of M candidates at W tokens, (M, W) float64 each.

    Scores are those of a start and a token, whatever the label.
    """
    width = tokens.shape[1]
    starts = numpy.repeat(candidates.starts[groups], width)
    hidden = largest_pieces(table.sums(starts, tokens[groups].ravel()), batch.weights.nP)
    scores = score(hidden, batch.weights)
    if batch.weights.unseen is not None:
        scores[:, batch.weights.unseen] = LOWEST
    labels = numpy.repeat(candidates.labels, width)
    steps = valid_inside(batch.rules, batch.actions, tokens.ravel(), labels)
    sizes = numpy.diff(numpy.append(groups, len(tokens)))
    group_of = numpy.repeat(numpy.arange(len(groups)), sizes)
    states = (group_of[:, None] * width + numpy.arange(width)).ravel()
    xp = get_array_module(scores)
    states = xp.asarray(states)
    of_actions = Steps(*(scores[states, xp.asarray(columns)] for columns in steps))
    found = both_probabilities(of_actions, steps, temperature)
    return Steps(found.I.reshape(tokens.shape), found.L.reshape(tokens.shape))
