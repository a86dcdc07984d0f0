"""The report's tables 4 to 6, made from the statistics that `multihash corpus-stats` writes."""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any, Optional

import srsly

from experiments.arms.embeddings import ATTRS
from experiments.arms.tasks import NER
from experiments.tables.table import DATASETS, STAND_IN

Stats = Mapping[str, Any]
Report = Mapping[str, Any]
PARTS = [(split, part) for split in ("dev", "test") for part in ("seen", "unseen")]
# The header of each number of Table 5, by its name in our statistics and in the report's data.
CHARACTERISTICS = {
    "docs": "documents",
    "tokens": "tokens",
    "classes": "labels",
    "ents_per_doc": "entities per document",
    "mean_doc_len": "mean document length",
    "mean_ent_len": "mean entity length",
    "vocab": "vocabulary",
}


def read_corpora(folder: Path) -> dict[str, Stats]:
    """Read the statistics of all data sets that have some, from the files FOLDER/DATASET.json.

    Raises ValueError for a file without statistics.
    """
    corpora = {}
    for dataset in (*DATASETS, STAND_IN):
        path = folder / f"{dataset}.json"
        if not path.is_file():
            continue
        try:
            stats = srsly.read_json(path)
            _attrs(stats), _characteristics(stats), _seen(stats)
        except (KeyError, TypeError, ValueError) as error:
            raise ValueError(
                f"{path} holds no statistics of a corpus ({error!r}). Make it again: "
                f"python -m spacy project run corpus-stats . --vars.dataset {dataset} "
                f"--vars.lang {NER.langs[dataset]}"
            ) from error
        corpora[dataset] = stats
    return corpora


def corpus_tables(corpora: Mapping[str, Stats], report: Report) -> dict[str, list[Sequence[str]]]:
    """Make the lines of each table, the header first.

    A cell has our number, and the report's if it differs.

    corpora (Mapping[str, Stats]): The statistics of each data set, as `read_corpora` returns them.
    report (Report): The report's tables by number.
    """
    made: dict[str, list[Sequence[str]]] = {}
    for number, (headers, numbers_of) in TABLES.items():
        made[f"table-{number}"] = [("data set", *headers.values())]
        for dataset in (*DATASETS, STAND_IN):
            ours = numbers_of(corpora[dataset]) if dataset in corpora else {}
            theirs = _flat(report[number].get(dataset))
            cells = [_cell(ours.get(name), theirs.get(name)) for name in headers]
            label = dataset if theirs else f"{dataset} (not in the report)"
            made[f"table-{number}"].append((label, *cells))
    return made


def _attrs(stats: Stats) -> dict[str, Any]:
    return {name: stats["splits"]["train"]["attrs"][name] for name in ATTRS}


def _characteristics(stats: Stats) -> dict[str, Any]:
    train = stats["splits"]["train"]
    return {
        name: len(train["labels"]) if name == "classes" else train[name] for name in CHARACTERISTICS
    }


def _seen(stats: Stats) -> dict[str, Any]:
    return {f"{split} {part}": stats["seen"][split][part] for split, part in PARTS}


def _flat(numbers: Optional[Mapping[str, Any]]) -> dict[str, Any]:
    """Flatten {"dev": {"seen": 1}} into {"dev seen": 1}."""
    flat: dict[str, Any] = {}
    for name, value in (numbers or {}).items():
        values = value if isinstance(value, dict) else {"": value}
        flat |= {f"{name} {part}".strip(): each for part, each in values.items()}
    return flat


def _cell(ours: Optional[float], theirs: Optional[float]) -> str:
    report = "–" if theirs is None else _text(theirs)
    if ours is None:
        return f"missing (report: {report})"
    agrees = theirs is None or _agrees(ours, theirs)
    return _text(ours) if agrees else f"{_text(ours)} (report: {report})"


def _agrees(value: float, printed: float) -> bool:
    """Return whether our number agrees with the report's, which is rounded or truncated."""
    digits = len(str(printed).partition(".")[2]) if isinstance(printed, float) else 0
    unit = 10.0**-digits
    return -unit / 2 <= value - printed < unit


def _text(value: float) -> str:
    return f"{value:,}" if isinstance(value, int) else f"{value:.2f}"


# By a table's number: its headers, by the names of its numbers, and what returns the numbers.
TABLES: Mapping[str, tuple[Mapping[str, str], Callable[[Stats], dict[str, Any]]]] = {
    "4": ({name: name for name in ATTRS}, _attrs),
    "5": (CHARACTERISTICS, _characteristics),
    "6": ({f"{split} {part}": f"{split} {part}" for split, part in PARTS}, _seen),
}
