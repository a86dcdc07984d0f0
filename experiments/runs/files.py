"""The files of results, one for each run or calibrated model."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import srsly

from experiments.arms.tasks import ROW_SHARES
from experiments.runs.grid import Run, same_functions

FORMAT = 1
RESULTS = Path("results") / "runs"
CALIBRATIONS = Path("results") / "calibration"


def results_path(run: Run) -> Path:
    """Return the file of a run's results."""
    return RESULTS / f"{run.name}.json"


def read_result(path: Path) -> dict[str, Any]:
    """Read the results of a run, or of a calibrated model.

    Raises ValueError for a damaged file, or one of another format.
    """
    try:
        result = srsly.read_json(path)
    except ValueError as error:
        raise ValueError(
            f"{path} holds no JSON ({error}). Delete it and run it again, or restore it."
        ) from error
    found = result.get("format") if isinstance(result, dict) else None
    if found != FORMAT:
        raise ValueError(
            f"{path} holds results in format {found}, but this version reads format {FORMAT}. Use "
            "the version that wrote it, or another folder of results."
        )
    return result


def is_current(run: Run, result: Mapping[str, Any]) -> bool:
    """Return whether results are those of the run's present config, or of the same with `ner`.

    The rows of some arms are counted in the corpus. Without the corpus their results are trusted.
    """
    if run.arm in ROW_SHARES and not run.corpus("train").is_file():
        return True
    return result.get("config_hash") in same_functions(run)


def is_done(run: Run) -> bool:
    """Return whether the results of a run with its present config are on disk."""
    path = results_path(run)
    return path.is_file() and is_current(run, read_result(path))
