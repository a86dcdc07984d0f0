"""The kernels that compute, for a while."""

from collections.abc import Iterator
from contextlib import contextmanager

from spacy_multihash.compute.dispatch import use_kernels


@contextmanager
def using_kernels(name: str) -> Iterator[None]:
    """Compute with these kernels within the block."""
    former = use_kernels(name)
    try:
        yield
    finally:
        use_kernels(former)
