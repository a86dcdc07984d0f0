"""Checks of settings: whole numbers, numbers, shares and lengths of lists, refused in one wording.

A config may hold a quoted number, true or 3.0 in the place of a whole number, and the types of a
registered function let them pass. So a setting is checked before anything is computed with it.
"""

from collections.abc import Sequence, Sized
from numbers import Integral, Real
from typing import Optional, TypeGuard

CHANGE_IT = "Change it in the config."


def is_whole(value: object, low: int, high: Optional[int] = None) -> bool:
    """Tell whether a setting is a whole number from low on, and up to high if that is given."""
    if not isinstance(value, Integral) or isinstance(value, bool):
        return False
    return low <= int(value) and (high is None or int(value) <= high)


def are_whole(values: object, low: int, high: Optional[int] = None) -> bool:
    """Tell whether a setting is a list of such whole numbers, which may be empty."""
    if not isinstance(values, Sequence) or isinstance(values, str):
        return False
    return all(is_whole(value, low, high) for value in values)


def check_whole(
    where: str,
    name: str,
    value: object,
    low: int,
    high: Optional[int] = None,
    *,
    advice: str = CHANGE_IT,
) -> None:
    """Raise ValueError if a setting is not a whole number from low on, or from low to high.

    where (str): The layer, and what it is of, for the message.
    name (str): Name of the setting in the config.
    value (object): What the setting was given.
    low, high (int): The smallest and the largest number. Without high there is no largest.
    advice (str): What to do.
    """
    if not is_whole(value, low, high):
        end = "on" if high is None else f"to {high}"
        raise refusal(where, name, f"a whole number from {low} {end}", value, advice)


def check_number(
    where: str, name: str, value: object, low: float, *, advice: str = CHANGE_IT
) -> None:
    """Raise ValueError if a setting is not a number from low on; the arguments of check_whole."""
    if not (is_number(value) and value >= low):
        raise refusal(where, name, f"a number from {low} on", value, advice)


def check_share(where: str, name: str, value: object, *, advice: str = CHANGE_IT) -> None:
    """Raise ValueError if a setting is not a share below 1; the arguments of check_whole."""
    if not (is_number(value) and 0 <= value < 1):
        raise refusal(where, name, f"a share, 0 <= {name} < 1", value, advice)


def check_length(
    where: str, name: str, values: object, owners: Sequence[str], *, advice: str = CHANGE_IT
) -> None:
    """Raise ValueError if a setting is not a list with one entry for each of its owners.

    owners (Sequence[str]): What the entries are for, such as the names of attributes. The other
        arguments are those of check_whole.
    """
    if not isinstance(values, Sized) or isinstance(values, str) or len(values) != len(owners):
        expected = f"a list of length {len(owners)}, an entry for each of {', '.join(owners)}"
        raise refusal(where, name, expected, values, advice)


def refusal(
    where: str, name: str, expected: str, value: object, advice: str = CHANGE_IT
) -> ValueError:
    """Make the error for a setting that is not as expected; the arguments of check_whole."""
    return ValueError(f"{where}: {name} must be {expected}, was: {value!r}. {advice}")


def is_number(value: object) -> TypeGuard[float]:
    """Tell whether a value is a number, which a quoted one and a bool are not."""
    return isinstance(value, Real) and not isinstance(value, bool)
