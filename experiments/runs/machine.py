"""Whether the times of runs can be compared: the same CPU, and the same optimizer."""

from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, Optional

import srsly

from experiments.arms.tasks import CRF
from experiments.runs.record import CODE

# The module with our Adam, which takes less time than thinc's.
OWN_ADAM = "spacy_multihash.compute.adam"


class Machine(NamedTuple):
    """What the times of a run depend on.

    cpu (Optional[str]): The model of the CPU, or None if it is unknown.
    own_adam (Optional[bool]): Whether it was trained with our Adam, and not with thinc's. None if
        its code is unknown, and for a CRF, which has neither.
    blas (Optional[str]): The CPUs that numpy's BLAS computed for, or None if they are unknown.
        Virtual machines may call several generations of CPUs by one name.
    """

    cpu: Optional[str] = None
    own_adam: Optional[bool] = None
    blas: Optional[str] = None


def machine_of(result: Mapping[str, Any], codes: Path = CODE) -> Machine:
    """Return what a run says of its machine and optimizer.

    result (Mapping[str, Any]): The results of the run.
    codes (Path): The folder with the lists of modules that runs name.
    """
    record = result.get("record") or {}
    code = codes / f"{record.get('code')}.json"
    own_adam = None
    if result["arm"] != CRF and code.is_file():
        own_adam = OWN_ADAM in srsly.read_json(code)
    return Machine(record.get("cpu") or None, own_adam, record.get("blas") or None)


def same_cpu(machines: Iterable[Machine]) -> bool:
    """Tell whether all runs were on CPUs of one model, as all of them say.

    Runs that name the CPUs of their BLAS are not compared with older ones, which do not.
    """
    models = {(machine.cpu, machine.blas) for machine in machines}
    return len(models) == 1 and all(cpu is not None for cpu, _ in models)


def same_training(machines: Iterable[Machine]) -> bool:
    """Tell whether times of training can be compared: the same CPU, and the same Adam if known."""
    machines = list(machines)
    adams = {machine.own_adam for machine in machines}
    return same_cpu(machines) and not {True, False} <= adams
