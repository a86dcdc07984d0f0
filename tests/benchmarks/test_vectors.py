import json
import re
import sys
from pathlib import Path

import pytest
import typer
from typer.testing import CliRunner

from benchmarks import vectors
from spacy_multihash.vectors.files import open_table
from tests.helpers.cli import said
from tests.helpers.paths import ROOT


@pytest.fixture(scope="module")
def inputs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("inputs")
    vectors.write_inputs(folder, *vectors.QUICK)
    return folder


def test_half_of_the_words_are_in_both_tables(inputs: Path) -> None:
    rows, width = vectors.QUICK
    words = []
    for name in (vectors.TABLE, vectors.OTHER, vectors.TEXT):
        with open_table(inputs / name) as table:
            assert table.data.shape == (rows, width)
            words.append(set(table.words))
    assert words[0] == words[2] and len(words[0] & words[1]) == rows // 2


linux = pytest.mark.skipif(sys.platform != "linux", reason="memory is measured on Linux alone")


@linux
def test_memory_of_the_process_is_measured(inputs: Path) -> None:
    before = sorted(path.name for path in inputs.iterdir())
    record = vectors.measure(("centre", vectors.TABLE, vectors.OUT), inputs)
    # Python with numpy and spaCy takes more than 30 MB, and 1 GB only with a large table.
    assert 3e7 < record["own"] < record["resident"] < 1e9
    assert {path.name for path in inputs.iterdir()} - {*before, "log"} == set()


def test_a_command_that_fails_ends_the_benchmark(inputs: Path) -> None:
    with pytest.raises(ValueError, match=r"multihash vectors centre none out failed: (?s:.*)none"):
        vectors.measure(("centre", "none", vectors.OUT), inputs)


@linux
def test_results_are_written_and_kept(tmp_path: Path) -> None:
    app = typer.Typer()
    app.command()(vectors.vectors_cli)
    output = tmp_path / "vectors.json"
    arguments = ["--quick", "--output", str(output), "--only"]
    result = CliRunner().invoke(app, [*arguments, "merge, gcca"])
    assert result.exit_code == 0, result.output
    first = json.loads(output.read_text("utf8"))
    assert (first["rows"], first["width"]) == vectors.QUICK and [*first["results"]] == [
        "merge, gcca"
    ]
    assert CliRunner().invoke(app, [*arguments, "unit"]).exit_code == 0
    data = json.loads(output.read_text("utf8"))["results"]
    assert data["merge, gcca"] == first["results"]["merge, gcca"] and len(data) == 2
    result = CliRunner().invoke(app, [*arguments, "uni"])
    assert result.exit_code == 1 and "--only takes centre, " in said(result)


def test_other_systems_are_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "platform", "darwin")
    with pytest.raises(SystemExit, match="1"):
        vectors.vectors_cli(quick=True, output=tmp_path / "vectors.json")
    assert not (tmp_path / "vectors.json").exists()


def test_table_gives_gigabytes() -> None:
    rows = vectors.table_rows({"unit": {"own": 1.26e9, "resident": 3.4e9}})
    assert rows == [("unit", "1.3", "3.4")]


def test_page_has_the_figures_of_the_report() -> None:
    report = json.loads((ROOT / "benchmarks" / "results" / "vectors.json").read_text("utf8"))
    assert (report["rows"], report["width"]) == vectors.FULL
    assert {*report["results"]} == {*vectors.CASES}
    page = (ROOT / "docs" / "vectors.md").read_text("utf8")
    page = re.sub(r"<!-- .*? -->", "", page)  # which are around what collate puts in
    for row in vectors.table_rows(report["results"]):
        assert f"| {' | '.join(row)} |" in page
