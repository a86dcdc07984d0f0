"""Two workers of each kind: processes of this machine, and those of a scheduler."""

from collections.abc import Iterator

import pytest

from spacy_multihash.cli._util import open_workers
from spacy_multihash.scale.workers import Workers
from tests.helpers.cluster import wait_for_workers


@pytest.fixture
def dask_workers(scheduler: str) -> Iterator[Workers]:
    wait_for_workers(scheduler, 2)
    with open_workers(dask=scheduler) as workers:
        yield workers


@pytest.fixture(scope="session")
def processes() -> Iterator[Workers]:
    with open_workers(2) as workers:
        yield workers


@pytest.fixture(params=["dask_workers", "processes"])
def two(request: pytest.FixtureRequest) -> Workers:
    return request.getfixturevalue(request.param)


@pytest.fixture(params=["here", "dask_workers", "processes"])
def workers(request: pytest.FixtureRequest) -> Iterator[Workers]:
    if request.param == "here":
        with open_workers() as here:
            yield here
    else:
        yield request.getfixturevalue(request.param)
