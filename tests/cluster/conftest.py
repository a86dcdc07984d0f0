"""Two workers, started once for all tests that use them."""

from collections.abc import Iterator

import pytest

from spacy_multihash.cluster.workers import Workers, open_workers


@pytest.fixture(scope="package")
def two() -> Iterator[Workers]:
    pytest.importorskip("distributed", reason="distributed is not installed: extra dask")
    with open_workers(2) as workers:
        yield workers
