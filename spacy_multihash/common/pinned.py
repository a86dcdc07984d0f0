"""Settings of a layer that loading weights may confirm, but never change."""

from dataclasses import dataclass
from typing import Generic, TypeVar

import srsly
from thinc.api import Model
from thinc.model import deserialize_attr, serialize_attr

from .messages import unpack

# thinc loads node by node: nodes before the one that refuses have their new weights already.
PARTLY_LOADED = "The model may now hold part of the other weights: build it anew, or load its own."

T = TypeVar("T", int, str, list[int])


@dataclass(frozen=True)
class Pinned(Generic[T]):
    """An attr that is fixed when the layer is built: it decides which rows a token gets.

    thinc overwrites the attrs of a layer with the saved ones. For a hash seed, that would turn
    trained tables into noise, or quietly disagree with the config. A pinned attr is saved like any
    other, but loading only compares it, and raises ValueError if the saved value differs.

    value: An int, a bool, a string, or a list of such values, in which None may stand.
    """

    value: T


@serialize_attr.register(Pinned)
def _serialize(_: Pinned, value: Pinned, name: str, model: Model) -> bytes:
    return srsly.msgpack_dumps(value.value)


@deserialize_attr.register(Pinned)
def _deserialize(built: Pinned, value: bytes, name: str, model: Model) -> Pinned:
    saved = unpack(value)
    if saved != built.value:
        raise ValueError(
            f"Cannot load weights into layer {describe(model)}: it was built with "
            f"{name} = {built.value!r}, the weights were trained with {name} = {saved!r}. "
            f"Set the config to the value of the weights, or train anew. {PARTLY_LOADED}"
        )
    return built


def describe(model: Model) -> str:
    """Name a layer for a message, with the attribute that it embeds, if it has one."""
    attr = model.attrs.get("attr")
    return f"'{model.name}' of {attr.value}" if isinstance(attr, Pinned) else f"'{model.name}'"
