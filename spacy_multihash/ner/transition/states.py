"""Scores of states, from the vectors of tokens: spaCy's `lower` and `upper`, without steps.

A state is a token i and, while an entity is open, the token s that it began with. Its features are
tokens, numbered as in spaCy's `StateC.set_context_tokens`:

    features          outside        in an entity
    3                 i, -, -        i, s, i - 1
    6                 i, - ...       i, then s, s + 1, ... while they are before i, at most five

Each feature has weights of its own, and in place of a token that is missing (-) a vector `pad`:

    sums(i, s)  =  b + sum over features f of  (W_f X[token of f]  or  pad_f)
    hidden      =  the largest piece of each sum
    scores      =  upper(hidden), or hidden itself in a model without `upper`

All of it is computed on the host: a state needs few numbers, and the next one waits for them.
"""

from typing import NamedTuple, Optional, cast

import numpy
from thinc.api import Model, get_array_module, to_numpy

from ...common.types import Array
from .rules import Actions, Rules

# How many tokens a state is scored by: those of state_type = "ner".
NUM_FEATURES = (3, 6)
# The score of an action that was never seen: below all others that are valid.
LOWEST = numpy.finfo("float32").min


class Weights(NamedTuple):
    """The parameters of spaCy's parser_model for nF features, nH hidden units of nP pieces.

    W (nF, nH * nP, nI), b (nH * nP,), pad (nF, nH * nP): Those of `lower`.
    upper (nO, nH), upper_b (nO,): Those of `upper`, for nO actions; None if there is none.
    nP: The number of pieces.
    unseen (nO,) bool: On the host, the actions that were never seen in training. None if there are
        none. They are taken only where no other is valid.
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
        """All parameters that there are."""
        every = (self.W, self.b, self.pad, self.upper, self.upper_b)
        return [array for array in every if array is not None]


class Batch(NamedTuple):
    """Docs with N tokens in all, on the host.

    X (N, nI) float32: The vectors of tokens.
    weights (Weights): The parameters.
    rules (Rules): What tokens allow.
    actions (Actions): Which column of scores is which.
    """

    X: numpy.ndarray
    weights: Weights
    rules: Rules
    actions: Actions


def check_features(component: str, model: Model) -> None:
    """Raise ValueError if a parser_model scores states by other tokens than those of `ner`.

    component (str): The name of the component, for the message.
    """
    nF = model.get_ref("lower").get_dim("nF")
    if nF not in NUM_FEATURES:
        raise ValueError(
            f'Component "{component}": expected a model that scores states by 3 or 6 tokens, was '
            f'one with {nF}. Set state_type to "ner" in [components.{component}.model], and train '
            "it anew, or take spaCy's ner."
        )


def weights_of(model: Model) -> Weights:
    """View the parameters of a parser_model. spaCy keeps `upper` on the host."""
    lower = model.get_ref("lower")
    W, b, pad = (cast(Array, lower.get_param(name)) for name in ("W", "b", "pad"))
    nF, nH, nP, nI = W.shape
    upper = upper_b = unseen = None
    if model.attrs["has_upper"]:
        last = model.get_ref("upper")
        upper, upper_b = cast(Array, last.get_param("W")), cast(Array, last.get_param("b"))
    if model.attrs["unseen_classes"]:
        unseen = numpy.zeros(nH if upper is None else len(upper), dtype=bool)
        unseen[list(model.attrs["unseen_classes"])] = True
    pads = pad.reshape(nF, -1)
    return Weights(W.reshape(nF, nH * nP, nI), b.reshape(-1), pads, upper, upper_b, nP, unseen)


def to_host(X: Array, weights: Weights) -> tuple[numpy.ndarray, Weights]:
    """Bring vectors and parameters to the host, in one copy from a GPU."""
    xp = get_array_module(X)
    if xp is numpy:
        return numpy.ascontiguousarray(X, dtype="float32"), weights
    arrays = [X, *map(xp.asarray, (weights.W, weights.b, weights.pad))]
    flat = to_numpy(xp.concatenate([array.ravel() for array in arrays]))
    parts = numpy.split(flat, numpy.cumsum([array.size for array in arrays])[:-1])
    X, W, b, pad = (part.reshape(array.shape) for part, array in zip(parts, arrays, strict=True))
    upper, upper_b = (
        None if array is None else to_numpy(array) for array in (weights.upper, weights.upper_b)
    )
    return X, weights._replace(W=W, b=b, pad=pad, upper=upper, upper_b=upper_b)


def to_device(X: Array, weights: Weights) -> Weights:
    """Bring parameters to the device of vectors."""
    xp = get_array_module(X)
    W, b, pad, upper, upper_b = (
        None if array is None else xp.asarray(array) for array in weights[:5]
    )
    return weights._replace(W=W, b=b, pad=pad, upper=upper, upper_b=upper_b)


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


def sum_features(X: numpy.ndarray, features: numpy.ndarray, weights: Weights) -> numpy.ndarray:
    """Sum the features of R states, (R, nH * nP) float32.

    X (N, nI) float32: The vectors of all tokens.
    features (R, nF) int64: As `features_of` returns them.
    """
    sums = numpy.tile(weights.b, (len(features), 1))
    for tokens, W, pad in zip(features.T, weights.W, weights.pad, strict=True):
        present = tokens >= 0
        if present.all():
            sums += X[tokens] @ W.T
        elif present.any():
            sums += numpy.where(present[:, None], X[tokens] @ W.T, pad)
        else:
            sums += pad
    return sums


def largest_pieces(sums: numpy.ndarray, nP: int) -> tuple[numpy.ndarray, numpy.ndarray]:
    """Take the largest piece of each sum: (R, nH * nP) -> values, and which, (R, nH) each."""
    pieces = sums.reshape(len(sums), sums.shape[1] // nP, nP)
    which = pieces.argmax(axis=2)
    return numpy.take_along_axis(pieces, which[:, :, None], axis=2)[:, :, 0], which


def score(hidden: Array, weights: Weights) -> Array:
    """Score all actions: hidden (R, nH) -> (R, nO), on the device of the weights."""
    if weights.upper is None:
        return hidden
    scores: Array = hidden @ weights.upper.T
    scores += weights.upper_b
    return scores


def score_states(batch: Batch, tokens: numpy.ndarray, starts: numpy.ndarray) -> numpy.ndarray:
    """Score all actions in R states, (R, nO) float32; those that were never seen get `LOWEST`.

    tokens, starts (R,) int64: As for `features_of`.
    """
    weights = batch.weights
    features = features_of(tokens, starts, len(weights.W))
    hidden, _ = largest_pieces(sum_features(batch.X, features, weights), weights.nP)
    scores = score(hidden, weights)
    if weights.unseen is not None:
        scores[:, weights.unseen] = LOWEST
    return scores
