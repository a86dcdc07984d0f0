"""Plain references of the Maxout layers, in float64, an output at a time."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy
from thinc.api import Model, Ops, to_numpy


def reference_maxout_norm(model: Model, X: numpy.ndarray) -> numpy.ndarray:
    """Maxout and layer normalization, row by row and output by output."""
    W, b, G, beta = (
        to_numpy(model.get_param(name)).astype("float64") for name in ("W", "b", "G", "beta")
    )
    Y = numpy.zeros((len(X), W.shape[0]))
    for i, x in enumerate(X):
        for o in range(W.shape[0]):
            Y[i, o] = max(float(W[o, p] @ x + b[o, p]) for p in range(W.shape[1]))
        Y[i] = (Y[i] - Y[i].mean()) / numpy.sqrt(Y[i].var() + 1e-8)
    return Y * G + beta


def reference_encoder(model: Model, X: numpy.ndarray) -> numpy.ndarray:
    """One doc through a MaxoutWindowEncoder, with all the padding that spaCy puts around it."""
    w = model.attrs["window_size"].value
    pad = numpy.zeros((w * len(model.layers), X.shape[1]))
    rows = numpy.concatenate([pad, X, pad])
    for layer in model.layers:
        outside = numpy.zeros((w, X.shape[1]))
        around = numpy.concatenate([outside, rows, outside])
        windows = [around[i : i + 2 * w + 1].ravel() for i in range(len(rows))]
        rows = rows + reference_maxout_norm(layer, numpy.asarray(windows))
    return rows[len(pad) : len(pad) + len(X)]


def randomize(model: Model, seed: int = 1) -> Model:
    """Fill all parameters, those that start as zeros and ones as well."""
    rng = numpy.random.default_rng(seed)
    for node in model.walk():
        for name in node.param_names:
            shape = to_numpy(node.get_param(name)).shape
            values = rng.normal(scale=0.5, size=shape).astype("float32")
            node.set_param(name, node.ops.asarray(values))
    return model


def random_vectors(n: int, width: int, seed: int = 0) -> numpy.ndarray:
    """(n, width) float32."""
    return numpy.random.default_rng(seed).normal(size=(n, width)).astype("float32")


def batch(ops: Ops, lengths: Sequence[int], width: int, seed: int = 0) -> list[Any]:
    """Random docs of these lengths, (length, width) float32 each."""
    rows = random_vectors(sum(lengths), width, seed=seed)
    ends = numpy.cumsum([0, *lengths])
    return [ops.asarray(rows[start:end]) for start, end in pairwise(ends)]


def flat(arrays: Sequence[Any]) -> numpy.ndarray:
    """Put the rows of all docs below each other."""
    return numpy.concatenate([to_numpy(array) for array in arrays])
