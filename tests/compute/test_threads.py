"""Threads that share a batch: their number, and what forks and child processes do."""

import multiprocessing
import os
import threading
from collections.abc import Iterator
from typing import Any

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from spacy_multihash import set_threads
from spacy_multihash.compute.dispatch import available_kernels
from spacy_multihash.compute.ops import KernelOps
from spacy_multihash.compute.threads import (
    ROWS_PER_THREAD,
    Part,
    in_parts,
    in_parts_of_docs,
    num_threads,
)
from tests.helpers.kernels import using_kernels
from tests.helpers.processes import run_python


@pytest.fixture(autouse=True)
def _own_threads() -> Iterator[None]:
    former = set_threads(None)
    yield
    set_threads(former)


@pytest.mark.parametrize("threads", [1, 2, 5])
@pytest.mark.parametrize("number", [0, 1, 255, 513, 3000])
def test_parts_cover_a_range_once(number: int, threads: int) -> None:
    set_threads(threads)
    counts = numpy.zeros(number, dtype=int)

    def count(first: int, last: int) -> None:
        counts[first:last] += 1

    in_parts(count, number)
    assert_array_equal(counts, 1)


@given(lengths=st.lists(st.sampled_from([1, 2, 300, 1000]), max_size=12), threads=st.integers(1, 5))
def test_parts_of_docs_cut_no_doc(lengths: list[int], threads: int) -> None:
    set_threads(threads)
    parts: list[Part] = []
    in_parts_of_docs(parts.append, numpy.array(lengths, dtype="int64"), sum(lengths))
    parts.sort(key=lambda part: part.rows.start)
    assert [length for part in parts for length in part.lengths] == lengths
    assert all(part.rows.stop - part.rows.start == part.lengths.sum() for part in parts)
    assert len(parts) <= threads


def test_parts_run_side_by_side() -> None:
    set_threads(2)
    meeting = threading.Barrier(2, timeout=10)
    in_parts(lambda first, last: meeting.wait(), 2 * ROWS_PER_THREAD)  # one alone waits in vain


def test_an_error_in_a_part_is_raised() -> None:
    def fail(first: int, last: int) -> None:
        if first:
            raise KeyError("part")

    set_threads(3)
    with pytest.raises(KeyError, match="part"):
        in_parts(fail, 10 * ROWS_PER_THREAD)


def test_the_former_number_is_returned() -> None:
    assert set_threads(3) is None
    assert num_threads() == 3
    assert set_threads(None) == 3
    with pytest.raises(ValueError, match="must be an integer of at least 1"):
        set_threads(0)


@pytest.mark.parametrize(
    ("variables", "number"),
    [
        ({"SPACY_MULTIHASH_THREADS": "3", "OMP_NUM_THREADS": "2"}, 3),
        ({"SPACY_MULTIHASH_THREADS": "", "OMP_NUM_THREADS": "2"}, 2),
    ],
)
def test_variables_set_the_number(variables: dict[str, str], number: int) -> None:
    code = "from spacy_multihash.compute.threads import num_threads; print(num_threads())"
    assert run_python(code, **variables).stdout == f"{number}\n"


def _in_child(results: "multiprocessing.Queue[object]") -> None:
    for variable in ("SPACY_MULTIHASH_THREADS", "OMP_NUM_THREADS"):
        os.environ.pop(variable, None)
    rows: list[int] = []
    in_parts(lambda first, last: rows.extend(range(first, last)), 3 * ROWS_PER_THREAD)
    results.put((num_threads(), len(rows)))


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_process_has_one_thread_and_works(method: str) -> None:
    set_threads(3)
    in_parts(lambda first, last: None, 9 * ROWS_PER_THREAD)  # threads don't live on in a fork
    set_threads(None)
    context: Any = multiprocessing.get_context(method)
    results = context.Queue()
    process = context.Process(target=_in_child, args=(results,))
    process.start()
    assert results.get(timeout=60) == (1, 3 * ROWS_PER_THREAD)
    process.join()


def test_children_that_are_forked_beside_predicting_threads_do_not_hang() -> None:
    code = """
import os, threading, numpy
from spacy_multihash import set_threads
from spacy_multihash.layers import MaxoutNorm
set_threads(2)
model = MaxoutNorm(8, 8).initialize()
X = numpy.ones((2000, 8), dtype="float32")
expected = model.predict(X)
going = True
def work():
    while going:
        model.predict(X)
threads = [threading.Thread(target=work, daemon=True) for _ in range(3)]
for thread in threads:
    thread.start()
failed = 0
for _ in range(20):
    pid = os.fork()
    if pid == 0:
        os._exit(0 if (model.predict(X) == expected).all() else 1)
    failed += os.waitpid(pid, 0)[1] != 0
going = False
for thread in threads:
    thread.join()
print(failed)
"""
    if not hasattr(os, "fork"):
        pytest.skip("this system does not fork")
    assert run_python(code).stdout == "0\n"


@pytest.mark.parametrize("kernels", available_kernels())
@pytest.mark.parametrize(("n", "K", "N"), [(0, 3, 2), (1, 1, 1), (5, 7, 4), (700, 96, 10)])
def test_products_equal_those_of_thinc(kernels: str, n: int, K: int, N: int) -> None:
    rng = numpy.random.default_rng(0)
    X, W, V = (rng.normal(size=shape).astype("float32") for shape in ((n, K), (N, K), (K, N)))
    with using_kernels(kernels):
        set_threads(2)
        assert_allclose(KernelOps().gemm(X, W, trans2=True), X @ W.T, atol=1e-4)
        if n:
            assert_allclose(KernelOps().gemm(X, V), X @ V, atol=1e-4)
        out = numpy.full((n, N), numpy.nan, dtype="float32")
        assert KernelOps().gemm(X, W, trans2=True, out=out) is out
        assert_allclose(out, X @ W.T, atol=1e-4)
        b = rng.normal(size=N).astype("float32")
        assert_allclose(KernelOps().affine(X, W, b), X @ W.T + b, atol=1e-4)
