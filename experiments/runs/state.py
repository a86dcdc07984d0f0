"""Whether runs have results, and whether those are of the present code."""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Optional

from experiments.runs.files import is_done, read_result, results_path
from experiments.runs.grid import Run
from experiments.runs.record import CODES, SPLITS, changed_modules, corpus_digests

MISSING, DONE, OLDER, UNRECORDED = "missing", "done", "older code", "unrecorded"
OTHER_CORPUS = "other corpus"


@dataclass(frozen=True)
class State:
    """How far a run is.

    name (str): "missing" without results of the present config and of all evaluations. With them,
        "unrecorded" if they do not say of which code they are, "other corpus" if they are of other
        files than those that are there, "older code" if modules have changed since, or "done".
    changed (int): The number of modules that have changed.
    """

    name: str
    changed: int = 0

    def of(self, run: Run) -> str:
        """Return a line that says the state of a run."""
        modules = "module has" if self.changed == 1 else "modules have"
        count = f"  {self.changed} {modules} changed" if self.changed else ""
        return f"{self.name:{len(OTHER_CORPUS)}}  {run.name}{count}"


def find_states(runs: Iterable[Run]) -> dict[Run, State]:
    """Return the state of each run.

    Raises FileNotFoundError if the list of the modules of a run's code is missing.
    """
    changed: dict[tuple[str, ...], int] = {}  # by digests of the code, which many runs share
    corpora: dict[str, Optional[dict[str, str]]] = {}  # by data set, None if it is not there
    states = {}
    for run in runs:
        if not is_done(run):
            states[run] = State(MISSING)
            continue
        record = read_result(results_path(run)).get("record")
        if not record:
            states[run] = State(UNRECORDED)
            continue
        if run.dataset not in corpora:
            is_there = all(run.corpus(split).is_file() for split in SPLITS)
            corpora[run.dataset] = corpus_digests(run) if is_there else None
        if corpora[run.dataset] not in (None, record.get("corpus")):
            states[run] = State(OTHER_CORPUS)
            continue
        code = tuple(record.get(key, "") for key in CODES)
        if code not in changed:
            changed[code] = len(changed_modules(record))
        count = changed[code]
        states[run] = State(OLDER if count else DONE, count)
    return states


def runs_to_do(runs: Iterable[Run], *, renew: bool = False, unrecorded: bool = False) -> list[Run]:
    """Return the runs that are missing.

    renew (bool): Whether unrecorded results, and those of older code or of another corpus, are made
        again.
    unrecorded (bool): Whether unrecorded results are made again.
    """
    if not (renew or unrecorded):
        return [run for run in runs if not is_done(run)]
    asked = {MISSING, UNRECORDED, *((OLDER, OTHER_CORPUS) if renew else ())}
    return [run for run, state in find_states(runs).items() if state.name in asked]
