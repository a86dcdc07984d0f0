"""Settings of a layer that loading weights may confirm, but never change."""

from dataclasses import dataclass
from typing import Generic, TypeVar

import srsly
from thinc.api import Model
from thinc.model import deserialize_attr, serialize_attr

# thinc loads node by node, and a node cannot take back what those before it did.
PARTLY_LOADED = "The model may now hold part of the other weights: build it anew, or load its own."

T = TypeVar("T", int, str, list[int])


@dataclass(frozen=True)
class Pinned(Generic[T]):
    """An attr that decides which rows a token meets, fixed when the layer is built.

    thinc overwrites the attrs of a layer with whatever was saved. For a hash seed that would turn
    trained tables into noise, or quietly disagree with the config. A pinned attr is saved like any
    other; loading compares it, and raises ValueError if the two sides differ.

    value: an int, a bool, a string, or a list of ints.
    """

    value: T


@serialize_attr.register(Pinned)
def _serialize(_: Pinned, value: Pinned, name: str, model: Model) -> bytes:
    return srsly.msgpack_dumps(value.value)


@deserialize_attr.register(Pinned)
def _deserialize(built: Pinned, value: bytes, name: str, model: Model) -> Pinned:
    saved = srsly.msgpack_loads(value)
    if saved != built.value:
        raise ValueError(
            f"Cannot load weights into layer {describe(model)}: it was built with "
            f"{name} = {built.value!r}, the weights were trained with {name} = {saved!r}. "
            f"Set the config to the value of the weights, or train anew. {PARTLY_LOADED}"
        )
    return built


def describe(model: Model) -> str:
    """Name a layer for a message: its name, and the attribute it embeds where it knows one."""
    attr = model.attrs.get("attr")
    return f"'{model.name}' of {attr.value}" if isinstance(attr, Pinned) else f"'{model.name}'"
