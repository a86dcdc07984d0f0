"""An update of the model: the states that its decisions lead to, their loss, and the way back."""

from collections.abc import Sequence
from functools import partial

import numpy
from spacy.tokens import Doc
from thinc.api import Model, get_array_module

from ...common.types import Array
from ...compute.blas import single_threaded
from ...compute.dropout_masks import mask_drawers
from ...compute.matmul import matmul
from .hidden import hide_backward
from .lesson import Lesson
from .loss import loss_of, lowest_scores
from .rows import Rows, lay_out
from .states import Weights, inside_features, weights_of
from .visit import Visited, visit


def learn(
    model: Model,
    docs: Sequence[Doc],
    lesson: Lesson,
    *,
    state_dropout: float,
    spacy_gradient: bool,
) -> float:
    """Add the gradients of a batch to a parser_model, and return the loss.

    state_dropout (float): The share of the hidden layer that is dropped, of each state anew.
    spacy_gradient (bool): See `backpropagate`.
    """
    X, backprop = model.get_ref("tok2vec").begin_update(docs)
    function = partial(_learn_vectors, state_dropout=state_dropout, spacy_gradient=spacy_gradient)
    value, dX = single_threaded(function, model, X, lesson)
    backprop(dX)
    return value


def _learn_vectors(
    model: Model, X: Array, lesson: Lesson, *, state_dropout: float, spacy_gradient: bool
) -> tuple[float, Array]:
    """Add the gradients of `lower` and `upper`, and return the loss and the vectors' gradient."""
    gold, rules, actions, parts = lesson
    weights, rows = weights_of(model, X), lay_out(parts, actions)
    (draw,) = mask_drawers(model.ops, state_dropout, 1)
    chunks = visit(X, weights, rules, actions, rows, draw, model.ops)
    lowest = None if weights.unseen is None else lowest_scores(chunks, weights, rows)
    dX, value, seen = model.ops.alloc2f(*X.shape), 0.0, numpy.zeros(actions.nO, dtype=bool)
    while chunks:
        visited = chunks.pop(0)
        loss = loss_of(visited, weights, gold, rules, actions, rows, lowest)
        if weights.unseen is not None:
            loss.d_scores[:, weights.unseen] = 0
        value, seen = value + loss.value, seen | loss.seen
        backpropagate(
            model, visited, loss.d_scores, X, dX, weights, rows, spacy_gradient=spacy_gradient
        )
    model.attrs["unseen_classes"] -= set(numpy.flatnonzero(seen).tolist())
    return value, dX


def backpropagate(
    model: Model,
    visited: Visited,
    d_scores: Array,
    X: Array,
    dX: Array,
    weights: Weights,
    rows: Rows,
    *,
    spacy_gradient: bool,
) -> None:
    """Add the gradients of `lower` and `upper`, and that of the vectors of tokens.

    d_scores (V, nC) float32: The gradient of the scores of V states.
    X, dX (N, nI) float32: The vectors, and their gradient, to which it is added.
    spacy_gradient (bool): As spaCy computes it. It takes the last token of the batch for features
        that are missing, which adds to the gradient of their weights.
    """
    xp, ops = get_array_module(X), model.ops
    hidden = visited.hidden
    d_hidden = d_scores
    if weights.upper is not None:
        upper = model.get_ref("upper")
        upper.inc_grad("W", upper.ops.asarray_f(matmul(d_scores.T, hidden.values)))
        upper.inc_grad("b", upper.ops.asarray_f(d_scores.sum(axis=0)))
        d_hidden = matmul(d_scores, weights.upper)
    d_sums = hide_backward(d_hidden, hidden, weights, ops)
    first = len(visited.outside)
    d_outside, d_inside = d_sums[:first], d_sums[first:]
    outside = xp.asarray(rows.tokens[visited.outside])
    inside = xp.asarray(
        inside_features(
            rows.tokens[visited.inside.starts],
            rows.tokens[visited.inside.tokens],
            len(weights.W),
        )
    )
    dW, d_pad = xp.zeros_like(weights.W), xp.zeros_like(weights.pad)
    for feature, W in enumerate(weights.W):
        tokens, d_feature = inside[:, feature], d_inside
        present = tokens >= 0
        if not present.all():
            d_pad[feature] += d_feature[~present].sum(axis=0)
            tokens, d_feature = tokens[present], d_feature[present]
        if feature == 0:
            tokens, d_feature = xp.concatenate([outside, tokens]), d_sums
        else:
            d_pad[feature] += d_outside.sum(axis=0)
        dW[feature] = matmul(d_feature.T, X[tokens])
        ops.scatter_add(dX, tokens, matmul(d_feature, W))
    if spacy_gradient:
        dW += d_pad[:, :, None] * X[-1]
    lower = model.get_ref("lower")
    lower.inc_grad("W", dW.reshape(lower.get_param("W").shape))
    lower.inc_grad("b", d_sums.sum(axis=0).reshape(lower.get_param("b").shape))
    lower.inc_grad("pad", d_pad.reshape(lower.get_param("pad").shape))
