"""What runs say of themselves: the machine, the code, and which predictions are right."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, NamedTuple, Optional

from experiments.runs.counts import Counts, unpack
from experiments.runs.grid import Run
from experiments.runs.machine import Machine, machine_of
from experiments.runs.record import CODE
from experiments.runs.vector_files import NO_VECTORS

# Stands between a data set and the name of a table that was made for it.
MADE, VECTORS = "made", "vectors"


class Found(NamedTuple):
    """A file of results.

    path (Path): The file.
    run (Run): The run that it is of.
    result (Mapping[str, Any]): What it holds.
    """

    path: Path
    run: Run
    result: Mapping[str, Any]


@dataclass(frozen=True)
class Facts:
    """What a run says besides its numbers.

    recorded (bool): Whether it has a record of its machine and its code.
    code (Optional[str]): The digest of the modules that it was trained with.
    machine (Machine): What its times depend on.
    counts (Mapping[str, Counts]): True positives, false positives and false negatives of each
        sentence, by split, as far as they are kept. Shape: (sentences, 3).
    """

    recorded: bool = False
    code: Optional[str] = None
    machine: Machine = Machine()
    counts: Mapping[str, Counts] = field(default_factory=dict)


def read_facts(found: Iterable[Found]) -> dict[tuple[str, ...], dict[int, Facts]]:
    """Return what each run says of itself, by data set, arm and vectors, then by seed.

    Raises ValueError if a run has malformed counts. Raises ValueError if two runs of a data set are
    of different corpora, or of different tables of vectors that have one name.
    """
    facts: dict[tuple[str, ...], dict[int, Facts]] = {}
    known: dict[tuple[str, ...], tuple[Path, Any]] = {}
    for path, run, result in found:
        record = result.get("record") or {}
        counts = _counts(path, result)
        if "corpus" in record:
            _check(known, (run.dataset,), path, record["corpus"])
        for split, array in counts.items():
            _check(known, (run.dataset, split), path, len(array))
        for name, digest in record.get("made", {}).items():
            _check(known, (run.dataset, MADE, name), path, digest)
        if run.vectors != NO_VECTORS and record.get("vectors"):
            _check(known, (run.dataset, VECTORS, run.vectors), path, record["vectors"])
        codes = path.parents[4] / CODE.name  # beside runs/DATASET/ARM/VECTORS/seedN.json
        machine = machine_of(result, codes)
        of_run = Facts(bool(record), record.get("code"), machine, counts)
        facts.setdefault((run.dataset, run.arm, run.vectors), {})[run.seed] = of_run
    return facts


def _check(
    known: dict[tuple[str, ...], tuple[Path, Any]], key: tuple[str, ...], path: Path, value: object
) -> None:
    other, expected = known.setdefault(key, (path, value))
    if value == expected:
        return
    if MADE in key:
        raise ValueError(
            f"{path} and {other} are of different vectors: what make-vectors made as {key[-1]} of "
            f"{key[0]} differs. Delete the older results, and run them again: python -m "
            "experiments run-grid"
        )
    if VECTORS in key:
        raise ValueError(
            f"{path} and {other} are of different vectors that are both named {key[-1]}. Take one "
            "of them, delete the results of the other, and run them again: python -m experiments "
            "run-grid"
        )
    raise ValueError(
        f"{path} and {other} are of different corpora of {key[0]}: {_difference(value)} "
        "differ. Convert the corpus anew, and run the older one of them again: python -m "
        "experiments run-one NAME --renew"
    )


def _difference(value: object) -> str:
    return "the numbers of sentences" if isinstance(value, int) else "the digests of the files"


def _counts(path: Path, result: Mapping[str, Any]) -> dict[str, Counts]:
    try:
        return {split: unpack(text) for split, text in result.get("counts", {}).items()}
    except (AttributeError, TypeError, ValueError) as error:
        raise ValueError(
            f"{path} is not a complete result: its counts of sentences are malformed ({error}). "
            "Delete it and run it again, or restore it."
        ) from error
