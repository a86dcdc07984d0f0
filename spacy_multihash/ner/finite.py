"""Numbers that are not finite, and the parameters that they come from."""

from collections.abc import Iterable

from thinc.api import Model, get_array_module

from ..common.types import Array

# How many parameters a message names.
_NAMED = 3


def are_finite(arrays: Iterable[Array]) -> bool:
    """Tell whether no number of arrays is NaN or infinite."""
    return all(bool(get_array_module(array).isfinite(array).all()) for array in arrays)


def not_finite(component: str, model: Model, what: str, effect: str) -> ValueError:
    """Make the error for numbers that are NaN or infinite; it names the parameters that are.

    component (str): Name of the component.
    what (str): Which numbers they are.
    effect (str): What cannot be done with them.
    """
    return ValueError(
        f'Component "{component}": {what} are not finite (NaN or infinite), so that {effect}. '
        f"{cause_of_not_finite(model)}"
    )


def cause_of_not_finite(model: Model) -> str:
    """Write which parameters are NaN or infinite, and what to do."""
    names = _not_finite(model)
    if names:
        return (
            f"Parameters that are not finite: {_join(names)}. Load weights that are, or train "
            "again with a lower learn_rate or grad_clip."
        )
    return (
        "All its own parameters are finite. Look for large ones, and if its model listens to "
        "another component, at the parameters of that one."
    )


def _not_finite(model: Model) -> list[str]:
    return [
        f"{name} of layer '{node.name}'"
        for node in model.walk()
        for name in node.param_names
        if node.has_param(name) and not bool(node.ops.xp.isfinite(node.get_param(name)).all())
    ]


def _join(names: list[str]) -> str:
    more = len(names) - _NAMED
    return ", ".join(names[:_NAMED]) + (f" and {more} more" if more > 0 else "")
