"""What several test files use."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from thinc.api import fix_random_seed, prefer_gpu, set_current_ops
from thinc.backends import get_current_ops
from thinc.util import has_cupy_gpu

ROOT = Path(__file__).resolve().parent.parent
# Real data and a real pipeline beside a checkout; users have neither.
SHARED = ROOT.parent / "shared"


@pytest.fixture(autouse=True)
def _fixed_seed() -> None:
    fix_random_seed(0)


@pytest.fixture
def shared() -> Path:
    if not SHARED.is_dir():
        pytest.skip(f"real data is not there: {SHARED}")
    return SHARED


@pytest.fixture
def gpu() -> Iterator[None]:
    """Run a test on the GPU: the layers it builds use CuPy."""
    if not has_cupy_gpu:
        pytest.skip("no CUDA device with CuPy")
    ops = get_current_ops()
    prefer_gpu()
    yield
    set_current_ops(ops)
