"""Two workers of a scheduler, and this process."""

from collections.abc import Iterator

import pytest

from spacy_multihash.scale.pool import open_workers
from spacy_multihash.scale.workers import Workers
from tests.helpers.cluster import wait_for_workers


@pytest.fixture
def two(scheduler: str) -> Iterator[Workers]:
    wait_for_workers(scheduler, 2)
    with open_workers(dask=scheduler) as workers:
        yield workers


@pytest.fixture(params=["here", "two"])
def workers(request: pytest.FixtureRequest) -> Iterator[Workers]:
    if request.param == "here":
        with open_workers() as here:
            yield here
    else:
        yield request.getfixturevalue(request.param)
