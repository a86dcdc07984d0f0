"""Scores that are not finite, and the parameters that they come from."""

from typing import Optional

from thinc.api import Model

from ...common.types import Array

# How many parameters a message names.
_NAMED = 3


def check_finite(
    component: str, model: Model, scores: Array, transitions: Optional[Array] = None
) -> None:
    """Raise ValueError if scores are NaN or infinite, and name the parameters that are.

    No decoder finds an entity in such scores.

    component (str): Name of the component, for the message.
    scores (N, nO) float32: The scores of tags.
    transitions (nO, nO) float32: The scores of tags that follow each other, or None if they are not
        used. They may be -inf, which forbids a tag to follow.
    """
    xp = model.ops.xp
    usable = transitions is None or bool((transitions < xp.inf).all())
    if usable and bool(xp.isfinite(scores).all()):
        return
    raise ValueError(
        f'Component "{component}": the scores of tags are not finite (NaN or infinite), so that no '
        f"entity can be found. {cause_of_not_finite(model)}"
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
