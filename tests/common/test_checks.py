"""What passes for a setting, and how another is refused."""

from collections.abc import Callable
from typing import Any

import numpy
import pytest

from spacy_multihash.common.checks import (
    are_whole,
    check_choice,
    check_flag,
    check_function,
    check_length,
    check_share,
    check_string,
    check_unit,
    check_whole,
)

NO_NUMBERS = ["2", True, False, None, [2], "", numpy.bool_(True)]
OWNERS = ["NORM", "SHAPE"]
NAN, INF = float("nan"), float("inf")
# A check of a value, what passes, what doesn't, and what the error expects.
CHECKS: dict[str, tuple[Callable[[Any], None], list[Any], list[Any], str]] = {
    "whole": (
        lambda value: check_whole("Layer", "x", value, 1, 5),
        [1, 5, numpy.int64(5), numpy.uint32(1)],
        [0, 6, -1, 2.0, numpy.float32(2), *NO_NUMBERS],
        "an integer from 1 to 5",
    ),
    "whole without an end": (
        lambda value: check_whole("Layer", "x", value, 0),
        [0, 10**30],
        [-1],
        "an integer of 0 or more",
    ),
    "share": (
        lambda value: check_share("Layer", "x", value),
        [0, 0.0, 0.999, numpy.float32(0.5)],
        [-0.1, 1, 1.0, 7, NAN, *NO_NUMBERS],
        "a share, 0 <= x < 1",
    ),
    "unit": (
        lambda value: check_unit("Layer", "x", value),
        [0, 0.5, 1],
        [-0.1, 1.1, NAN, *NO_NUMBERS],
        "a number from 0 to 1",
    ),
    "flag": (
        lambda value: check_flag("Layer", "x", value),
        [True, False],
        ["true", 1, 0, None, [True]],
        "true or false",
    ),
    "choice": (
        lambda value: check_choice("Layer", "x", value, ["sum", "mean"]),
        ["sum"],
        ["max", "", "Sum", None, 1, ["sum"], b"sum"],
        "one of sum, mean",
    ),
    "string": (
        lambda value: check_string("Layer", "x", value),
        [None, "", "found"],
        [0, True, b"found", ["found"]],
        "a string, or null",
    ),
    "function": (
        lambda value: check_function("Layer", "x", value),
        [None, len, numpy.zeros],
        ["zero_init.v1", 0, {}],
        "a function, or null",
    ),
    "length": (
        lambda value: check_length("Layer", "x", value, OWNERS),
        [[1, 2], (1, 2), numpy.array([1, 2])],
        [[5], [], [1, 2, 3], "12", b"12", 2, None, {1: 2, 3: 4}, {1, 2}, numpy.array(2)],
        "a list of 2 entries, for NORM, SHAPE",
    ),
}


@pytest.mark.parametrize("name", CHECKS)
def test_settings_pass_or_are_refused_with_what_was_expected(name: str) -> None:
    check, good, bad, expected = CHECKS[name]
    for value in good:
        check(value)
    for value in bad:
        with pytest.raises(ValueError) as error:
            check(value)
        message = f"x must be {expected}, got {value!r} (Layer). Change it in the config."
        assert str(error.value) == message


def test_lists_of_whole_numbers_pass_and_no_others() -> None:
    good: list[Any] = [[], [1, 5], (2,), [numpy.int64(3)]]
    bad: list[Any] = [[0], [1, 6], ["1"], [True], [1.0], "12", b"12", 2, None, {1: 2}]
    assert [are_whole(values, 1, 5) for values in good] == [True] * len(good)
    assert [are_whole(values, 1, 5) for values in bad] == [False] * len(bad)
