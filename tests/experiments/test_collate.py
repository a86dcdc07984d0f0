"""The committed tables and figures are those that `collate` makes."""

import csv
import re
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from experiments.collate import collate
from experiments.figures import POINTS, make_overview
from experiments.results import add_run, read_rows
from experiments.statistics import Runs
from experiments.tables import TABLES
from tests.helpers.paths import ROOT


def once(method: Callable[..., Any]) -> Callable[..., Any]:
    """Compute each result of a method once, for all tables: half of them are asked for again."""
    results: dict[tuple[Any, ...], Any] = {}

    def cached(self: Runs, *args: Any) -> Any:
        if args not in results:
            results[args] = method(self, *args)
        return results[args]

    return cached


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A copy of the results and of the pages, with all tables and figures made again."""
    folder = tmp_path_factory.mktemp("collate")
    shutil.copytree(ROOT / "results", folder / "results", ignore=shutil.ignore_patterns("*.md"))
    (folder / "docs").mkdir()
    page = (ROOT / "docs" / "results.md").read_text("utf8")
    emptied = re.sub(r"(<!-- begin: .*? -->\n).*?(?=<!-- end)", r"\1old\n", page, flags=re.S)
    (folder / "docs" / "results.md").write_text(emptied, "utf8")
    (folder / "results" / "tables" / "old.md").write_text("of no table", "utf8")
    with pytest.MonkeyPatch.context() as patch:
        for name in ("_scores", "values", "resample"):
            patch.setattr(Runs, name, once(getattr(Runs, name)))
        collate(folder / "results", folder / "docs")
    return folder


def test_committed_files_are_made_again_to_the_byte(folder: Path) -> None:
    for pattern in ("results/tables/*.md", "docs/figures/*.svg", "docs/results.md"):
        made = {path.relative_to(folder): path.read_bytes() for path in folder.glob(pattern)}
        assert made == {path: (ROOT / path).read_bytes() for path in made}
    tables = [{path.name for path in root.glob("results/tables/*")} for root in (folder, ROOT)]
    assert tables[0] == tables[1]


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


def test_own_results_have_tables_however_few(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    row = {"dataset": "wnut17", "arm": "small", "vectors": "", "seed": 0, "after": ""}
    own = tmp_path / "own"
    add_run({**row, "test_f": 0.25, "cpu": "a"}, {}, own)
    monkeypatch.chdir(ROOT)
    assert collate(own, tmp_path / "docs")
    assert "| 0.250 (n = 1) |" in (own / "tables" / "baselines.md").read_text("utf8")
    assert not (tmp_path / "docs" / "figures" / "overview.svg").exists()


def test_overview_compares_speeds_of_one_processor(tmp_path: Path) -> None:
    for arm, cpu in zip(POINTS.values(), "aab", strict=True):
        row = {"dataset": "wnut17", "arm": arm, "vectors": "", "seed": 0, "after": "", "cpu": cpu}
        add_run({**row, "test_f": 0.25, "bytes": 10, "words_per_second": 1.0}, {}, tmp_path)
    with pytest.raises(ValueError, match="processors"):
        make_overview(Runs.read(tmp_path))
