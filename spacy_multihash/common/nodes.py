"""Nodes of models: make them, find them by name, and pin their settings."""

from collections.abc import Callable
from dataclasses import dataclass
from functools import partial
from typing import Generic, TypeVar

import numpy
import srsly
from thinc.api import Model, noop
from thinc.model import deserialize_attr, serialize_attr

# Names of thinc's and spaCy's nodes. The names of our nodes are in their layers' files.
EXPAND_WINDOW = "expand_window"
EXTRACT_FEATURES = "extract_features"
EXTRACT_NGRAMS = "extract_ngrams"
HASH_EMBED = "hashembed"
LAYER_NORM = "layernorm"
LINEAR = "linear"
MAXOUT = "maxout"
STATIC_VECTORS = "static_vectors"


def find_nodes(model: Model, *names: str) -> list[Model]:
    """List the nodes of a model that have one of the names, in the order of `model.walk()`."""
    return [node for node in model.walk() if node.name in names]


def has_layers(node: Model, *names: str) -> bool:
    """Check if a node's layers have exactly these names, in this order."""
    return tuple(layer.name for layer in node.layers) == names


def forget_weights(node: Model) -> None:
    """Remove the weights and gradients of a node, and give it a new id.

    Optimizers keep state by id, which wouldn't fit weights of another shape.
    """
    for name in node.param_names:
        empty = node.ops.alloc1f(0)  # thinc keeps unset arrays until they're replaced
        node.set_param(name, empty)
        node.set_grad(name, empty)
        node.set_param(name, None)
    node.id = noop().id


def bound(function: Callable, *settings: object) -> Callable:
    """Fix the first arguments of a forward function, which keeps its name.

    functools.partial has no name, which thinc's data validation needs.

    function (Callable): A forward function, in a layer's file so that it can be pickled.
    settings (object): Its first arguments. Loading weights would replace attrs.
    """
    fixed = partial(function, *settings)
    # functools.update_wrapper would show the fixed arguments in the signature as well.
    names = ("__module__", "__name__", "__qualname__", "__doc__")
    vars(fixed).update({name: getattr(function, name) for name in names})
    return fixed


def no_backprop(name: str) -> Callable:
    """Return a callback that says why there's no backward pass."""

    def backprop(dY: object) -> object:
        raise ValueError(
            f"Layer '{name}' cannot go back from a prediction. Call begin_update, or call the "
            "model with is_train=True."
        )

    return backprop


# Settings that loading weights may confirm, but never change

# thinc loads node by node: nodes before the failing node already have their new weights.
PARTLY_LOADED = "The model may now hold part of the other weights: build it anew, or load its own."

T = TypeVar("T", int, str, list[int])


@dataclass(frozen=True)
class Pinned(Generic[T]):
    """An attr that is fixed when the layer is built: it decides which rows a token gets.

    thinc overwrites the attrs of a layer with saved attrs. For a hash seed, that would turn trained
    tables into noise, or quietly disagree with the config. A pinned attr is saved like any other,
    but loading only compares it, and raises ValueError if the saved value differs.

    value: An int, a bool, a string, or a list of such values, which may include None.
    """

    value: T


@serialize_attr.register(Pinned)
def _serialize(_: Pinned, value: Pinned, name: str, model: Model) -> bytes:
    return srsly.msgpack_dumps(value.value)


@deserialize_attr.register(Pinned)
def _deserialize(built: Pinned, value: bytes, name: str, model: Model) -> Pinned:
    saved = srsly.msgpack_loads(value)
    # numpy's numbers have other bytes than Python's
    if value != srsly.msgpack_dumps(built.value) and not numpy.array_equal(saved, built.value):
        raise ValueError(
            f"Cannot load weights into layer {describe(model)}: it was built with "
            f"{name} = {built.value!r}, the weights were trained with {name} = {saved!r}. "
            f"Set the config to the value of the weights, or train anew. {PARTLY_LOADED}"
        )
    return built


def describe(model: Model) -> str:
    """Name a layer for a message, with the attribute that it embeds, if any."""
    attr = model.attrs.get("attr")
    return f"'{model.name}' of {attr.value}" if isinstance(attr, Pinned) else f"'{model.name}'"
