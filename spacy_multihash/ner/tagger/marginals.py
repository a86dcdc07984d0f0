"""Probabilities of entities, from scores of tags.

They are computed in logarithms, because products of probabilities underflow in long entities.
"""

from typing import NamedTuple, Optional

import numpy
from thinc.api import get_array_module, to_numpy

from ...common.types import Array
from ..biluo import Constraints, Entities, allowed_tags, tag_columns
from .forward_backward import forward_backward, split_transitions
from .packing import pack


class Spelled(NamedTuple):
    """The K tokens of M entities, one entity after the other.

    positions (K,), tags (K,) int64: Their positions in the batch, and their tags.
    firsts (M,), lasts (M,) int64: Which of the K are the first and the last of an entity.
    """

    positions: numpy.ndarray
    tags: numpy.ndarray
    firsts: numpy.ndarray
    lasts: numpy.ndarray


def entity_marginals(
    scores: Array,
    lengths: numpy.ndarray,
    transitions: Optional[Array],
    entities: Entities,
    constraints: Constraints,
) -> numpy.ndarray:
    """Return the probability of each entity: that of all paths that have it, with its label.

    scores (N, nO) float32: Scores of the tags of all tokens.
    lengths (B,) int: The number of tokens of each doc, on the host.
    transitions (nO, nO) float32: As in `crf_loss`. None for zeros. Then tokens are independent,
        except that some tags may not follow each other.
    entities (Entities): M entities, on the host.
    constraints (Constraints): What is known of the tokens. Entities that contradict it
        have probability 0.

    Returns (M,) float32 in [0, 1], on the host.
    """
    if not len(entities.starts):
        return numpy.zeros(0, dtype="float32")
    xp = get_array_module(scores)
    nO = scores.shape[1]
    if transitions is None:
        transitions = xp.zeros((nO, nO), dtype="float32")
        # Nothing goes from one sentence to the next
        lengths = numpy.diff(constraints.begins, append=len(scores))
    packed = pack(lengths)
    order = xp.asarray(packed.order)
    allowed = xp.asarray(allowed_tags(constraints, nO))
    ordered = xp.where(allowed, scores.astype("float64"), -xp.inf)[order]
    sums = forward_backward(ordered, packed, split_transitions(transitions))
    spelled = spell_out(entities, nO)
    ranks = numpy.argsort(packed.order)  # where a token lies in packed order
    rows, tags = ranks[spelled.positions], spelled.tags
    logs = _pick(sums.scores, rows, tags)
    logs[1:] += _pick(transitions, tags[:-1], tags[1:])
    # Of the first token, all paths to it are counted, and no transition from another entity
    logs[spelled.firsts] = _pick(sums.before, rows, tags)[spelled.firsts]
    ends = sums.after - sums.totals[:, None]
    logs[spelled.lasts] += _pick(ends, rows, tags)[spelled.lasts]
    probabilities = numpy.exp(numpy.add.reduceat(logs, spelled.firsts))
    return numpy.minimum(probabilities, 1).astype("float32")


def spell_out(entities: Entities, nO: int) -> Spelled:
    """List the tags that make each entity, of nO tags."""
    columns = tag_columns(nO)
    sizes = entities.ends - entities.starts
    firsts = numpy.cumsum(sizes) - sizes
    lasts = firsts + sizes - 1
    positions = numpy.repeat(entities.starts - firsts, sizes) + numpy.arange(sizes.sum())
    tags = numpy.repeat(columns.I.start + entities.labels, sizes)
    tags[firsts] = columns.B.start + entities.labels
    tags[lasts] = numpy.where(sizes == 1, columns.U.start, columns.L.start) + entities.labels
    return Spelled(positions, tags, firsts, lasts)


def _pick(values: Array, rows: numpy.ndarray, columns: numpy.ndarray) -> numpy.ndarray:
    xp = get_array_module(values)
    return to_numpy(values[xp.asarray(rows), xp.asarray(columns)])
