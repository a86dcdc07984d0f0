"""Handmade results of runs, and the tables that show results."""

from pathlib import Path
from typing import Any, Optional

import srsly

from experiments.arms.tasks import NER, TEXTCAT
from experiments.runs.grid import Run, run_hash
from experiments.tables.batch_ner import BATCH_NER_TABLES
from experiments.tables.dilated import DILATED_TABLES
from experiments.tables.results_page import TABLES
from experiments.tables.vectors import VECTOR_TABLES
from experiments.tables.weighted import WEIGHTED_TABLES
from tests.helpers.paths import ROOT

REPORT = ROOT / "results" / "report_tables.json"
OUR_TABLES = (WEIGHTED_TABLES, DILATED_TABLES, BATCH_NER_TABLES, VECTOR_TABLES)
ALL_TABLES = [table for tables in (TABLES, *OUR_TABLES) for table in tables.values()]


def prf(f: Optional[float]) -> dict[str, Optional[float]]:
    return {"p": f, "r": f, "f": f}


def write_result(folder: Path, run: Run, f: float, **values: Any) -> Path:
    """Write a handmade result, whose unseen entities score half; of a classifier, all is equal.

    It has a record, unless `record` is None.
    """
    scores = {"all": prf(f), "seen": prf(None), "unseen": prf(f / 2)}
    if run.task is TEXTCAT:
        scores = {"all": {"accuracy": f, "macro_f": f}}
        values = {"parameters": 4_000_084, **values}
    path = folder / f"{run.name}.json"
    path.parent.mkdir(parents=True, exist_ok=True)
    facts = {"dataset": run.dataset, "arm": run.arm, "vectors": run.vectors, "seed": run.seed}
    costs: dict[str, Any] = {"train_cpu_seconds": 100.0, "model_bytes": 5_000_000}
    if run.task is NER:
        costs["words_per_second"] = 2e4
    digest = {"config_hash": run_hash(run)}
    values.setdefault("record", {"cpu": "a CPU", "corpus": {"train": run.dataset}})
    result = {"format": 1, **facts, **digest, **costs, "dev": scores, "test": scores, **values}
    srsly.write_json(path, result)
    return path


def write_results(folder: Path, dataset: str, arm: str, f_scores: list[float]) -> None:
    for seed, f in enumerate(f_scores):
        write_result(folder, Run(dataset, arm, seed=seed), f)
