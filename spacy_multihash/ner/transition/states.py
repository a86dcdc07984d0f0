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
"""

from typing import NamedTuple, Optional, cast

import numpy
from thinc.api import Model, get_array_module

from ...common.types import Array
from ...compute.matmul import matmul

# How many tokens a state is scored by: those of state_type = "ner".
NUM_FEATURES = (3, 6)


class Weights(NamedTuple):
    """The parameters of spaCy's parser_model for nF features, nO hidden units of nP pieces.

    W (nF, nO * nP, nI), b (nO * nP,), pad (nF, nO * nP): Those of `lower`.
    upper (nC, nO), upper_b (nC,): Those of `upper`, for nC actions; None if there is none.
    nP: The number of pieces.
    unseen (nC,) bool: On the host, the actions that were never seen in training. None if there are
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

    @property
    def outside(self) -> Array:
        """What is added for all features of a state outside but the first, (nO * nP,)."""
        return self.b + self.pad[1:].sum(axis=0)


def check_features(component: str, model: Model) -> None:
    """Raise ValueError if a parser_model scores states by other tokens than those of `ner`.

    component (str): The name of the component, for the message.
    """
    if model.get_ref("lower").get_dim("nF") not in NUM_FEATURES:
        raise ValueError(
            f'Component "{component}": expected a model that scores states by 3 or 6 tokens, was '
            f'one with {model.get_ref("lower").get_dim("nF")}. Set state_type to "ner" in '
            f"[components.{component}.model], and train it anew, or take spaCy's ner."
        )


def weights_of(model: Model, like: Array) -> Weights:
    """View the parameters of a parser_model, on the device of an array."""
    xp = get_array_module(like)
    lower = model.get_ref("lower")
    W, b, pad = map(xp.asarray, map(lower.get_param, ("W", "b", "pad")))
    nF, nO, nP, nI = W.shape
    upper = upper_b = None
    if model.attrs["has_upper"]:
        upper, upper_b = map(xp.asarray, map(model.get_ref("upper").get_param, "Wb"))
    unseen = None
    if model.attrs["unseen_classes"]:
        unseen = numpy.zeros(nO if upper is None else len(upper), dtype=bool)
        unseen[list(model.attrs["unseen_classes"])] = True
    return Weights(
        W.reshape(nF, nO * nP, nI),
        b.reshape(-1),
        pad.reshape(nF, -1),
        upper,
        upper_b,
        nP,
        unseen,
    )


def outside_sums(X: Array, weights: Weights) -> Array:
    """Sum the features of states outside: X (R, nI) float32, their tokens -> (R, nO * nP)."""
    sums = matmul(X, weights.W[0].T)
    sums += weights.outside
    return sums


def inside_sums(X: Array, starts: Array, tokens: Array, weights: Weights) -> Array:
    """Sum the features of states in entities, (R, nO * nP) float32.

    X (N, nI) float32: The vectors of all tokens.
    starts, tokens (R,) int64: On the host, the open entity's first token, and the state's own.
    """
    xp = get_array_module(X)
    ids = inside_features(starts, tokens, len(weights.W))
    rows = X[xp.asarray(ids.T)]  # (nF, R, nI); of missing tokens, arbitrary ones
    sums = weights.b
    if len(weights.W) > 3:  # otherwise none is missing
        missing = xp.asarray(ids.T < 0)
        rows[missing] = 0
        sums = sums + xp.matmul(missing.T.astype("float32"), weights.pad)
    return sums + xp.matmul(rows, weights.W.transpose(0, 2, 1)).sum(axis=0)


def inside_features(starts: numpy.ndarray, tokens: numpy.ndarray, nF: int) -> numpy.ndarray:
    """List the tokens that are the features of states in entities, (R, nF) int64, -1 for none."""
    if nF == 3:
        return numpy.array([tokens, starts, tokens - 1]).T
    first = starts[:, None] + numpy.arange(nF - 1)
    first[first >= tokens[:, None]] = -1
    return numpy.concatenate([tokens[:, None], first], axis=1)


def largest_pieces(sums: Array, nP: int) -> Array:
    """Take the largest piece of each sum: (R, nO * nP) -> hidden (R, nO)."""
    xp = get_array_module(sums)
    hidden = sums[:, ::nP]
    for piece in range(1, nP):
        hidden = xp.maximum(hidden, sums[:, piece::nP])
    return hidden


def score(hidden: Array, weights: Weights, columns: Optional[numpy.ndarray] = None) -> Array:
    """Score actions: hidden (R, nO) -> (R, nC), or (R, len(columns)) for some of them."""
    if weights.upper is None:
        return hidden if columns is None else hidden[:, columns]
    W, b = weights.upper, cast(Array, weights.upper_b)
    if columns is not None:
        W, b = W[columns], b[columns]
    scores = matmul(hidden, W.T)
    scores += b
    return scores


def score_some(hidden: Array, weights: Weights, columns: numpy.ndarray) -> Array:
    """Score some actions of each state: hidden (R, nO), columns (A, R) int64 -> (A, R)."""
    if weights.upper is None:
        return hidden[numpy.arange(len(hidden)), columns]
    scores = (hidden * weights.upper[columns]).sum(axis=-1)
    scores += cast(Array, weights.upper_b)[columns]
    return scores
