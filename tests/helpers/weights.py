"""Copies of the weights of models and of pipelines."""

import numpy
from spacy.language import Language
from thinc.api import Model


def weights_of(model: Model) -> list[numpy.ndarray]:
    return [
        node.get_param(name).copy()
        for node in model.walk()
        for name in node.param_names
        if node.has_param(name)
    ]


def all_weights(nlp: Language) -> list[numpy.ndarray]:
    models = [getattr(pipe, "model", None) for _, pipe in nlp.components]
    return [each for model in models if isinstance(model, Model) for each in weights_of(model)]
