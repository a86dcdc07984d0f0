"""The report's tables 4 to 6, from the statistics of corpora that are in the repository."""

from pathlib import Path
from typing import Any

import pytest
import srsly

from experiments.tables.corpora import corpus_tables, read_corpora
from experiments.tables.statistics import read_report
from experiments.tables.table import DATASETS, STAND_IN
from tests.helpers.paths import ROOT

CORPORA = ROOT / "results" / "corpora"
REPORT = read_report(ROOT / "results" / "report_tables.json")


def cells(table: str, dataset: str, corpora: Any = None) -> list[str]:
    lines = corpus_tables(read_corpora(CORPORA) if corpora is None else corpora, REPORT)[table]
    (line,) = [line for line in lines if line[0] == dataset]
    return list(line[1:])


def test_counts_of_the_report_come_out_but_for_two() -> None:
    different = {
        (table, dataset, cell)
        for table in ("table-4", "table-5", "table-6")
        for dataset in DATASETS
        for cell in cells(table, dataset)
        if "report" in cell and "missing" not in cell
    }
    assert different == {
        ("table-4", "conll-es", "23,710 (report: 26,099)"),
        ("table-5", "conll-nl", "27,803 (report: 27,804)"),
    }


def test_stand_in_is_shown_without_the_report_s_numbers() -> None:
    assert cells("table-5", f"{STAND_IN} (not in the report)")[:3] == ["27,833", "388,883", "18"]


def test_a_corpus_that_was_not_counted_is_missing() -> None:
    assert cells("table-6", "anem", {}) == [f"missing (report: {n})" for n in (290, 110, 548, 708)]
    assert cells("table-4", f"{STAND_IN} (not in the report)", {})[0] == "missing (report: –)"


def test_means_agree_to_the_printed_digits(tmp_path: Path) -> None:
    stats = srsly.read_json(CORPORA / "anem.json")
    for mean in (1.46, 1.51, 1.59):  # printed as 1.5, rounded or cut off
        stats["splits"]["train"]["mean_ent_len"] = mean
        assert cells("table-5", "anem", {"anem": stats})[5] == f"{mean}"
    for mean in (1.44, 1.61):
        stats["splits"]["train"]["mean_ent_len"] = mean
        assert cells("table-5", "anem", {"anem": stats})[5] == f"{mean} (report: 1.50)"


@pytest.mark.parametrize("text", ["{", "[]", '{"splits": {}}'])
def test_damaged_statistics_are_named(tmp_path: Path, text: str) -> None:
    (tmp_path / "anem.json").write_text(text)
    with pytest.raises(ValueError, match=r"anem\.json holds no statistics .*corpus-stats"):
        read_corpora(tmp_path)
