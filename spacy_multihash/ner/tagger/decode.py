"""Decode the scores of all tags into valid sequences of tags.

All decoders follow `biluo.may_follow`: no entity continues into a token of `constraints.starts`, or
after the last token. No entity begins at `constraints.spaces`, and the tokens of
`constraints.outside` get O.
"""

from typing import Optional

import numpy
from thinc.api import to_numpy

from ...common.types import Array, Decoder
from ...compute.ops import operations
from ...compute.viterbi import NO_BEGIN, OUTSIDE, STARTS
from ..biluo import OUTSIDE as OUTSIDE_TAG
from ..biluo import Constraints, allowed_tags, may_follow, tag_columns


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
    scores = numpy.require(to_numpy(scores), "float32", ["C", "A"])
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
    allowed = allowed_tags(Constraints(*(values[constrained] for values in constraints)), nO)
    tags[constrained] = numpy.where(allowed, scores[constrained], -numpy.inf).argmax(axis=1)

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
    return numpy.where(numpy.repeat(whole, lasts - firsts + 1), tags, OUTSIDE_TAG)


def decode_constrained(scores: numpy.ndarray, constraints: Constraints) -> numpy.ndarray:
    """Find the valid sequence of tags with the highest sum of scores.

    Between two tokens there are 1 + C states: outside of all entities after O, L or U, or inside an
    entity of a label after B or I. So the kernels take O(C) per token. Ties go to the smaller
    number of the last tag, then of the tag before it.

    scores (N, nO) float32 -> tags (N,) int64.
    """
    # No entity continues into the next sentence
    begins = constraints.begins
    return _viterbi(scores, numpy.append(begins[1:], len(scores)) - begins, None, constraints)


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
    """Find the best tags (N,) of all sequences."""
    starts, spaces, outside = (values.view("uint8") for values in constraints)
    known = STARTS * starts + NO_BEGIN * spaces + OUTSIDE * outside  # (N,)
    return operations(scores).viterbi(scores, transitions, known, lengths)
