"""Forward functions of layers, with settings that are no attrs."""

from collections.abc import Callable
from functools import partial

_NAMES = ("__module__", "__name__", "__qualname__", "__doc__")


def bound(function: Callable, *settings: object) -> Callable:
    """Fix the first arguments of a function, which keeps its name.

    functools.partial does the same without a name, for which thinc's data validation asks.

    function (Callable): A forward function, in a layer's file so that it can be pickled.
    settings (object): Its first arguments. Attrs would be replaced by those of loaded weights.
    """
    fixed = partial(function, *settings)
    # functools.update_wrapper would show the fixed arguments in the signature as well.
    vars(fixed).update({name: getattr(function, name) for name in _NAMES})
    return fixed
