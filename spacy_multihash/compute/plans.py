"""Plans: what a layer reads from its nodes, kept from call to call.

Reading thirty parameters through thinc, and checking their shapes, takes longer than computing a
short text. So a layer reads them through a `Reading`, which notes where each was, and keeps what it
made of them. The next call compares identities, in a few microseconds, and reads anew if a
parameter, an attribute or a layer is another object. A parameter that's changed in place is the
same object, and the plan has its array, not a copy.
"""

from collections.abc import Callable, Sequence
from operator import attrgetter
from typing import Any, NamedTuple, Optional

from thinc.api import Model

from .array_ops import ArrayOps
from .dispatch import kernels


class Reading:
    """Read from the nodes of a model, without notes. kernels.pyx has one that takes notes.

    param: Read a parameter. Raises KeyError if the node lacks it, or if it isn't set.
    has_param: Whether a parameter is set. thinc keeps its array when it's set to None.
    ref: Read a reference to another node, or None.
    layers: Read the layers of a node.
    attribute: Read an attribute of any object.
    """

    param: Callable[[Model, str], Any] = staticmethod(Model.get_param)
    has_param: Callable[[Model, str], Optional[bool]] = staticmethod(Model.has_param)
    ref: Callable[[Model, str], Optional[Model]] = staticmethod(Model.maybe_get_ref)
    layers: Callable[[Model], list[Model]] = staticmethod(attrgetter("layers"))
    attribute: Callable[[object, str], Any] = staticmethod(getattr)

    def attr(self, node: Model, name: str) -> Any:  # noqa: ANN401
        """Read an entry of `node.attrs`."""
        return node.attrs[name]

    def entry(self, owner: dict, key: str) -> Sequence:
        """Read a list that a dict may have: its items, or none."""
        return owner.get(key, ())


READING = Reading()


def read_param(reading: Reading, node: Model, name: str, ndim: int) -> Any:  # noqa: ANN401
    """Read a parameter that must have so many dimensions. Raises ValueError for any other.

    Its sizes are checked by what computes with it.
    """
    array = reading.param(node, name)
    if getattr(array, "ndim", None) != ndim:
        raise ValueError(
            f"Layer '{node.name}': expected {name} as an array of {ndim} dimensions, got "
            f"{getattr(array, 'shape', array)!r}. Load the layer's own weights."
        )
    return array


class _Made(NamedTuple):
    model: Model
    ops: ArrayOps
    reading: Any
    made: Any


class Plan:
    """Keep what was made from a model, for one layer. A copy, or a pickle, keeps nothing.

    Threads may share it: each works with what it got, and the last one to read keeps its own.
    """

    def __init__(self) -> None:
        """Keep nothing yet."""
        self._last: Optional[_Made] = None

    def __reduce__(self) -> tuple[type, tuple]:
        """Copy and pickle as a new plan."""
        return Plan, ()

    def of(
        self, model: Model, ops: ArrayOps, make: Callable[[ArrayOps, Reading, Model], Any]
    ) -> Any:  # noqa: ANN401 (what `make` returns)
        """Return what `make` makes from a model, now or before.

        make (Callable): Takes the operations, a reading and the model. It must read everything that
            may change through the reading.
        """
        last = self._last
        if last and last.model is model and last.ops is ops and last.reading.is_current():
            return last.made
        if not ops.is_compiled:
            return make(ops, READING, model)
        reading = kernels.Reading()
        made = make(ops, reading, model)
        self._last = _Made(model, ops, reading, made)
        return made
