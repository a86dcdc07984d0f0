"""The loss of entities that are known to be wrong: negative evidence.

An entity is wrong if not all of its tokens have the tags that make it. Let p be the probability
that all have them, in the model that is trained. Then the loss of the entity is -log(1 - p), and
nothing is said of its single tags, which other entities may share.

1 - p is not found by subtraction, so that the loss of an entity that the model is sure of is right
too. It is a sum over the entity's K tokens: of the k-th, the probability that this token is the
first one with another tag.
"""

from collections.abc import Iterator
from typing import NamedTuple, Optional

import numpy
from thinc.api import get_array_module, to_numpy

from ...common.types import Array
from ..biluo import Entities
from .crf import expect
from .forward_backward import (
    SplitTransitions,
    Sums,
    forward_backward,
    log_sum,
    split_transitions,
)
from .marginals import Spelled, spell_out
from .packing import Packed, pack

# Tokens of all copies of docs that are summed over at once, to bound memory.
_MOST_TOKENS = 2**15


def wrong_entity_loss(
    scores: Array, lengths: numpy.ndarray, transitions: Optional[Array], wrong: Entities
) -> tuple[float, Array, Optional[Array]]:
    """Return -log(1 - p) of wrong entities, summed, as a mean over passes, and its gradients.

    scores (P, N, nO) float32: Scores of the tags of all tokens after each of P passes.
    lengths (B,) int: The number of tokens of each doc, on the host.
    transitions (nO, nO) float32: As in `crf_loss`. Then p is the share of all paths that have the
        entity. None is for independent tags. Then p is the product of the probabilities of the
        entity's tags.
    wrong (Entities): M entities by position in the batch, on the host. They may overlap.

    Returns the loss, d_scores (P, N, nO) float32, and d_transitions (nO, nO) float32 or None.
    """
    xp = get_array_module(scores)
    P, N, nO = scores.shape
    flat = scores.reshape((P * N, nO))
    offsets = numpy.repeat(numpy.arange(P) * N, len(wrong.starts))
    starts, ends, labels = (numpy.tile(column, P) for column in wrong)
    wrong = Entities(starts + offsets, ends + offsets, labels)
    d_scores = xp.zeros((P * N, nO))
    d_transitions: Optional[Array] = None
    if transitions is None:
        loss = _independent(flat, wrong, d_scores)
    else:
        d_transitions, loss = xp.zeros((nO, nO)), 0.0
        split = split_transitions(transitions)
        ends_of_docs = numpy.cumsum(numpy.tile(lengths, P))
        for some in _bounded(wrong, ends_of_docs):
            loss += _in_chain(flat, ends_of_docs, split, some, d_scores, d_transitions)
        d_transitions = (d_transitions / P).astype(transitions.dtype)
    return loss / P, (d_scores / P).astype(scores.dtype).reshape((P, N, nO)), d_transitions


def _independent(scores: Array, wrong: Entities, d_scores: Array) -> float:
    """Return the loss of independent tags, and add its gradient to d_scores (N, nO) float64.

    scores (N, nO) float32.
    """
    xp = get_array_module(scores)
    spelled = spell_out(wrong, scores.shape[1])
    tokens = numpy.arange(len(spelled.tags))
    logs = to_numpy(scores)[spelled.positions].astype("float64")  # (K, nO)
    logs -= log_sum(logs)[:, None]
    own = logs[tokens, spelled.tags].copy()
    others = logs.copy()
    others[tokens, spelled.tags] = -numpy.inf
    other = log_sum(others)
    before = numpy.cumsum(own) - own  # those before the token, of all entities
    before -= numpy.repeat(before[spelled.firsts], _sizes(spelled))
    log_not, shares = _add_up(before + other, spelled)
    # From a token on, the shares of it and of those after it
    rest = numpy.cumsum(shares[::-1])[::-1]
    rest -= numpy.repeat(rest[spelled.lasts] - shares[spelled.lasts], _sizes(spelled))
    d_logs = rest[:, None] * numpy.exp(logs)
    d_logs -= shares[:, None] * numpy.exp(others - other[:, None])
    d_logs[tokens, spelled.tags] -= rest - shares
    xp.add.at(d_scores, xp.asarray(spelled.positions), xp.asarray(d_logs))
    return float(-log_not.sum())


def _in_chain(
    scores: Array,
    ends: numpy.ndarray,
    transitions: SplitTransitions,
    wrong: Entities,
    d_scores: Array,
    d_transitions: Array,
) -> float:
    """Return the loss of a linear-chain CRF, and add its gradients to those given, float64.

    scores (N, nO) float32.
    ends (B,) int64: Where each doc ends in the batch.
    """
    xp = get_array_module(scores)
    spelled = spell_out(wrong, scores.shape[1])
    begins = numpy.append(0, ends[:-1])
    docs = numpy.searchsorted(ends, wrong.starts, side="right")
    which, of_entity, counts = numpy.unique(docs, return_inverse=True, return_counts=True)
    free = _copy_docs(begins[which], (ends - begins)[which])
    all_paths = _sum_paths(scores[xp.asarray(free.positions)].astype("float64"), free, transitions)
    # A copy of its doc for each token of each entity
    docs = numpy.repeat(docs, _sizes(spelled))
    held = _copy_docs(begins[docs], (ends - begins)[docs])
    allowed = xp.asarray(_without_entity(held, begins[docs], spelled, scores.shape[1]))
    ordered = xp.where(allowed, scores[xp.asarray(held.positions)].astype("float64"), -xp.inf)
    other_paths = _sum_paths(ordered, held, transitions)
    log_not, shares = _add_up(other_paths.totals, spelled)
    for copies, summed, weights, sign in (
        (free, all_paths, counts, 1),
        (held, other_paths, shares, -1),
    ):
        weights = xp.asarray(numpy.repeat(weights, copies.lengths)[summed.packed.order])
        expected = expect(summed.sums, summed.packed, transitions, weights)
        positions = xp.asarray(copies.positions[summed.packed.order])
        xp.add.at(d_scores, positions, sign * expected.tags)
        d_transitions += sign * expected.transitions
    return float((all_paths.totals[of_entity] - log_not).sum())


class _Copies(NamedTuple):
    """Copies of docs, T tokens, one doc after the other.

    positions (T,) int64: Where each token is in the batch.
    lengths (S,), firsts (S,) int64: The number of tokens of each copy, and its first of the T.
    """

    positions: numpy.ndarray
    lengths: numpy.ndarray
    firsts: numpy.ndarray


class _Summed(NamedTuple):
    """Sums over the paths of copies: by token in packed order, and the total of each, (S,)."""

    packed: Packed
    sums: Sums
    totals: numpy.ndarray


def _copy_docs(begins: numpy.ndarray, lengths: numpy.ndarray) -> _Copies:
    firsts = numpy.cumsum(lengths) - lengths
    positions = numpy.repeat(begins - firsts, lengths) + numpy.arange(lengths.sum())
    return _Copies(positions, lengths, firsts)


def _sum_paths(scores: Array, copies: _Copies, transitions: SplitTransitions) -> _Summed:
    xp = get_array_module(scores)
    packed = pack(copies.lengths)
    sums = forward_backward(scores[xp.asarray(packed.order)], packed, transitions)
    return _Summed(packed, sums, to_numpy(sums.totals)[numpy.argsort(packed.order)[copies.firsts]])


def _without_entity(
    copies: _Copies, begins: numpy.ndarray, spelled: Spelled, nO: int
) -> numpy.ndarray:
    """Tell which tags are summed over in the copy of each token of entities: (T, nO) bool.

    The tokens of the entity before it have the entity's tags, and it has any other.

    begins (K,) int64: Where the doc of each copy begins in the batch.
    """
    allowed = numpy.ones((len(copies.positions), nO), dtype=bool)
    rows = copies.firsts + spelled.positions - begins
    firsts = numpy.repeat(spelled.firsts, _sizes(spelled))
    for token, (first, row) in enumerate(zip(firsts, rows, strict=True)):
        earlier = slice(row - (token - first), row)
        allowed[earlier] = spelled.tags[first:token, None] == numpy.arange(nO)
        allowed[row, spelled.tags[token]] = False
    return allowed


def _add_up(logs: numpy.ndarray, spelled: Spelled) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Return the log of the sum over each entity's tokens, (M,), and each one's share of it, (K,).

    logs (K,) float64.
    """
    sizes = _sizes(spelled)
    peaks = numpy.maximum.reduceat(logs, spelled.firsts)
    weights = numpy.exp(logs - numpy.repeat(peaks, sizes))
    totals = numpy.add.reduceat(weights, spelled.firsts)
    return peaks + numpy.log(totals), weights / numpy.repeat(totals, sizes)


def _sizes(spelled: Spelled) -> numpy.ndarray:
    return spelled.lasts - spelled.firsts + 1


def _bounded(wrong: Entities, ends: numpy.ndarray) -> Iterator[Entities]:
    """Cut entities into parts whose copies of docs have about so many tokens together."""
    lengths = numpy.diff(ends, prepend=0)
    docs = numpy.searchsorted(ends, wrong.starts, side="right")
    costs = (wrong.ends - wrong.starts) * lengths[docs]
    parts = (numpy.cumsum(costs) - costs) // _MOST_TOKENS
    for part in numpy.unique(parts):
        yield Entities(*(column[parts == part] for column in wrong))
