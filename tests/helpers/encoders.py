"""Plain references of the encoders, in float64: an output and a token at a time."""

import numpy
from thinc.api import Model, to_numpy

Weights = dict[tuple[int, str], numpy.ndarray]


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


def numbered_weights(model: Model) -> Weights:
    """All parameters in float64, by the number of the layer, and their name."""
    return {
        (i, name): to_numpy(layer.get_param(name)).astype("float64")
        for i, layer in enumerate(model.layers)
        for name in layer.param_names
    }


def reference_passes(model: Model, weights: Weights, X: numpy.ndarray) -> list[numpy.ndarray]:
    """One doc, token by token, in float64: the vectors after each pass."""
    dilations, repeats, w, residual = (
        model.attrs[name].value for name in ("dilations", "repeats", "window_size", "residual")
    )
    convolutions = [layer.name for layer in model.layers].count("linear")
    share = convolutions == 1 + len(dilations)

    def convolve(X: numpy.ndarray, layer: int, dilation: int) -> numpy.ndarray:
        W, b = weights[layer, "W"], weights[layer, "b"]
        taps = W.reshape(len(W), 2 * w + 1, X.shape[1])
        Y = numpy.tile(b, (len(X), 1))
        for t in range(len(X)):
            for tap in range(2 * w + 1):
                place = t + (tap - w) * dilation
                if 0 <= place < len(X):
                    Y[t] += taps[:, tap] @ X[place]
        return Y

    def normalize(Y: numpy.ndarray, layer: int) -> numpy.ndarray:
        if len(model.layers) == convolutions:
            return Y
        G, b = (weights[convolutions + layer, name] for name in "Gb")
        centered = Y - Y.mean(axis=1, keepdims=True)
        return centered / numpy.sqrt(Y.var(axis=1, keepdims=True) + 1e-8) * G + b

    X = normalize(convolve(X.astype("float64"), 0, 1), 0)
    passes = []
    for number in range(repeats):
        for i, dilation in enumerate(dilations):
            layer = 1 + i + (0 if share else number * len(dilations))
            Y = normalize(numpy.maximum(convolve(X, layer, dilation), 0), layer)
            X = X + Y if residual else Y
        passes.append(X)
    return passes
