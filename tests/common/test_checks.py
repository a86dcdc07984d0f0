"""What passes for a whole number."""

from typing import Any

import numpy
import pytest

from spacy_multihash.common.checks import is_whole


@pytest.mark.parametrize("value", [1, 5, numpy.int64(5), numpy.uint32(1)])
def test_whole_numbers_of_the_range_pass(value: Any) -> None:
    assert is_whole(value, 1) and is_whole(value, 1, 5)


@pytest.mark.parametrize("value", [0, 6, -1, True, 2.0, numpy.float32(2), "2", None, [2]])
def test_nothing_else_passes(value: Any) -> None:
    assert not is_whole(value, 1, 5)


def test_there_need_not_be_an_end() -> None:
    assert is_whole(10**30, 0)
