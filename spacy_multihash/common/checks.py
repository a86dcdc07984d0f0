"""Whole numbers of a range: configs may hold quoted or broken ones, which pass for numbers."""

from numbers import Integral
from typing import Any, Optional


def is_whole(value: Any, low: int, high: Optional[int] = None) -> bool:  # noqa: ANN401
    """Tell whether a setting is a whole number from low on, and up to high if that is given."""
    if not isinstance(value, Integral) or isinstance(value, bool):
        return False
    return low <= int(value) and (high is None or int(value) <= high)
