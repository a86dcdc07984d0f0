"""Memory that is used again: what holds in production, and what tests check in addition."""

import os
import subprocess
import sys
from collections.abc import Iterator
from threading import Thread

import numpy
import pytest
from numpy.testing import assert_array_equal

from spacy_multihash.compute.buffers import (
    VARIABLE,
    check_buffers,
    gather_windows,
    scratch,
    take_rows,
)

LIKE = numpy.zeros(0, dtype="float32")


@pytest.fixture
def unchecked() -> Iterator[None]:
    former = check_buffers(False)
    yield
    check_buffers(former)


def fill(name: str, value: float, shape: tuple[int, int] = (2, 3)) -> None:
    scratch(name, shape, LIKE)[:] = value


def test_tests_check_buffers() -> None:
    assert check_buffers(True) is True


def test_released_buffer_is_filled_with_nan() -> None:
    fill("test", 7)
    again = scratch("test", (3, 2), LIKE)
    assert numpy.isnan(again).all()


def test_new_buffer_is_filled_with_nan() -> None:
    assert numpy.isnan(scratch("new", (2, 2), LIKE)).all()


def test_buffer_in_use_is_not_handed_out_again() -> None:
    kept = scratch("test", (2, 3), LIKE)
    with pytest.raises(RuntimeError, match="'test' is asked for again while .* still in use"):
        scratch("test", (1, 1), LIKE)
    del kept
    fill("test", 0)


def test_buffer_whose_part_is_in_use_is_not_handed_out_again() -> None:
    kept = scratch("test", (2, 3), LIKE).reshape(6)[1:3]
    with pytest.raises(RuntimeError, match="still in use"):
        take_rows("test", numpy.ones((4, 2), dtype="float32"), numpy.array([1, 2]))
    assert kept.shape == (2,)


def test_windows_in_use_are_not_overwritten() -> None:
    X, reads = numpy.ones((4, 2), dtype="float32"), numpy.array([[0, 1], [1, 2]])
    windows = gather_windows(X, reads)
    with pytest.raises(RuntimeError, match="'windows' is asked for again"):
        gather_windows(2 * X, reads)
    assert_array_equal(windows, 1)


def test_buffers_of_other_names_and_threads_are_free() -> None:
    kept = [scratch("test", (2, 3), LIKE), scratch("other", (2, 3), LIKE)]
    thread = Thread(target=lambda: kept.append(scratch("test", (2, 3), LIKE)))
    thread.start()
    thread.join()
    for value, array in enumerate(kept):
        array[:] = value
    assert [array.mean() for array in kept] == [0, 1, 2]


@pytest.mark.parametrize("shape", [(0, 3), (3, 0)])
def test_buffer_may_be_empty(shape: tuple[int, int]) -> None:
    assert scratch("test", shape, LIKE).shape == shape


@pytest.mark.usefixtures("unchecked")
def test_memory_is_used_again_without_checks() -> None:
    first = scratch("test", (2, 3), LIKE)
    assert numpy.shares_memory(first, scratch("test", (3, 1), LIKE))


@pytest.mark.parametrize(("value", "expected"), [("1", "True"), ("0", "False"), ("", "False")])
def test_environment_variable_switches_checks_on(value: str, expected: str) -> None:
    code = "from spacy_multihash.compute.buffers import check_buffers; print(check_buffers(True))"
    env = {**os.environ, VARIABLE: value}
    ran = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True)
    assert ran.stdout.strip() == expected, ran.stderr
