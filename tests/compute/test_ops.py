"""Which operations compute, by the device of a layer and the chosen kernels."""

import inspect
from collections.abc import Callable

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


@pytest.mark.parametrize("compiled", [KernelOps, GpuOps])
def test_compiled_operations_are_those_of_array_code(compiled: type[Ops]) -> None:
    public = {name for name in vars(ArrayOps) if not name.startswith("_")}
    for name, method in vars(compiled).items():
        thincs = ("affine", "gemm", "cblas")
        if callable(method) and name not in thincs and not name.startswith("__"):
            assert arguments(method) == arguments(vars(ArrayOps)[name]), name
    # No operation of thinc's is replaced by accident: thinc's layers may hold KernelOps.
    assert not public & {*dir(Ops)}


def arguments(method: Callable) -> list[tuple]:
    """List what callers depend on: the names, kinds and defaults of arguments."""
    parameters = inspect.signature(method).parameters.values()
    return [(each.name, each.kind, each.default) for each in parameters]
