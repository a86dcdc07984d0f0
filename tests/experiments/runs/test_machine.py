"""Which runs' times are compared."""

from pathlib import Path
from typing import Any, Optional

import pytest
import srsly

from experiments.arms.tasks import CRF
from experiments.runs.machine import OWN_ADAM, Machine, machine_of, same_cpu, same_training


@pytest.mark.parametrize(
    ("cpus", "same"), [(["a", "a"], True), (["a", "b"], False), (["a", None], False), ([], False)]
)
def test_machines_are_the_same_if_all_say_so(cpus: list[Any], same: bool) -> None:
    machines = [Machine(cpu) for cpu in cpus]
    assert same_cpu(machines) == same_training(machines) == same


@pytest.mark.parametrize(
    ("adams", "same"),
    [([True, True], True), ([False, None], True), ([True, None], True), ([True, False], False)],
)
def test_our_adam_is_not_compared_with_thincs(adams: list[Optional[bool]], same: bool) -> None:
    machines = [Machine("a", own_adam) for own_adam in adams]
    assert same_training(iter(machines)) == same
    assert same_cpu(machines)


def test_cpus_of_one_name_are_told_apart_by_their_blas(tmp_path: Path) -> None:
    ones = [{"cpu": "a"}, {"cpu": "a", "blas": "Haswell"}, {"cpu": "a", "blas": "SkylakeX"}]
    machines = [machine_of({"arm": "norm", "record": one}, tmp_path) for one in ones]
    assert [same_cpu([machine, machines[1]]) for machine in machines] == [False, True, False]
    assert [same_training([machine, machines[1]]) for machine in machines] == [False, True, False]


def test_optimizers_are_known_by_the_modules_of_a_run(tmp_path: Path) -> None:
    srsly.write_json(tmp_path / "1.json", {OWN_ADAM: "digest"})
    srsly.write_json(tmp_path / "2.json", {})
    adams = {}
    for arm, code in (("norm", "1"), ("norm", "2"), ("norm", "3"), (CRF, "2")):
        result = {"arm": arm, "record": {"cpu": "a", "code": code}}
        machine = machine_of(result, tmp_path)
        assert machine.cpu == "a"
        adams[arm, code] = machine.own_adam
    assert list(adams.values()) == [True, False, None, None]
    assert machine_of({"arm": "norm"}, tmp_path) == Machine(None, None)
