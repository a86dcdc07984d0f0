"""The committed tables and figures are those that `collate` makes."""

import csv
import shutil
from pathlib import Path

import pytest

from experiments.collate import collate, fill
from experiments.results import read_rows
from experiments.statistics import Runs
from experiments.tables import TABLES
from tests.helpers.paths import ROOT


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the results and of the pages, with all tables and figures made again."""
    folder = tmp_path_factory.mktemp("collate")
    shutil.copytree(ROOT / "results", folder / "results", ignore=shutil.ignore_patterns("*.md"))
    (folder / "docs").mkdir()
    shutil.copy(ROOT / "docs" / "results.md", folder / "docs")
    (folder / "results" / "tables" / "old.md").write_text("of no table", encoding="utf8")
    collate(folder / "results", folder / "docs")
    return folder


@pytest.mark.parametrize(
    "pattern", ["results/tables/*.md", "docs/figures/*.svg", "docs/results.md"]
)
def test_committed_files_are_made_again_to_the_byte(folder: Path, pattern: str) -> None:
    made = {path.relative_to(folder): path.read_bytes() for path in folder.glob(pattern)}
    assert made == {path: (ROOT / path).read_bytes() for path in made}


def test_tables_of_the_past_are_deleted(folder: Path) -> None:
    tables = [{path.name for path in root.glob("results/tables/*")} for root in (folder, ROOT)]
    assert tables[0] == tables[1]


def test_table_is_put_between_its_marks() -> None:
    page = "a\n<!-- begin: x 2 -->\nold\n<!-- end: x 2 -->\nb"
    body = "Words.\n\n| first |\n\n| second \\1 |"
    assert fill(page, "x", body) == page.replace("\nold\n", "\n\n| second \\1 |\n\n")
    assert fill(page, "z", body) == page


def test_lines_of_tables_have_runs() -> None:
    runs = Runs.read(ROOT / "results")
    lines = {
        (name, line): any(
            runs.values(table.cell(line, dataset, score))
            for dataset in table.datasets
            for score in table.scores
        )
        for name, table in TABLES.items()
        for line in table.lines
    }
    assert [key for key, found in lines.items() if not found] == []


def test_removed_parts_have_runs() -> None:
    rows = {(row["arm"], row["after"]) for row in read_rows(ROOT / "results")}
    with (ROOT / "results" / "retired.csv").open(encoding="utf8") as file:
        arms = [arm for row in csv.DictReader(file) for arm in (row["arm"], row["base"])]
    named = [(arm, after) for arm, _, after in (name.partition(" after ") for name in arms)]
    assert [pair for pair in named if pair not in rows] == []
