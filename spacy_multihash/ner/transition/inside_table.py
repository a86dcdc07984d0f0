"""Sums of the features of states in entities, many states of few tokens."""

import numpy
from thinc.api import get_array_module

from ...common.types import Array
from ...compute.matmul import matmul
from .states import Weights, inside_features, inside_sums

# How many tokens beyond the last one that begins an entity are in a table.
_AHEAD = 16


class InsideTable:
    """What each of some tokens adds to the sums of a state, as each of its nF features.

    A token is in many states: in those of all entities that began before it. So the product of its
    vector with the weights of each feature is computed once. States of tokens that are not in the
    table are computed one by one.
    """

    def __init__(self, X: Array, weights: Weights, rows: slice) -> None:
        """Fill the table for tokens in a row, and a few more.

        X (N, nI) float32: The vectors of all tokens.
        rows (slice): The tokens that entities may begin with.
        """
        self.X, self.weights = X, weights
        self.first, self.end = rows.start, min(rows.stop + _AHEAD, len(X))
        of_tokens = X[self.first : self.end]
        # The last row, which is that of the feature -1, is for tokens that are missing
        shape = (len(weights.W), len(of_tokens) + 1, weights.W.shape[1])
        self.table = get_array_module(X).empty(shape, dtype="float32")
        for of_feature, W, pad in zip(self.table, weights.W, weights.pad, strict=True):
            of_feature[:-1] = matmul(of_tokens, W.T)
            of_feature[-1] = pad
        self.table[0] += weights.b

    def sums(self, starts: numpy.ndarray, tokens: numpy.ndarray) -> Array:
        """Sum the features of R states as `inside_sums` does, (R, nO * nP) float32.

        starts, tokens (R,) int64: On the host, the open entity's first token, and the state's own.
        """
        beyond = tokens >= self.end
        if not beyond.any():
            return self._looked_up(starts, tokens)
        xp = get_array_module(self.X)
        sums = xp.empty((len(tokens), self.table.shape[2]), dtype="float32")
        for some, function in ((~beyond, self._looked_up), (beyond, self._computed)):
            (states,) = some.nonzero()
            sums[xp.asarray(states)] = function(starts[states], tokens[states])
        return sums

    def _looked_up(self, starts: numpy.ndarray, tokens: numpy.ndarray) -> Array:
        ids = inside_features(starts - self.first, tokens - self.first, len(self.table))
        ids = get_array_module(self.X).asarray(ids)
        sums = self.table[0][ids[:, 0]]
        for feature in range(1, len(self.table)):
            sums += self.table[feature][ids[:, feature]]
        return sums

    def _computed(self, starts: numpy.ndarray, tokens: numpy.ndarray) -> Array:
        return inside_sums(self.X, starts, tokens, self.weights)
