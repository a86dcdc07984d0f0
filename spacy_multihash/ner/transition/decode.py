"""The actions that spaCy's greedy recognizer takes: at each token, the valid one that scores best.

The loop over tokens is compiled (compute/decode.h). Here is its twin, for machines without it.
"""

from typing import NamedTuple, Optional

import numpy

from ...compute.dispatch import kernels_for
from ..biluo import Entities
from .rules import ANY_LABEL, NO_ACTION, NO_LABEL, valid_inside, valid_outside
from .states import LOWEST, Batch, features_of, largest_pieces, score, sum_features


class Parts(NamedTuple):
    """S parts of docs, (S,) int64 each, by position in the batch.

    begins, ends: Their first token, and the one after the last.
    starts, labels: The first token of the entity that is open before the first token, and its
        label. If none is open: the first token itself, and `NO_LABEL`.
    """

    begins: numpy.ndarray
    ends: numpy.ndarray
    starts: numpy.ndarray
    labels: numpy.ndarray


class States(NamedTuple):
    """The states at the R tokens of parts, one part after the other.

    starts (R,) int64: The first token of the open entity, -1 for none.
    labels (R,) int64: Its label, `NO_LABEL` for none. `ANY_LABEL` is for tokens that the loop does
        not come to, as no action was valid before.
    columns (R,) int64: The action that was taken, `NO_ACTION` for none.
    hidden (R, nH) float32: The hidden layer, after dropout.
    which (R, nH): The piece that was the largest; for one piece, whether it was kept.
    """

    starts: numpy.ndarray
    labels: numpy.ndarray
    columns: numpy.ndarray
    hidden: numpy.ndarray
    which: numpy.ndarray


def whole_docs(doc_ends: numpy.ndarray) -> Parts:
    """Make a part of each doc, by where docs end in the batch."""
    begins = numpy.empty_like(doc_ends)
    begins[0], begins[1:] = 0, doc_ends[:-1]
    return Parts(begins, doc_ends, begins, numpy.full(len(doc_ends), NO_LABEL))


def tokens_of(parts: Parts) -> tuple[numpy.ndarray, numpy.ndarray]:
    """List the R tokens of parts, and how many tokens of its part are before each, (R,) int64."""
    sizes = parts.ends - parts.begins
    steps = numpy.arange(sizes.sum()) - numpy.repeat(sizes.cumsum() - sizes, sizes)
    return numpy.repeat(parts.begins, sizes) + steps, steps


def find_entities(batch: Batch) -> Entities:
    """Find the entities of a batch."""
    kernels = kernels_for(batch.X)
    if kernels is not None:
        return Entities(*kernels.decode(*batch))
    return _decode(batch, whole_docs(batch.rules.doc_ends), None, is_train=False)[1]


def visit_states(batch: Batch, parts: Parts, mask: Optional[numpy.ndarray]) -> States:
    """Take the actions of an update, and return the states that they lead to.

    mask (R, nH) float32: Dropout of the hidden layer, for each token of all parts. None for none.
    """
    kernels = kernels_for(batch.X)
    if kernels is not None:
        return States(*kernels.decode_states(*batch, parts, mask))
    return _decode(batch, parts, mask, is_train=True)[0]


def hide(
    sums: numpy.ndarray, nP: int, mask: Optional[numpy.ndarray], *, is_train: bool
) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Compute the hidden layer: sums (R, nH * nP) -> values, and which piece, (R, nH) each.

    With one piece it is a ReLU. spaCy's ner has it in training, but not in prediction.
    """
    if nP == 1 and is_train:
        which = sums >= 0
        hidden = sums * which
    else:
        hidden, which = largest_pieces(sums, nP)
    return hidden if mask is None else hidden * mask, which


def _decode(
    batch: Batch, parts: Parts, mask: Optional[numpy.ndarray], *, is_train: bool
) -> tuple[States, Entities]:
    X, weights, rules, actions = batch
    nF, nP = len(weights.W), weights.nP
    tokens, _ = tokens_of(parts)
    # States outside depend on the token alone: all of them are scored, visited or not
    features = features_of(tokens, numpy.full_like(tokens, -1), nF)
    hidden, which = hide(sum_features(X, features, weights), nP, mask, is_train=is_train)
    valid = valid_outside(rules, actions, tokens)
    scores = score(hidden, weights)
    if weights.unseen is not None:
        scores = numpy.where(weights.unseen, LOWEST, scores)
    best = numpy.where(valid, scores, -numpy.inf).argmax(axis=1)
    best[~valid.any(axis=1)] = NO_ACTION
    starts = numpy.full(len(tokens), -1)
    labels, columns = numpy.full_like(starts, ANY_LABEL), numpy.full_like(starts, NO_ACTION)
    entities, opens, first = [], set(actions.B.tolist()), 0
    for begin, end, start, label in zip(*(column.tolist() for column in parts), strict=True):
        for token in range(begin, end):
            row = first + token - begin
            labels[row] = label
            if label == NO_LABEL:
                columns[row] = best[row]
                start = token
            else:
                starts[row] = start
                features = features_of(tokens[row : row + 1], starts[row : row + 1], nF)
                hidden[row : row + 1], which[row : row + 1] = hide(
                    sum_features(X, features, weights),
                    nP,
                    None if mask is None else mask[row : row + 1],
                    is_train=is_train,
                )
                columns[row] = _best_inside(batch, hidden[row : row + 1], token, label)
            column = int(columns[row])
            if column == NO_ACTION:
                break  # spaCy gives up the rest of the doc
            if label == NO_LABEL and column in opens:
                label = int(actions.label_of[column])
            elif label == NO_LABEL and actions.label_of[column] != NO_LABEL:
                entities.append((token, token + 1, int(actions.label_of[column])))
            elif label != NO_LABEL and column != actions.I[label]:
                entities.append((start, token + 1, label))
                label = NO_LABEL
        else:
            if label != NO_LABEL and begin < end:  # an entity that is open at the end ends there
                entities.append((start, end, label))
        first += end - begin
    found = Entities(*numpy.array(entities, dtype="int64").reshape(-1, 3).T)
    return States(starts, labels, columns, hidden, which), found


def _best_inside(batch: Batch, hidden: numpy.ndarray, token: int, label: int) -> int:
    """Take the better of I and L, if both are valid; of equals, the first column."""
    steps = valid_inside(batch.rules, batch.actions, numpy.int64(token), numpy.int64(label))
    columns = sorted({int(column) for column in steps} - {NO_ACTION})
    if len(columns) < 2:
        return columns[0] if columns else NO_ACTION
    scores = score(hidden, batch.weights)[0, columns]
    if batch.weights.unseen is not None:
        scores = numpy.where(batch.weights.unseen[columns], LOWEST, scores)
    return columns[int(scores[1] > scores[0])]
