"""From scores of all tags of all tokens to tags that follow each other as they may.

All decoders keep to the tags that `biluo.may_follow` allows: no entity reaches a token of
`constraints.starts` from the one before, or goes on after the last token. They do not begin an
entity at `constraints.spaces`, and give O to the tokens of `constraints.outside`.
"""

from collections.abc import Callable
from typing import NamedTuple, Optional

import numpy
from thinc.api import to_numpy

from ...common.types import Array, Decoder
from ...compute.dispatch import kernels_for
from ..biluo import OUTSIDE, Constraints, allowed_tags, may_follow, num_labels, tag_columns
from .crf import Packed, pack


def decode(
    decoder: Decoder,
    scores: Array,
    lengths: numpy.ndarray,
    transitions: Optional[Array],
    constraints: Constraints,
) -> numpy.ndarray:
    """Find the tags of all tokens by the decoder of this name.

    scores (N, nO) float32 -> tags (N,) int64, on the host.
    lengths (B,) int: The number of tokens of each doc, on the host.
    transitions (nO, nO) float32: As in `decode_crf`, which needs them. The others do not.
    """
    scores = numpy.ascontiguousarray(to_numpy(scores), dtype="float32")
    if decoder == "greedy":
        return decode_greedy(scores, constraints)
    if decoder == "constrained":
        return decode_constrained(scores, constraints)
    return decode_crf(scores, lengths, to_numpy(transitions), constraints)


def decode_greedy(scores: numpy.ndarray, constraints: Constraints) -> numpy.ndarray:
    """Take the best tag of each token by itself, and keep the entities that are whole.

    The best tag is O at `outside`, and neither B nor U at `spaces`. Of equal tags, the one with the
    smaller number is taken. An entity is whole if its tags are U, or B, any number of I, and L, all
    of one label and within a sentence. Tags of other entities become O. Tags that follow each other
    as they may stay as they are.

    scores (N, nO) float32 -> tags (N,) int64.
    """
    N, nO = scores.shape
    tags = scores.argmax(axis=1)
    (constrained,) = numpy.nonzero(constraints.spaces | constraints.outside)
    tags[constrained] = _rule_out(scores, constraints, constrained).argmax(axis=1)

    columns = tag_columns(nO)
    continues = may_follow(nO)
    continues[:, columns.OBU] = False
    belongs = numpy.zeros(N + 1, dtype=bool)  # to the token before; the one after the last does not
    belongs[1:N] = continues.take(tags[:-1] * nO + tags[1:]) & ~constraints.starts[1:]
    (firsts,), (lasts,) = numpy.nonzero(~belongs[:N]), numpy.nonzero(~belongs[1:])
    first, last = tags[firsts], tags[lasts]
    begins = (first >= columns.B.start) & (first < columns.B.stop)
    ends = (last >= columns.L.start) & (last < columns.L.stop)
    whole = (begins & ends) | (first >= columns.U.start)
    return numpy.where(numpy.repeat(whole, lasts - firsts + 1), tags, OUTSIDE)


def decode_constrained(scores: numpy.ndarray, constraints: Constraints) -> numpy.ndarray:
    """Find the tags with the highest sum of scores among all that follow each other as they may.

    Between two tokens there are 1 + C states. After O, L or U it is outside of all entities; after
    B or I it is inside an entity of their label. So the time for a token is in O(C). Of equal sums,
    the smaller number of the last tag decides, then that of the one before it.

    scores (N, nO) float32 -> tags (N,) int64.
    """
    # Nothing goes from one sentence to the next
    lengths = numpy.diff(constraints.begins, append=len(scores))
    kernels = kernels_for(scores)
    if kernels is not None:
        return kernels.viterbi(scores, None, _bits(constraints), lengths)
    return _viterbi(scores, pack(lengths), constraints, _hard_states(scores.shape[1]))


def decode_crf(
    scores: numpy.ndarray,
    lengths: numpy.ndarray,
    transitions: numpy.ndarray,
    constraints: Constraints,
) -> numpy.ndarray:
    """Find the tags of each doc with the highest sum of scores of tags and of transitions.

    The transition to a token that begins a sentence counts like any other. Of equal sums, the
    smaller number of the last tag decides, then that of the one before it.

    scores (N, nO) float32 -> tags (N,) int64.
    lengths (B,) int: The number of tokens of each doc.
    transitions (nO, nO) float32: The score of going from the row's tag to the column's.
        Transitions that `biluo.may_follow` does not allow are not read.
    """
    transitions, kernels = transitions.astype("float64"), kernels_for(scores)
    if kernels is not None:
        into = numpy.ascontiguousarray(transitions.T)
        return kernels.viterbi(scores, into, _bits(constraints), lengths.astype("int64"))
    return _viterbi(scores, pack(lengths), constraints, _learned_states(transitions))


def _bits(constraints: Constraints) -> numpy.ndarray:
    """Write what is known of each token as bits, (N,) uint8."""
    starts, spaces, outside = constraints
    return starts + 2 * spaces.view("uint8") + 4 * outside.view("uint8")


class _States(NamedTuple):
    """The S states between two tokens, and before and after a sequence.

    before (nO,) int64: The state that comes before a tag.
    after (S, nO) float64: The score of the state coming after each tag; -inf where it may not.
    first (S,) float64: The score of being in the state before a sequence.
    last: The state after a sequence.
    leave: From sums of scores up to tags to those up to the states after them, (A, nO) -> (A, S).
        That is the maximum over tags of sums[:, None] + after, in less time.
    """

    before: numpy.ndarray
    after: numpy.ndarray
    first: numpy.ndarray
    last: int
    leave: Callable[[numpy.ndarray], numpy.ndarray]


def _hard_states(nO: int) -> _States:
    """Build states without scores: 0 is outside, and 1 + l is inside an entity of label l."""
    C, columns = num_labels(nO), tag_columns(nO)
    closing = columns.OLU
    inside = numpy.arange(1, 1 + C)
    before = numpy.zeros(nO, dtype="int64")
    before[columns.I] = before[columns.L] = inside
    after = numpy.full((1 + C, nO), -numpy.inf)
    after[0, closing] = 0
    after[1:, columns.B] = after[1:, columns.I] = numpy.where(numpy.eye(C), 0, -numpy.inf)
    first = numpy.where(numpy.arange(1 + C) == 0, 0, -numpy.inf)

    def leave(sums: numpy.ndarray) -> numpy.ndarray:
        states = numpy.empty((len(sums), 1 + C))
        sums[:, closing].max(axis=1, out=states[:, 0])
        numpy.maximum(sums[:, columns.B], sums[:, columns.I], out=states[:, 1:])
        return states

    return _States(before, after, first, 0, leave)


def _learned_states(transitions: numpy.ndarray) -> _States:
    """Build states with transitions: before each tag the state of its number, at the end state nO.

    Any of O, L and U may come before each of O, B, U and the end, so their maximum is over a dense
    array. Only B and I of a label may come before its I or L, which stay out of that array.
    """
    nO = len(transitions)
    columns, allowed = tag_columns(nO), may_follow(nO)
    closing, opening = columns.OLU, numpy.append(columns.OBU, nO)
    end = numpy.where(allowed[:, OUTSIDE], 0, -numpy.inf)
    after = numpy.vstack([numpy.where(allowed, transitions, -numpy.inf).T, end])
    first = numpy.where(numpy.append(allowed[OUTSIDE], True), 0, -numpy.inf)
    between = after[numpy.ix_(opening, closing)]
    within = [
        (to, after[to, columns.B].diagonal(), after[to, columns.I].diagonal())
        for to in (columns.I, columns.L)
    ]

    def leave(sums: numpy.ndarray) -> numpy.ndarray:
        states = numpy.empty((len(sums), nO + 1))
        states[:, opening] = (sums[:, None, closing] + between).max(axis=2)
        for to, from_B, from_I in within:
            states[:, to] = numpy.maximum(sums[:, columns.B] + from_B, sums[:, columns.I] + from_I)
        return states

    return _States(numpy.arange(nO), after, first, nO, leave)


def _viterbi(
    scores: numpy.ndarray, packed: Packed, constraints: Constraints, states: _States
) -> numpy.ndarray:
    """Find the best tags (N,) of sequences, all side by side, in two loops over their steps."""
    # Sums over long sequences have thousands of scores
    sums = scores[packed.order].astype("float64")
    constraints = Constraints(*(values[packed.order] for values in constraints))
    (rows,) = numpy.nonzero(constraints.starts | constraints.spaces | constraints.outside)
    sums[rows] = _rule_out(sums, constraints, rows)
    reached = numpy.tile(states.first, (packed.num_sequences, 1))
    for t in range(packed.num_steps):
        step = packed.step(t)
        sums[step] += reached[: packed.sizes[t], states.before]
        reached = states.leave(sums[step])
    best = numpy.zeros(len(sums), dtype="int64")
    state = numpy.full(packed.num_sequences, states.last)
    for t in reversed(range(packed.num_steps)):
        step, size = packed.step(t), packed.sizes[t]
        best[step] = (sums[step] + states.after[state[:size]]).argmax(axis=1)
        state[:size] = states.before[best[step]]
    tags = numpy.empty_like(best)
    tags[packed.order] = best
    return tags


def _rule_out(
    scores: numpy.ndarray, constraints: Constraints, rows: numpy.ndarray
) -> numpy.ndarray:
    """Return the scores of some tokens, -inf for tags that they cannot have: (len(rows), nO)."""
    allowed = allowed_tags(Constraints(*(values[rows] for values in constraints)), scores.shape[1])
    return numpy.where(allowed, scores[rows], -numpy.inf)
