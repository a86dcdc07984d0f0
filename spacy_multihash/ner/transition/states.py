"""Score states by the vectors of tokens, and find the states that a greedy recognizer visits.

A state is a token i and, while an entity is open, the token s that it began with. Its features are
tokens, numbered as in spaCy's `StateC.set_context_tokens`:

    features          outside        in an entity
    3                 i, -, -        i, s, i - 1
    6                 i, - ...       i, then s, s + 1, ... while they are before i, at most five

Each feature has its own weights, and a vector `pad` for missing tokens (-):

    sums(i, s)  =  b + sum over features f of  (W_f X[token of f]  or  pad_f)
    hidden      =  the largest piece of each sum
    scores      =  upper(hidden), or hidden itself in a model without `upper`

At each token, the best valid action is taken. The loop over tokens is compiled (compute/decode.h),
and has a fallback here for machines without it. It runs on the host: a state needs few numbers, and
the next state waits for them.
"""

from collections.abc import Sequence
from typing import Any, NamedTuple, Optional, cast

import numpy
from spacy.pipeline._parser_internals.transition_system import TransitionSystem
from spacy.tokens import Doc
from thinc.api import Model, get_array_module, to_numpy

from ...common.nodes import LINEAR
from ...common.types import Array
from ...compute.array_ops import ArrayOps
from ...compute.ops import operations
from ...compute.plans import READING, Reading, read_param
from ..biluo import Entities, as_entities
from .rules import ANY_LABEL, NO_ACTION, NO_LABEL, Actions, Rules, valid_inside, valid_outside

# How many tokens a state is scored by, for state_type = "ner".
NUM_FEATURES = (3, 6)
# The score of actions never seen in training: below all other valid actions.
LOWEST = numpy.finfo("float32").min


class Weights(NamedTuple):
    """The parameters of spaCy's parser_model for nF features, nH hidden units of nP pieces.

    W (nF, nH * nP, nI), b (nH * nP,), pad (nF, nH * nP): Of `lower`.
    upper (nO, nH), upper_b (nO,): Of `upper`, for nO actions; None if the model lacks it.
    unseen (nO,) bool: On the host, the actions never seen in training, or None. They're only taken
        if no other action is valid.
    """

    W: Array
    b: Array
    pad: Array
    upper: Optional[Array]
    upper_b: Optional[Array]
    nP: int
    unseen: Optional[numpy.ndarray]

    @property
    def arrays(self) -> list[Array]:
        """All parameters except None."""
        return [array for array in self[:5] if array is not None]

    @property
    def nO(self) -> int:
        """The number of actions."""
        return self.b.size // self.nP if self.upper is None else len(self.upper)


class Batch(NamedTuple):
    """Docs with N tokens in all, on the host: their vectors X (N, nI) float32, and the rest."""

    X: numpy.ndarray
    weights: Weights
    rules: Rules
    actions: Actions


class Parts(NamedTuple):
    """S parts of docs, (S,) int64 each, by position in the batch.

    begins, ends: Their tokens [begin, end).
    starts, labels: The first token and the label of the entity that is open before the part. If no
        entity is open: the part's first token, and `NO_LABEL`.
    """

    begins: numpy.ndarray
    ends: numpy.ndarray
    starts: numpy.ndarray
    labels: numpy.ndarray


class States(NamedTuple):
    """The states at the R tokens of parts, part by part.

    starts (R,) int64: The first token of the open entity, -1 for none.
    labels (R,) int64: Its label, `NO_LABEL` for none. `ANY_LABEL` for tokens that the loop doesn't
        reach, because no action was valid before.
    columns (R,) int64: The action that was taken, `NO_ACTION` for none.
    hidden (R, nH) float32: The hidden layer, after dropout.
    which (R, nH): The largest piece; with a single piece, whether it was kept.
    """

    starts: numpy.ndarray
    labels: numpy.ndarray
    columns: numpy.ndarray
    hidden: numpy.ndarray
    which: numpy.ndarray


# Vectors and weights


def read_batch(weights: Weights, X: Array, rules: Rules, actions: Actions) -> Batch:
    """Bring vectors and parameters to the host, in one copy from a GPU."""
    xp = get_array_module(X)
    if xp is numpy:
        return Batch(numpy.require(X, "float32", ["C", "A"]), weights, rules, actions)
    arrays = [X, *map(xp.asarray, weights[:3])]
    flat = to_numpy(xp.concatenate([array.ravel() for array in arrays]))
    pieces = numpy.split(flat, numpy.cumsum([array.size for array in arrays])[:-1])
    X, *own = (values.reshape(a.shape) for values, a in zip(pieces, arrays, strict=True))
    own += [None if array is None else to_numpy(array) for array in weights[3:5]]
    return Batch(X, Weights._make([*own, *weights[5:]]), rules, actions)


def weights_of(model: Model, reading: Reading = READING) -> Weights:
    """View the parameters of a parser_model. spaCy keeps `upper` on the host."""
    lower: Any = reading.ref(model, "lower")
    W, pad = (read_param(reading, lower, name, 4) for name in ("W", "pad"))
    b = reading.param(lower, "b")
    nF, nH, nP, nI = W.shape
    upper = upper_b = unseen = None
    if reading.attr(model, "has_upper"):
        last: Any = reading.ref(model, "upper")
        upper, upper_b = read_param(reading, last, "W", 2), reading.param(last, "b")
    if unseen_classes := reading.attr(model, "unseen_classes"):
        unseen = numpy.zeros(nH if upper is None else len(upper), dtype=bool)
        unseen[list(unseen_classes)] = True
    pads = pad.reshape(nF, -1)
    return Weights(W.reshape(nF, nH * nP, nI), b.reshape(-1), pads, upper, upper_b, nP, unseen)


def check_actions(component: str, weights: Weights, moves: TransitionSystem) -> None:
    """Raise ValueError unless there are weights for exactly the actions of a component."""
    if weights.nO != moves.n_moves:
        raise ValueError(
            f'Component "{component}": its model has weights for {weights.nO} actions, but its '
            f"labels have {moves.n_moves}. Add labels with add_label, and load the files of one "
            "pipeline."
        )


class Vectors(NamedTuple):
    """The layers of a parser_model's `tok2vec`, as spaCy builds them.

    tok2vec: Docs to vectors of tokens.
    W (nI, width), b (nI,): The linear layer after it; None for other layers, which `tok2vec` has.
    """

    ops: ArrayOps
    tok2vec: Model
    W: Optional[Array] = None
    b: Optional[Array] = None

    def __call__(self, docs: Sequence[Doc]) -> Array:
        """Return the vectors of all tokens of docs, (N, nI) float32."""
        computed: Any = self.tok2vec.predict(docs)
        if self.W is None:
            return computed
        X = computed[0] if len(computed) == 1 else self.ops.xp.concatenate(computed)
        return self.ops.affine(X, self.W, cast(Array, self.b))


def vectors_of(model: Model, reading: Reading, ops: ArrayOps) -> Vectors:
    """View the layers of a parser_model's `tok2vec`."""
    tok2vec: Any = reading.ref(model, "tok2vec")
    layers = reading.layers(tok2vec)
    if [layer.name for layer in layers[1:]] != ["list2array", LINEAR]:
        return Vectors(ops, tok2vec)
    return Vectors(ops, layers[0], *(reading.param(layers[2], name) for name in ("W", "b")))


# Scores


def features_of(tokens: numpy.ndarray, starts: numpy.ndarray, nF: int) -> numpy.ndarray:
    """List the tokens that are the features of R states, (R, nF) int64, -1 for none.

    tokens (R,) int64: The states' own tokens.
    starts (R,) int64: The first token of the open entity, -1 for none.
    """
    if nF == 3:
        return numpy.stack([tokens, starts, numpy.where(starts < 0, -1, tokens - 1)], axis=1)
    inside = starts[:, None] + numpy.arange(nF - 1)
    inside[(inside >= tokens[:, None]) | (starts[:, None] < 0)] = -1
    return numpy.concatenate([tokens[:, None], inside], axis=1)


def hidden_layer(
    batch: Batch,
    tokens: numpy.ndarray,
    starts: numpy.ndarray,
    mask: Optional[numpy.ndarray] = None,
    *,
    is_train: bool = False,
) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Compute the hidden layer of R states, and which piece was the largest, (R, nH) each.

    A single piece has a ReLU in training, but not in prediction, as in spaCy's ner.

    tokens, starts (R,) int64: As for `features_of`.
    mask (R, nH) float32: Dropout. None for none.
    """
    X, weights = batch.X, batch.weights
    features = features_of(tokens, starts, len(weights.W))
    sums = numpy.tile(weights.b, (len(features), 1))
    for of_feature, W, pad in zip(features.T, weights.W, weights.pad, strict=True):
        present = of_feature[:, None] >= 0
        sums += numpy.where(present, X[of_feature] @ W.T, pad) if present.any() else pad
    if weights.nP == 1 and is_train:
        which = sums >= 0
        hidden = sums * which
    else:
        pieces = sums.reshape(len(sums), sums.shape[1] // weights.nP, weights.nP)
        which = pieces.argmax(axis=2)
        hidden = numpy.take_along_axis(pieces, which[:, :, None], axis=2)[:, :, 0]
    return hidden if mask is None else hidden * mask, which


def score(hidden: Array, weights: Weights) -> Array:
    """Score all actions: hidden (R, nH) -> (R, nO), on the device of the weights."""
    return hidden if weights.upper is None else hidden @ weights.upper.T + weights.upper_b


def score_states(batch: Batch, tokens: numpy.ndarray, starts: numpy.ndarray) -> numpy.ndarray:
    """Score all actions in R states, (R, nO) float32; unseen actions get `LOWEST`.

    tokens, starts (R,) int64: As for `features_of`.
    """
    return _score_seen(hidden_layer(batch, tokens, starts)[0], batch.weights)


def _score_seen(hidden: numpy.ndarray, weights: Weights) -> numpy.ndarray:
    scores: numpy.ndarray = score(hidden, weights)
    return scores if weights.unseen is None else numpy.where(weights.unseen, LOWEST, scores)


# The greedy loop


def find_entities(batch: Batch) -> Entities:
    """Predict the entities of a batch."""
    return Entities(*operations(batch.X).decode(_predict, *batch))


def visit_states(batch: Batch, parts: Parts, mask: Optional[numpy.ndarray]) -> States:
    """Take the actions of an update, and return the states that they lead to.

    mask (R, nH) float32: Dropout of the hidden layer, for each token of all parts. None for none.
    """
    return States(*operations(batch.X).decode(_visit, *batch, parts, mask))


def whole_docs(doc_ends: numpy.ndarray) -> Parts:
    """Make a part of each doc, by where docs end in the batch."""
    begins = numpy.append(0, doc_ends[:-1])
    return Parts(begins, doc_ends, begins, numpy.full(len(doc_ends), NO_LABEL))


def tokens_of(parts: Parts) -> tuple[numpy.ndarray, numpy.ndarray]:
    """List the R tokens of parts, and each token's offset in its part, (R,) int64."""
    sizes = parts.ends - parts.begins
    steps = numpy.arange(sizes.sum()) - numpy.repeat(sizes.cumsum() - sizes, sizes)
    return numpy.repeat(parts.begins, sizes) + steps, steps


def _predict(*batch: Any) -> Entities:  # noqa: ANN401 (of a Batch)
    return _decode(Batch(*batch), whole_docs(batch[2].doc_ends), None, is_train=False)[1]


def _visit(*arguments: Any) -> States:  # noqa: ANN401 (of a Batch, parts and a mask)
    *batch, parts, mask = arguments
    return _decode(Batch(*batch), parts, mask, is_train=True)[0]


def _decode(
    batch: Batch, parts: Parts, mask: Optional[numpy.ndarray], *, is_train: bool
) -> tuple[States, Entities]:
    """Take the best actions, token by token, where there are no kernels."""
    _, weights, rules, actions = batch
    tokens, _ = tokens_of(parts)
    starts = numpy.full(len(tokens), -1)
    # States outside depend on the token alone: all of them are scored, visited or not
    hidden, which = hidden_layer(batch, tokens, starts, mask, is_train=is_train)
    valid = valid_outside(rules, actions, tokens)
    best = numpy.where(valid, _score_seen(hidden, weights), -numpy.inf).argmax(axis=1)
    best[~valid.any(axis=1)] = NO_ACTION
    labels, columns = numpy.full_like(starts, ANY_LABEL), numpy.full_like(starts, NO_ACTION)
    entities, opens, first = [], set(actions.B.tolist()), 0
    for begin, end, start, label in zip(*(column.tolist() for column in parts), strict=True):
        for token in range(begin, end):
            row = first + token - begin
            labels[row] = label
            if label == NO_LABEL:
                start, column = token, int(best[row])
                made = NO_LABEL if column == NO_ACTION else int(actions.label_of[column])
                if column in opens:
                    label = made
                elif made != NO_LABEL:
                    entities.append((token, token + 1, made))
            else:
                starts[row], here = start, slice(row, row + 1)
                of_row = None if mask is None else mask[here]
                states = hidden_layer(batch, tokens[here], starts[here], of_row, is_train=is_train)
                hidden[here], which[here] = states
                steps = valid_inside(rules, actions, tokens[here], labels[here])
                inside = sorted({int(of[0]) for of in steps} - {NO_ACTION})
                scores = _score_seen(hidden[here], weights)[0, inside]
                # Ties, and NaN, take the first column
                column = inside[int(len(inside) > 1 and scores[1] > scores[0])] if inside else -1
                if column not in (NO_ACTION, steps.I[0]):
                    entities.append((start, token + 1, label))
                    label = NO_LABEL
            columns[row] = column
            if column == NO_ACTION:
                break  # spaCy gives up the rest of the doc
        else:
            if label != NO_LABEL and begin < end:  # an entity that is open at the end ends there
                entities.append((start, end, label))
        first += end - begin
    return States(starts, labels, columns, hidden, which), as_entities(entities)
