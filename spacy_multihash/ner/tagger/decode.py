"""Decode the scores of all tags into valid sequences of tags.

All decoders follow `biluo.may_follow`: no entity continues into a token of `constraints.starts`, or
after the last token. No entity begins at `constraints.spaces`, and the tokens of
`constraints.outside` get O. Each takes scores (N, nO) float32, and returns tags (N,) int64.
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
    """Find the tags of all tokens with the decoder of this name, on the host.

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
    """
    N, nO = scores.shape
    tags, columns, continues = scores.argmax(axis=1), tag_columns(nO), may_follow(nO)
    (constrained,) = numpy.nonzero(constraints.spaces | constraints.outside)
    allowed = allowed_tags(Constraints(*(values[constrained] for values in constraints)), nO)
    tags[constrained] = numpy.where(allowed, scores[constrained], -numpy.inf).argmax(axis=1)
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
    """
    # No entity continues into the next sentence
    lengths = numpy.diff(constraints.begins, append=len(scores))
    return operations(scores).viterbi(scores, None, _bits(constraints), lengths)


def decode_crf(
    scores: numpy.ndarray,
    lengths: numpy.ndarray,
    transitions: numpy.ndarray,
    constraints: Constraints,
) -> numpy.ndarray:
    """Find the tags of each doc with the highest sum of scores of tags and of transitions.

    The transition to a token that begins a sentence counts like any other. Ties are as in
    `decode_constrained`.

    lengths (B,) int: The number of tokens of each doc.
    transitions (nO, nO) float32: The score of going from the row's tag to the column's.
        Transitions that `biluo.may_follow` doesn't allow are ignored.
    """
    pairs = transitions.astype("float64")
    return operations(scores).viterbi(scores, pairs, _bits(constraints), lengths)


def _bits(constraints: Constraints) -> numpy.ndarray:
    starts, spaces, outside = (values.view("uint8") for values in constraints)
    return STARTS * starts + NO_BEGIN * spaces + OUTSIDE * outside  # (N,)
