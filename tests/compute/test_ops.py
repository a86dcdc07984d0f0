"""Which operations compute, by the device of a layer and the chosen kernels."""

import numpy
import pytest
from thinc.api import CupyOps, NumpyOps, Ops

from spacy_multihash.compute.array_ops import ArrayOps
from spacy_multihash.compute.dispatch import NONE, available_kernels
from spacy_multihash.compute.ops import GpuOps, HostOps, KernelOps, operations
from tests.helpers.kernels import using_kernels

HELD = [NumpyOps(), KernelOps(), HostOps()]


@pytest.mark.parametrize("held", HELD, ids=lambda ops: type(ops).__name__)
def test_operations_follow_the_chosen_kernels_whatever_ops_a_layer_holds(held: Ops) -> None:
    for name in available_kernels():
        with using_kernels(name):
            expected = HostOps if name == NONE else KernelOps
            assert type(operations(held)) is expected
            assert operations(held) is operations(numpy.zeros(3))


def test_operations_of_a_gpu_are_those_of_its_number() -> None:
    assert type(operations(CupyOps(device_id=1))) is GpuOps
    assert operations(CupyOps(device_id=1)).device_id == 1
    assert operations(CupyOps(device_id=1)) is operations(CupyOps(device_id=1))


def test_compiled_operations_are_those_of_array_code() -> None:
    public = {name for name in vars(ArrayOps) if not name.startswith("_")}
    own = {name for name in vars(KernelOps) if not name.startswith("_")}
    assert own - public == {"affine", "gemm", "cblas"}  # thinc's own
    # No operation of thinc's is replaced by accident: thinc's layers may hold KernelOps.
    assert not public & {*dir(Ops)}
