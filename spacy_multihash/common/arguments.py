"""Arguments of public functions, checked against their type hints.

Python runs `accelerate("model", output=5)`, and fails somewhere in it. `@checked` raises ValueError
at the call instead, with the name of the argument. So a function with hints needs no other check of
types, and of ranges that a hint has, such as `Positive`. The items of an iterable, which can be
read only once, are left to the function.
"""

import inspect
import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import cache, partial, wraps
from numbers import Integral, Real
from pathlib import Path
from types import NoneType, UnionType
from typing import (
    Annotated,
    Any,
    Literal,
    NamedTuple,
    Optional,
    TypeVar,
    Union,
    cast,
    get_args,
    get_origin,
    get_type_hints,
)

import numpy

T = TypeVar("T", bound=Callable)


class Between(NamedTuple):
    """The range of a number, with both ends."""

    low: float
    high: Optional[float] = None

    def __str__(self) -> str:
        """Say it after the name of a number."""
        end = "" if self.high is None else f" to {self.high:,}"
        return f" from {self.low:,}{end}" if end else f" of at least {self.low:,}"


Count = Annotated[int, Between(0)]
Positive = Annotated[int, Between(1)]
Seed = Annotated[int, Between(0, 2**32 - 1)]
Amount = Annotated[float, Between(0)]
Share = Annotated[float, Between(0, 1)]
# What hints of numbers accept, as in PEP 484 and of numpy, but no bools as numbers.
_NUMBERS: dict[Any, Any] = {int: Integral, float: Real, bool: (bool, numpy.bool_)}
_NAMES = {str: "string", Path: "path", int: "integer", float: "number"}


def checked(target: T) -> T:
    """Make a function or a dataclass check the types of its arguments. Its hints say them."""
    if isinstance(target, type):
        target.__init__ = _checking(target.__init__, target)  # type: ignore[misc]
        return target
    return cast(T, _checking(target, target))


def _checking(function: Callable, described: Callable) -> Callable:
    signature = inspect.signature(function)
    # Not yet: the module may define their names later.
    hints_of = cache(partial(get_type_hints, described, include_extras=True))

    @wraps(function)
    def call(*args: Any, **settings: Any) -> Any:  # noqa: ANN401
        try:
            given = signature.bind(*args, **settings).arguments
        except TypeError:
            return function(*args, **settings)  # Python's own error names the function
        for name, hint in hints_of().items():
            is_several = name in given and signature.parameters[name].kind.name == "VAR_POSITIONAL"
            values = given[name] if is_several else [given[name]] if name in given else []
            for value in values:
                if not fits(value, hint):
                    where = f"{type(value).__name__}: {value!r:.60}"
                    raise ValueError(
                        f"{name} must be {describe(hint)}, got {where} ({described.__name__})."
                    )
        return function(*args, **settings)

    return call


def fits(value: object, hint: Any) -> bool:  # noqa: ANN401 (a hint)
    """Return whether a value is of a type, as a hint says it. Iterables aren't read."""
    kind, inner = get_origin(hint) or hint, get_args(hint)
    if kind in (Union, UnionType):
        return any(fits(value, each) for each in inner)
    if kind is Annotated:
        of, (low, high) = inner
        return fits(value, of) and low <= cast(Any, value) <= (math.inf if high is None else high)
    if kind is Literal:
        return isinstance(value, str) and value in inner
    if kind in _NUMBERS:
        return isinstance(value, _NUMBERS[kind]) and (kind is bool or not isinstance(value, bool))
    if kind in (Iterable, Sequence):
        return _is_list(value, kind, inner[0])
    if kind in (dict, Mapping, tuple):
        return _items_fit(value, kind, inner)
    if kind is Callable:
        return callable(value)
    if _is_protocol(kind):
        members = [name for name in vars(kind) if name == "__call__" or name[0] != "_"]
        return all(hasattr(value, name) for name in members)
    return kind is Any or not isinstance(kind, type) or isinstance(value, kind)


def _is_list(value: Any, kind: Any, inner: Any) -> bool:  # noqa: ANN401
    """Return whether a value can be iterated over; and if it's a sequence, whether its items fit.

    An array is a sequence, too. Strings and mappings are no lists.
    """
    if isinstance(value, (str, bytes, Mapping)) or not is_iterable(value):
        return False
    if kind is Iterable:
        return True
    if not hasattr(value, "__len__"):
        return False
    return all(isinstance(x, str) if inner is str else fits(x, inner) for x in value)


def _items_fit(value: Any, kind: Any, inner: tuple) -> bool:  # noqa: ANN401
    """Return whether a mapping's keys and values fit, or the items of a tuple."""
    if kind is tuple:
        is_tuple = isinstance(value, (tuple, list)) and len(value) == len(inner)
        return is_tuple and all(map(fits, value, inner))
    return isinstance(value, kind) and (
        {*inner} <= {Any} or all(all(map(fits, pair, inner)) for pair in value.items())
    )


def range_of(hint: Any) -> Optional[Between]:  # noqa: ANN401 (a hint)
    """Return the range of a number, None for other hints."""
    if get_origin(hint) is Annotated:
        return get_args(hint)[1]
    inner = get_args(hint) if get_origin(hint) in (Union, UnionType) else ()
    return next(filter(None, map(range_of, inner)), None)


def is_iterable(value: object) -> bool:
    """Return whether a loop can go over a value: `iter` also takes what has items by number."""
    try:
        iter(cast(Iterable, value))
    except TypeError:
        return False
    return True


def describe(hint: Any) -> str:  # noqa: ANN401 (a hint)
    """Say what a hint accepts, for errors: "a path, a DocBin or a list of Docs"."""
    shown = [
        name if name.startswith("one of") else f"{'an' if name[0] in 'aeiou' else 'a'} {name}"
        for name in _names(hint)
    ]
    *first, last = dict.fromkeys(shown)
    return f"{', '.join(first)} or {last}" if first else last


def _names(hint: Any) -> list[str]:  # noqa: ANN401 (a hint)
    """Return the names of what a hint accepts, but of None. A path may be a string."""
    kind, inner = get_origin(hint) or hint, get_args(hint)
    if kind in (Union, UnionType):
        shown = [each for each in inner if not (each is str and Path in inner)]
        return [name for each in shown if each is not NoneType for name in _names(each)]
    if kind is Iterable or kind is Sequence:
        plural = (name if name.endswith("s") else f"{name}s" for name in _names(inner[0]))
        items = "" if inner[0] is Any else f" of {' or '.join(plural)}"
        return [f"list{items}"]
    if kind is Literal:
        return [f"one of {', '.join(map(str, inner))}"]
    if kind is Annotated:
        return [f"{_names(inner[0])[0]}{inner[1]}"]
    if kind is Callable or (_is_protocol(kind) and "__call__" in vars(kind)):
        return ["function"]
    return [_NAMES[kind] if kind in _NAMES else str(getattr(kind, "__name__", "value"))]


def _is_protocol(kind: Any) -> bool:  # noqa: ANN401 (a hint)
    return getattr(kind, "_is_protocol", False)
