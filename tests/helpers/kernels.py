"""The kernels that compute, for a while."""

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from typing import Any

from numpy.testing import assert_equal

from spacy_multihash import set_threads
from spacy_multihash.compute.dispatch import use_kernels


@contextmanager
def using_kernels(name: str) -> Iterator[None]:
    """Compute with these kernels within the block."""
    former = use_kernels(name)
    try:
        yield
    finally:
        use_kernels(former)


def assert_same_with_threads(compute: Callable[[], Sequence[Any]]) -> None:
    """Compute with several numbers of threads, and compare all arrays to the last bit."""
    results, former = [], set_threads(1)
    try:
        for number in (1, 2, 3, 5, 7):
            set_threads(number)
            results.append(compute())
    finally:
        set_threads(former)
    for result in results[1:]:
        assert_equal([*result], [*results[0]])
