"""Results in JSON files, with facts about the machine."""

import json
import os
import platform
from collections.abc import Callable, Mapping
from importlib import metadata
from pathlib import Path
from typing import Generic, TypeVar

from threadpoolctl import threadpool_info
from tqdm import tqdm

from spacy_multihash.common.files import write_json
from spacy_multihash.common.machine import cpu_name

CaseT = TypeVar("CaseT")
RecordT = TypeVar("RecordT")


def machine_facts() -> dict[str, object]:
    """Describe the machine and the packages that are measured."""
    packages = ("numpy", "spacy", "thinc", "blis", "spacy-multihash")
    keys = ("internal_api", "version", "architecture", "num_threads")
    blas = [info for info in threadpool_info() if info["user_api"] == "blas"]
    return {
        "cpu": cpu_name(),
        "cores": os.cpu_count(),
        "system": platform.system(),
        "python": platform.python_version(),
        **{name: metadata.version(name) for name in packages},
        "numpy_blas": [{key: info.get(key) for key in keys} for info in blas],
    }


class Results(Generic[RecordT]):
    """Records in a JSON file.

    The file is written after each record, so that a stopped run can continue.
    """

    def __init__(self, path: Path, facts: Mapping[str, object], *, fresh: bool = False) -> None:
        """Read the records that are there.

        path (Path): The file. It is written with the first record.
        facts (Mapping[str, object]): The machine, the text and the settings, which all records
            share.
        fresh (bool): Whether to start without the records in the file, and to replace it.

        Raises ValueError if the file has other facts.
        """
        self.path = path
        self.facts: dict[str, object] = json.loads(json.dumps(facts))
        self.records: dict[str, RecordT] = {}
        if path.is_file() and not fresh:
            try:
                data = json.loads(path.read_text("utf8"))
                self.records = data.pop("results")
            except (AttributeError, KeyError, TypeError, ValueError) as error:
                raise ValueError(
                    f"{path} has no results of a benchmark ({error!r}). Choose another --output, "
                    "or --fresh to replace it."
                ) from error
            other = [key for key in self.facts if data.get(key) != self.facts[key]]
            if other:
                raise ValueError(
                    f"{path} was made with another {' and '.join(other)}. Choose another --output, "
                    "or --fresh to replace it."
                )

    def add(self, name: str, record: RecordT) -> None:
        """Add a record, and write the file."""
        self.records[name] = record
        self.write()

    def write(self, **summary: object) -> None:
        """Write the file, with a summary of the records if there is one."""
        write_json(self.path, {**self.facts, **summary, "results": self.records})


def measure_missing(
    results: Results[RecordT], cases: Mapping[str, CaseT], measure: Callable[[CaseT], RecordT]
) -> None:
    """Measure the cases that the results lack, and write each when it is done.

    results (Results[RecordT]): The results, to which each record is added.
    cases (Mapping[str, CaseT]): The cases, by their names in the results.
    measure (Callable[[CaseT], RecordT]): Measures one case.
    """
    bar = tqdm([name for name in cases if name not in results.records], unit="case")
    for name in bar:
        bar.set_postfix_str(name)
        results.add(name, measure(cases[name]))
