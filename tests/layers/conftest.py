from collections.abc import Iterator

import pytest
from thinc.api import Ops, get_current_ops, prefer_gpu, set_current_ops
from thinc.util import has_cupy_gpu


@pytest.fixture(params=["cpu", pytest.param("gpu", marks=pytest.mark.gpu)])
def ops(request: pytest.FixtureRequest) -> Iterator[Ops]:
    """Run a test on the CPU, and again with CuPy where there is a CUDA device."""
    before = get_current_ops()
    if request.param == "gpu":
        if not has_cupy_gpu:
            pytest.skip("no CUDA device with CuPy")
        prefer_gpu()
    yield get_current_ops()
    set_current_ops(before)
