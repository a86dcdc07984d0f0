"""The files of results, one for each run or calibrated model, and some of `batch_ner`."""

from collections.abc import Mapping
from pathlib import Path
from typing import Any, Optional

import srsly

from experiments.arms.tasks import ROW_SHARES
from experiments.runs.grid import Run, same_functions

FORMAT = 1
RESULTS = Path("results") / "runs"
CALIBRATIONS = Path("results") / "calibration"
# The reports of `python -m spacy multihash compress`
COMPRESSED = Path("results") / "compressed"
# What `batch_ner` was compared with
NER_RESULTS = Path("results") / "ner"
EQUALITY = NER_RESULTS / "equality.json"
CANDIDATES = NER_RESULTS / "candidates.json"
# What `recommend` writes for each corpus, beside the recipe
RECOMMENDED = Path("results") / "recommended.json"


def results_path(run: Run) -> Path:
    """Return the file of a run's results."""
    return RESULTS / f"{run.name}.json"


def read_json(path: Path, remedy: str) -> Any:  # noqa: ANN401 (whatever the file holds)
    """Read a file. Raises ValueError for a damaged one, and tells what makes it again."""
    try:
        return srsly.read_json(path)
    except ValueError as error:
        raise ValueError(
            f"{path} holds no JSON ({error}). Delete it and {remedy}, or restore it."
        ) from error


def read_result(path: Path) -> dict[str, Any]:
    """Read the results of a run, of a calibrated model, or of `batch_ner`.

    Raises ValueError for a damaged file, or one of another format.
    """
    result = read_json(path, "run it again")
    found = result.get("format") if isinstance(result, dict) else None
    if found != FORMAT:
        raise ValueError(
            f"{path} holds results in format {found}, but this version reads format {FORMAT}. Use "
            "the version that wrote it, or another folder of results."
        )
    return result


def digests(run: Run) -> Optional[tuple[str, ...]]:
    """Return the digests that results of the run's present config have, the one with `ner` last.

    Some settings of some arms are counted in the corpus. Without the corpus there is None, and
    their results are trusted.
    """
    if run.arm in ROW_SHARES and not run.corpus("train").is_file():
        return None
    return same_functions(run)


def is_current(run: Run, result: Mapping[str, Any]) -> bool:
    """Return whether results are those of the run's present config, or of the same with `ner`."""
    return is_of(digests(run), result)


def is_of(known: Optional[tuple[str, ...]], result: Mapping[str, Any]) -> bool:
    """Return whether results have one of some digests, as `digests` returns them."""
    return known is None or result.get("config_hash") in known


def is_done(run: Run) -> bool:
    """Return whether the results of a run with its present config are on disk.

    They have all evaluations after training that its arm asks for, and no others.
    """
    path = results_path(run)
    if not path.is_file():
        return False
    result = read_result(path)
    return set(result.get("after", {})) == set(run.after) and is_current(run, result)
