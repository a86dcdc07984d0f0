"""Parameters of models, and central differences: gradients that owe nothing to backprop."""

from collections.abc import Callable
from typing import Any

import numpy
from spacy.language import Language
from thinc.api import Model, to_numpy


def params(model: Model) -> list[tuple[Model, str]]:
    """List the nodes of all parameters, and the names that they have there."""
    nodes = ((node, name) for node in model.walk() for name in node.param_names)
    return [(node, name) for node, name in nodes if node.has_param(name)]


def weights_of(model: Model) -> list[numpy.ndarray]:
    """Copy all parameters."""
    return [to_numpy(node.get_param(name)).copy() for node, name in params(model)]


def all_weights(nlp: Language) -> list[numpy.ndarray]:
    models = [getattr(pipe, "model", None) for _, pipe in nlp.components]
    return [each for model in models if isinstance(model, Model) for each in weights_of(model)]


def randomize(model: Model, seed: int = 1, scale: float = 0.5) -> Model:
    """Draw all parameters, those that start as zeros and ones as well."""
    rng = numpy.random.default_rng(seed)
    for node, name in params(model):
        values = rng.normal(scale=scale, size=to_numpy(node.get_param(name)).shape)
        node.set_param(name, node.ops.asarray(values.astype("float32")))
    return model


def check_param_gradients(
    model: Model,
    X: Any,
    vectors_of: Callable[[Any], Any],
    *,
    eps: float,
    atol: float,
    wrap: Callable[[Any], Any] = lambda d: d,
) -> None:
    """Compare each parameter's gradient with that of sum(Y * C), for a fixed random C.

    vectors_of: takes the array of vectors, Y, out of what the model gives.
    wrap: makes of an array of gradients what the model takes back.
    atol: tolerance as a share of the largest entry of each gradient.
    """
    Y, backprop = model.begin_update(X)
    C = numpy.random.default_rng(0).normal(size=vectors_of(Y).shape).astype("float32")
    backprop(wrap(model.ops.asarray(C)))
    for node, name in params(model):
        param = to_numpy(node.get_param(name)).copy()

        def loss(node: Model = node, name: str = name, param: numpy.ndarray = param) -> float:
            node.set_param(name, node.ops.asarray(param.copy()))
            return float((to_numpy(vectors_of(model.predict(X))).astype("float64") * C).sum())

        expected, grad = slopes(loss, param, eps), to_numpy(node.get_grad(name))
        loss()  # with the parameters as they were
        scale = max(float(abs(expected).max()), 1e-6)
        numpy.testing.assert_allclose(grad, expected, rtol=0, atol=atol * scale, err_msg=name)


def slopes(loss: Callable[[], float], values: numpy.ndarray, eps: float = 1e-6) -> numpy.ndarray:
    """Return the gradient of a reference in float64, which reads its values from an array.

    Such small steps seldom cross a kink of ReLU.
    """
    found = numpy.zeros_like(values)
    for index in numpy.ndindex(*values.shape):
        value = values[index]
        ends = []
        for end in (value + eps, value - eps):
            values[index] = end
            ends.append(loss())
        values[index] = value
        found[index] = (ends[0] - ends[1]) / (2 * eps)
    return found
