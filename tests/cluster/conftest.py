"""Two workers, processes of their own that all tests share."""

from collections.abc import Iterator

import pytest

from spacy_multihash.cluster.workers import Workers, open_workers
from tests.helpers.cluster import wait_for_workers


@pytest.fixture
def two(scheduler: str) -> Iterator[Workers]:
    wait_for_workers(scheduler, 2)
    with open_workers(dask=scheduler) as workers:
        yield workers
