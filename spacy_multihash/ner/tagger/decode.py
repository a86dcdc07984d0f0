"""Decode the scores of all tags into valid sequences of tags.

All decoders follow `biluo.may_follow`: no entity continues into a token of `constraints.starts`, or
after the last token. No entity begins at `constraints.spaces`, and the tokens of
`constraints.outside` get O.
"""

from typing import Optional

import numpy
from thinc.api import to_numpy

from ...common.types import Array, Decoder
from ...compute.dispatch import kernels_for
from ..biluo import OUTSIDE, Constraints, allowed_tags, may_follow, tag_columns
from .crf import SplitTransitions, pack, split_kinds, split_transitions


def decode(
    decoder: Decoder,
    scores: Array,
    lengths: numpy.ndarray,
    transitions: Optional[Array],
    constraints: Constraints,
) -> numpy.ndarray:
    """Find the tags of all tokens with the decoder of this name.

    scores (N, nO) float32 -> tags (N,) int64, on the host.
    lengths (B,) int: The number of tokens of each doc, on the host.
    transitions (nO, nO) float32: As in `decode_crf`. Other decoders ignore them.
    """
    scores = numpy.ascontiguousarray(to_numpy(scores), dtype="float32")
    if decoder == "greedy":
        return decode_greedy(scores, constraints)
    if decoder == "constrained":
        return decode_constrained(scores, constraints)
    return decode_crf(scores, lengths, to_numpy(transitions), constraints)


def decode_greedy(scores: numpy.ndarray, constraints: Constraints) -> numpy.ndarray:
    """Take the best tag of each token by itself, and keep whole entities.

    The best tag is O at `outside`, and neither B nor U at `spaces`. Ties go to the smaller number.
    An entity is whole if its tags are U, or B, any number of I, and L, all of one label and within
    a sentence. Tags of other entities become O. Valid sequences don't change.

    scores (N, nO) float32 -> tags (N,) int64.
    """
    N, nO = scores.shape
    tags = scores.argmax(axis=1)
    (constrained,) = numpy.nonzero(constraints.spaces | constraints.outside)
    tags[constrained] = _rule_out(scores, constraints, constrained).argmax(axis=1)

    columns = tag_columns(nO)
    continues = may_follow(nO)
    continues[:, columns.OBU] = False
    belongs = numpy.zeros(N + 1, dtype=bool)  # to the token before; after the last token, False
    belongs[1:N] = continues.take(tags[:-1] * nO + tags[1:]) & ~constraints.starts[1:]
    (firsts,), (lasts,) = numpy.nonzero(~belongs[:N]), numpy.nonzero(~belongs[1:])
    first, last = tags[firsts], tags[lasts]
    begins = (first >= columns.B.start) & (first < columns.B.stop)
    ends = (last >= columns.L.start) & (last < columns.L.stop)
    whole = (begins & ends) | (first >= columns.U.start)
    return numpy.where(numpy.repeat(whole, lasts - firsts + 1), tags, OUTSIDE)


def decode_constrained(scores: numpy.ndarray, constraints: Constraints) -> numpy.ndarray:
    """Find the valid sequence of tags with the highest sum of scores.

    Between two tokens there are 1 + C states: outside of all entities after O, L or U, or inside an
    entity of a label after B or I. So the time per token is O(C). Ties go to the smaller number of
    the last tag, then of the tag before it.

    scores (N, nO) float32 -> tags (N,) int64.
    """
    # No entity continues into the next sentence
    lengths = numpy.diff(constraints.begins, append=len(scores))
    return _viterbi(scores, lengths, None, constraints)


def decode_crf(
    scores: numpy.ndarray,
    lengths: numpy.ndarray,
    transitions: numpy.ndarray,
    constraints: Constraints,
) -> numpy.ndarray:
    """Find the tags of each doc with the highest sum of scores of tags and of transitions.

    The transition to a token that begins a sentence counts like any other. Ties go to the smaller
    number of the last tag, then of the tag before it.

    scores (N, nO) float32 -> tags (N,) int64.
    lengths (B,) int: The number of tokens of each doc.
    transitions (nO, nO) float32: The score of going from the row's tag to the column's.
        Transitions that `biluo.may_follow` doesn't allow are ignored.
    """
    return _viterbi(scores, lengths, transitions.astype("float64"), constraints)


def _viterbi(
    scores: numpy.ndarray,
    lengths: numpy.ndarray,
    transitions: Optional[numpy.ndarray],
    constraints: Constraints,
) -> numpy.ndarray:
    """Find the best tags (N,) of all sequences; without kernels, in two loops over their steps."""
    kernels = kernels_for(scores)
    if kernels is not None:
        starts, spaces, outside = constraints
        known = starts + 2 * spaces.view("uint8") + 4 * outside.view("uint8")  # (N,) bits
        into = None if transitions is None else numpy.ascontiguousarray(transitions.T)
        return kernels.viterbi(scores, into, known, lengths.astype("int64"))
    packed, allowed = pack(lengths), may_follow(scores.shape[1])
    split = None if transitions is None else split_transitions(transitions)
    into = numpy.where(allowed, 0 if transitions is None else transitions, -numpy.inf).T
    # Sums over long sequences have thousands of scores
    sums = scores[packed.order].astype("float64")
    constraints = Constraints(*(values[packed.order] for values in constraints))
    (rows,) = numpy.nonzero(constraints.starts | constraints.spaces | constraints.outside)
    sums[rows] = _rule_out(sums, constraints, rows)
    for t in range(1, packed.num_steps):
        earlier = sums[packed.step(t - 1)][: packed.sizes[t]]
        sums[packed.step(t)] += _follow_best(earlier, split)
    best = numpy.zeros(len(sums), dtype="int64")
    after = numpy.tile(numpy.where(allowed[:, OUTSIDE], 0, -numpy.inf), (packed.num_sequences, 1))
    for t in reversed(range(packed.num_steps)):
        step, size = packed.step(t), packed.sizes[t]
        best[step] = (sums[step] + after[:size]).argmax(axis=1)
        after[:size] = into[best[step]]
    tags = numpy.empty_like(best)
    tags[packed.order] = best
    return tags


def _follow_best(sums: numpy.ndarray, transitions: Optional[SplitTransitions]) -> numpy.ndarray:
    """Find the best sum up to each tag from the previous tags' sums: (A, nO) -> (A, nO)."""
    reached = numpy.empty_like(sums)
    if transitions is None:
        columns = tag_columns(sums.shape[1])
        reached[:, columns.OBU] = sums[:, columns.OLU].max(axis=1, keepdims=True)
        inside = numpy.maximum(sums[:, columns.B], sums[:, columns.I])
        reached[:, columns.I] = reached[:, columns.L] = inside
        return reached
    between = sums[:, transitions.sources, None] + transitions.between
    reached[:, transitions.targets] = between.max(axis=1)
    within = split_kinds(sums[:, transitions.within_sources])[:, :, None] + transitions.within
    reached[:, transitions.within_targets] = within.max(axis=1).reshape(len(sums), -1)
    return reached


def _rule_out(
    scores: numpy.ndarray, constraints: Constraints, rows: numpy.ndarray
) -> numpy.ndarray:
    """Return the scores of some tokens, -inf for tags that are ruled out: (len(rows), nO)."""
    allowed = allowed_tags(Constraints(*(values[rows] for values in constraints)), scores.shape[1])
    return numpy.where(allowed, scores[rows], -numpy.inf)
