"""Memory of calls and of models."""

import os
import tracemalloc
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy
from thinc.api import Model


def available_bytes() -> int:
    """Return how much memory is free."""
    if "SC_AVPHYS_PAGES" not in os.sysconf_names:
        # This system does not say how much is free. Most machines have 8 GB.
        return 8 * 10**9
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def temporary_bytes(run: Callable[[], object]) -> int:
    """Measure the peak memory of numpy and Python during a call, beyond its inputs and its result.

    The call runs in a thread of its own, where it finds none of the buffers of earlier calls.
    """

    def trace() -> int:
        tracemalloc.start()
        try:
            before = tracemalloc.get_traced_memory()[0]
            result = run()
            return tracemalloc.get_traced_memory()[1] - before - count_bytes(result)
        finally:
            tracemalloc.stop()

    with ThreadPoolExecutor(1) as executor:
        return executor.submit(trace).result()


def count_bytes(result: object) -> int:
    """Count the bytes of the arrays in a result."""
    if isinstance(result, (list, tuple)):
        return sum(count_bytes(part) for part in result)
    return result.nbytes if isinstance(result, numpy.ndarray) else 0


def model_bytes(model: Model) -> int:
    """Count the bytes of the weights of a model."""
    params = [(node, name) for node in model.walk() for name in node.param_names]
    return sum(node.get_param(name).nbytes for node, name in params)
