import dis
import multiprocessing
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from functools import cache
from itertools import pairwise
from types import CodeType, FrameType
from typing import Any

import numpy
import pytest
from numpy.testing import assert_allclose
from thinc.api import Linear, NumpyOps
from threadpoolctl import threadpool_limits

from spacy_multihash.compute import blas
from spacy_multihash.compute.blas import num_threads, set_products, single_threaded
from spacy_multihash.compute.matmul import ProductOps, matmul, use_product_ops
from spacy_multihash.compute.threads import map_chunks

OPS = NumpyOps()


@pytest.fixture(autouse=True)
def _restore_setting() -> Iterator[None]:
    former = set_products("auto")
    yield
    set_products(former)


def matrix(*shape: int) -> numpy.ndarray:
    return numpy.random.default_rng(0).normal(size=shape).astype("float32")


@pytest.mark.parametrize("setting", ["auto", "numpy", "blis"])
@pytest.mark.parametrize(("M", "K", "N"), [(0, 3, 4), (1, 1, 1), (1, 5, 4), (70, 90, 110)])
def test_products_of_any_layout_are_right(setting: str, M: int, K: int, N: int) -> None:
    set_products(setting)
    A, B = matrix(M, K), matrix(K, N)
    expected = A.astype("float64") @ B.astype("float64")
    for left in (A, numpy.ascontiguousarray(A.T).T):
        for right in (B, numpy.ascontiguousarray(B.T).T):
            out = numpy.empty((M, N), dtype="float32")
            assert_allclose(matmul(left, right), expected, atol=1e-4)
            matmul(left, right, out=out)
            assert_allclose(out, expected, atol=1e-4)


@pytest.mark.parametrize("setting", ["auto", "numpy", "blis"])
@pytest.mark.parametrize("size", [4, 200])
def test_ops_multiply_as_thinc_does(setting: str, size: int) -> None:
    set_products(setting)
    X, Y = matrix(size, size), matrix(size, size) + 1
    for trans1 in (False, True):
        for trans2 in (False, True):
            found = ProductOps().gemm(X, Y, trans1=trans1, trans2=trans2)
            expected = NumpyOps().gemm(X, Y, trans1=trans1, trans2=trans2)
            assert_allclose(found, expected, rtol=1e-3, atol=1e-3)
            out = numpy.empty_like(expected)
            ProductOps().gemm(X, Y, out=out, trans1=trans1, trans2=trans2)
            assert_allclose(out, expected, rtol=1e-3, atol=1e-3)


def test_models_take_their_products_from_here() -> None:
    model = Linear(4, 3).initialize()
    X = matrix(5, 3)
    before = model.predict(X)
    use_product_ops(model)
    assert isinstance(model.ops, ProductOps)
    assert_allclose(model.predict(X), before, atol=1e-6)
    model.to_cpu()
    assert type(model.ops) is NumpyOps


def test_settings_are_given_back_as_they_were_set() -> None:
    assert set_products("numpy:3") == "auto"
    assert num_threads() == 3
    assert set_products("blis") == "numpy:3"
    assert set_products(" auto:1 ") == "blis"


@pytest.mark.parametrize("setting", ["", "mkl", "auto:", "auto:0", "auto:-1", "numpy:two", ":2"])
def test_other_settings_are_refused(setting: str) -> None:
    with pytest.raises(ValueError, match='set_products: expected "auto", "numpy" or "blis", or'):
        set_products(setting)


def run_python(code: str, **variables: str) -> subprocess.CompletedProcess:
    return subprocess.run(
        [sys.executable, "-c", code],
        env=os.environ | variables,
        capture_output=True,
        text=True,
        timeout=120,
    )


def test_the_environment_gives_the_first_setting() -> None:
    code = "from spacy_multihash.compute.blas import set_products; print(set_products('auto'))"
    assert run_python(code, SPACY_MULTIHASH_PRODUCTS="blis:2").stdout.strip() == "blis:2"
    failed = run_python(code, SPACY_MULTIHASH_PRODUCTS="fast")
    assert "Environment variable SPACY_MULTIHASH_PRODUCTS: expected" in failed.stderr


def counts() -> list[int]:
    return [library.get_num_threads() for library in blas._libraries()]


def test_without_a_number_there_are_as_many_threads_as_numpy_has() -> None:
    for n in (1, 2):
        with threadpool_limits(n):
            assert num_threads() == n
            assert single_threaded(num_threads) == n


def test_blas_gets_its_threads_back_after_the_last_call() -> None:
    def nested() -> tuple[list[int], list[int]]:
        return single_threaded(counts), counts()

    with threadpool_limits(2):
        before = counts()
        assert single_threaded(nested) == ([1] * len(before), [1] * len(before))
        assert counts() == before
        with pytest.raises(KeyError):
            single_threaded({}.__getitem__, "missing")
        assert counts() == before


def test_any_thread_can_limit_blas_and_give_its_threads_back() -> None:
    def in_thread(function: Callable[[], Any]) -> Any:
        with ThreadPoolExecutor(1) as pool:
            return pool.submit(function).result()

    with threadpool_limits(2):  # this thread is the first that has set a number
        two = counts()
        one = [1] * len(two)
        assert single_threaded(counts) == one
        assert in_thread(lambda: single_threaded(counts)) == one
        assert counts() == two
        assert single_threaded(in_thread, lambda: single_threaded(counts)) == one
        assert counts() == two

    def of_users() -> list[int]:
        with threadpool_limits(2):
            return counts()

    assert in_thread(lambda: single_threaded(counts)) == one
    assert in_thread(of_users) == two  # another thread than the last one that we were called in
    assert of_users() == two


@cache
def after_calls(code: CodeType) -> set[int]:
    """Find the instructions before which Python looks for signals: those that follow a call."""
    return {
        after.offset
        for call, after in pairwise(dis.get_instructions(code))
        if call.opname.startswith("CALL")
    }


def interrupt_at(step: int) -> bool:
    """Raise KeyboardInterrupt where a signal may, the step-th time; tell whether that came."""
    seen = 0

    def trace(frame: FrameType, event: str, _: Any) -> Any:
        nonlocal seen
        code = frame.f_code
        if code.co_filename != blas.__file__:
            return None
        # There, what follows the call is no longer in the `try` that the call is in.
        frame.f_trace_opcodes = code is not single_threaded.__code__
        if event == "call" or (event == "opcode" and frame.f_lasti in after_calls(code)):
            seen += 1
            if seen == step:
                sys.settrace(None)
                raise KeyboardInterrupt
        return trace

    sys.settrace(trace)
    try:
        single_threaded(int)
    except KeyboardInterrupt:
        return True
    finally:
        sys.settrace(None)
    return False


def test_an_interrupt_at_any_moment_leaves_blas_its_threads() -> None:
    with threadpool_limits(2):
        before, step = counts(), 1
        while interrupt_at(step):
            assert (counts(), num_threads()) == (before, 2), step
            step += 1
        assert step > 20
        assert single_threaded(counts) == [1] * len(before)


def test_interrupts_by_signals_leave_blas_its_threads() -> None:
    code = """
import random, signal
from threadpoolctl import threadpool_limits
from spacy_multihash.compute import blas

def counts():
    return [library.get_num_threads() for library in blas._libraries()]

def interrupt(*_):
    raise KeyboardInterrupt

signal.signal(signal.SIGALRM, interrupt)
wrong = 0
with threadpool_limits(2):
    before = counts()
    for _ in range(500):
        try:
            signal.setitimer(signal.ITIMER_REAL, random.uniform(5e-5, 5e-4))
            while True:
                blas.single_threaded(int)
        except KeyboardInterrupt:
            wrong += counts() != before
print(wrong)
"""
    if not hasattr(signal, "setitimer"):
        pytest.skip("this system has no timers that send signals")
    done = run_python(code)
    assert (done.stdout.strip(), done.stderr) == ("0", "")


def test_chunks_keep_their_order_in_any_number_of_threads() -> None:
    for n in (1, 2, 5):
        set_products(f"auto:{n}")
        assert map_chunks(OPS, lambda i: i * i, range(20)) == [i * i for i in range(20)]
    assert map_chunks(OPS, lambda i: i, []) == []


def test_chunks_run_side_by_side() -> None:
    set_products("auto:2")
    meeting = threading.Barrier(2, timeout=10)
    map_chunks(OPS, lambda _: meeting.wait(), range(2))  # one alone would wait in vain


def test_an_error_in_a_chunk_is_raised() -> None:
    def fail(i: int) -> None:
        time.sleep(0.001)
        if i in (3, 4):
            raise KeyError(f"chunk {i}")

    for n in (1, 3):
        set_products(f"auto:{n}")
        with pytest.raises(KeyError, match="chunk"):
            map_chunks(OPS, fail, range(8))
    assert map_chunks(OPS, lambda i: i, range(3)) == [0, 1, 2]


def test_chunks_inside_chunks_do_not_wait_for_each_other() -> None:
    set_products("auto:4")
    inner = map_chunks(OPS, lambda i: sum(map_chunks(OPS, lambda j: i + j, range(9))), range(40))
    assert inner == [9 * i + 36 for i in range(40)]


def _in_child(results: "multiprocessing.Queue[object]") -> None:
    results.put((num_threads(), map_chunks(OPS, lambda i: i + 1, range(4))))


@pytest.mark.parametrize("method", multiprocessing.get_all_start_methods())
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_child_process_has_one_thread_and_works(method: str) -> None:
    set_products("auto:3")
    map_chunks(OPS, lambda i: i, range(9))  # the parent's threads do not live on in a fork
    set_products("auto")
    context: Any = multiprocessing.get_context(method)
    results = context.Queue()
    process = context.Process(target=_in_child, args=(results,))
    process.start()
    assert results.get(timeout=60) == (1, [1, 2, 3, 4])
    process.join()


def test_a_forked_child_can_use_threads() -> None:
    code = (
        "import os; from spacy_multihash.compute.blas import set_products;"
        "from spacy_multihash.compute.threads import map_chunks; from thinc.api import NumpyOps;"
        "set_products('auto:3'); map_chunks(NumpyOps(), abs, range(9));"
        "pid = os.fork();"
        "print(map_chunks(NumpyOps(), abs, range(3))) if pid == 0 else os.waitpid(pid, 0)"
    )
    if not hasattr(os, "fork"):
        pytest.skip("this system does not fork")
    assert run_python(code).stdout.strip() == "[0, 1, 2]"


def test_children_that_are_forked_beside_working_threads_do_not_hang() -> None:
    code = """
import os, signal, threading, time
from thinc.api import NumpyOps
from spacy_multihash.compute.blas import set_products, single_threaded
from spacy_multihash.compute.threads import map_chunks

set_products("auto:2")
going = True

def work():
    while going:
        single_threaded(int)

threads = [threading.Thread(target=work, daemon=True) for _ in range(3)]
for thread in threads:
    thread.start()
hung = failed = 0
for _ in range(30):
    pid = os.fork()
    if pid == 0:
        os._exit(0 if map_chunks(NumpyOps(), abs, range(3)) == [0, 1, 2] else 1)
    end = time.monotonic() + 20
    done, status = os.waitpid(pid, os.WNOHANG)
    while not done and time.monotonic() < end:
        time.sleep(0.005)
        done, status = os.waitpid(pid, os.WNOHANG)
    if not done:
        os.kill(pid, signal.SIGKILL)
        os.waitpid(pid, 0)
        hung += 1
        break
    failed += status != 0
going = False
for thread in threads:
    thread.join()
print(hung, failed)
"""
    if not hasattr(os, "fork"):
        pytest.skip("this system does not fork")
    assert run_python(code).stdout.strip() == "0 0"
