"""Checks of settings, with one wording of errors: numbers, choices, flags, functions and lists.

A config may have a quoted number, true or 3.0 instead of an integer, and the type hints of
registered functions accept some of these. Calls from Python accept everything. So settings are
checked before anything is computed.

Checks raise ValueError for wrong values, for example: width must be an integer from 1 to 256, got
'96' (MultiHashEmbed). Their first arguments are `where`, the layer or the command; `name`, the
setting; and `value`, its value. `advice` says what to do.
"""

from collections.abc import Sequence
from numbers import Integral, Real
from typing import Optional, TypeGuard

import numpy

CHANGE_IT = "Change it in the config."
# The largest number of rows, columns or labels: arrays of 32-bit integers count them.
MAX_SIZE = 2**31 - 1


class OutOfRange(IndexError, ValueError):
    """A row, a label or a column that isn't there. Commands print it as they print ValueErrors."""


def setting_error(
    where: str, name: str, expected: str, value: object, advice: str = CHANGE_IT
) -> ValueError:
    """Make the error for a setting that isn't as expected."""
    return ValueError(f"{name} must be {expected}, got {value!r} ({where}). {advice}")


def is_number(value: object) -> TypeGuard[float]:
    """Check if a value is a number. Strings and bools aren't numbers."""
    return isinstance(value, Real) and not isinstance(value, bool)


def is_whole(value: object, low: int, high: Optional[int] = None) -> bool:
    """Check if a value is an integer of at least low, and at most high if given."""
    if not isinstance(value, Integral) or isinstance(value, bool):
        return False
    return low <= int(value) and (high is None or int(value) <= high)


def is_list(values: object) -> TypeGuard[Sequence[object]]:
    """Check if a value is a sequence such as a list or a tuple, but not a string."""
    return isinstance(values, Sequence) and not isinstance(values, (str, bytes))


def are_whole(values: object, low: int, high: Optional[int] = None) -> bool:
    """Check if a value is a list of integers in this range. It may be empty."""
    return is_list(values) and all(is_whole(value, low, high) for value in values)


def check_whole(
    where: str,
    name: str,
    value: object,
    low: int,
    high: Optional[int] = None,
    *,
    advice: str = CHANGE_IT,
) -> None:
    """Check for an integer >= low, and <= high if given."""
    if not is_whole(value, low, high):
        end = "or more" if high is None else f"to {high:,}"
        start = "of" if high is None else "from"
        raise setting_error(where, name, f"an integer {start} {low:,} {end}", value, advice)


def check_share(where: str, name: str, value: object) -> None:
    """Check for a share below 1."""
    if not (is_number(value) and 0 <= value < 1):
        raise setting_error(where, name, f"a share, 0 <= {name} < 1", value)


def check_unit(where: str, name: str, value: object) -> None:
    """Check for a number from 0 to 1."""
    if not (is_number(value) and 0 <= value <= 1):
        raise setting_error(where, name, "a number from 0 to 1", value)


def check_flag(where: str, name: str, value: object, *, advice: str = CHANGE_IT) -> None:
    """Check for a bool."""
    if not isinstance(value, bool):
        raise setting_error(where, name, "true or false", value, advice)


def check_choice(
    where: str, name: str, value: object, choices: Sequence[str], *, advice: str = CHANGE_IT
) -> None:
    """Check for one of several strings."""
    if not (isinstance(value, str) and value in choices):
        raise setting_error(where, name, f"one of {', '.join(choices)}", value, advice)


def check_string(where: str, name: str, value: object) -> None:
    """Check for a string, or None."""
    if not (value is None or isinstance(value, str)):
        raise setting_error(where, name, "a string, or null", value)


def check_text(text: str) -> None:
    """Check for a text with words."""
    if not text.strip():
        raise ValueError("The text is empty.")
    if any("\ud800" <= letter <= "\udfff" for letter in text):
        raise ValueError("The text has half of a letter (a surrogate). Decode its file as UTF-8.")


def check_function(where: str, name: str, value: object) -> None:
    """Check for a function, or None."""
    if value is not None and not callable(value):
        raise setting_error(where, name, "a function, or null", value)


def check_length(where: str, name: str, values: object, owners: Sequence[str]) -> None:
    """Check for a list with an entry for each owner, such as an attribute."""
    is_array = isinstance(values, numpy.ndarray) and values.ndim == 1
    length = len(values) if is_list(values) or is_array else None  # type: ignore[arg-type]
    if length != len(owners):
        expected = f"a list of {len(owners)} entries, for {', '.join(owners)}"
        raise setting_error(where, name, expected, values)
