"""The benchmarks' command on tiny inputs, its clock and its table."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
import spacy

from benchmarks import report
from benchmarks.__main__ import main
from benchmarks.cases import Settings
from benchmarks.pipelines import (
    OURS,
    SPACY,
    check_same_entities,
    check_same_losses,
    trained_arms,
)
from benchmarks.report import (
    Results,
    describe_run,
    make_details,
    make_row,
    make_table,
    write_results,
)
from experiments.corpora.sample import make_sample
from spacy_multihash.common.timing import time_arms
from tests.helpers.paths import ROOT
from tests.helpers.spacy_pipelines import add_rules


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sample")
    make_sample(folder)
    return folder


def test_command_measures_equal_pipelines_and_writes_a_file(corpus: Path, tmp_path: Path) -> None:
    names = ["text/5", "growth/hashes/2"]
    output = tmp_path / "results.json"
    options = ["--quick", "--seconds", "0", "--corpus", str(corpus), "--output", str(output)]
    command = [sys.executable, "-m", "benchmarks", *names, *options]
    done = subprocess.run(command, cwd=ROOT, capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    results = json.loads(output.read_text("utf8"))
    assert list(results["rows"]) == names
    assert results["corpus"] == corpus.name and results["spacy"] and results["cpu"]
    row = results["rows"]["text/5"]
    assert row["unit"] == "us a token" and row["rounds"] >= 5
    spacys, ours = row["values"][SPACY], row["values"][OURS]
    assert row["ratios"][OURS]["low"] <= row["ratios"][OURS]["median"]
    assert 0.2 < row["ratios"][OURS]["median"] / (spacys / ours) < 5
    assert list(results["rows"]["growth/hashes/2"]["values"]) == [OURS]


def test_arms_take_turns_until_the_budget_is_used_up() -> None:
    now = [0.0]
    calls = []

    def work(name: str, seconds: float) -> None:
        calls.append(name)
        now[0] += seconds

    arms = {"a": lambda: work("a", 2.0), "b": lambda: work("b", 0.5)}
    times = time_arms(arms, 20.0, warm_up=1, clock=lambda: now[0])
    assert calls[:8] == ["a", "b", "a", "b", "b", "a", "a", "b"]
    assert times == {"a": [2.0] * 8, "b": [0.5] * 8}  # 8 rounds of 2.5 seconds
    assert len(time_arms(arms, 0.0, clock=lambda: now[0])["a"]) == 5
    assert len(time_arms(arms, 20.0, max_rounds=3, clock=lambda: now[0])["a"]) == 3


def test_other_entities_than_spacys_are_an_error() -> None:
    arms = {}
    for arm, name in ((SPACY, "Rome"), (OURS, "Bob")):
        arms[arm] = add_rules(spacy.blank("en"), {name: "NAME"})
    check_same_entities({SPACY: arms[SPACY], OURS: arms[SPACY]}, ["Rome and Bob"])
    with pytest.raises(RuntimeError, match=r"ours: \[\(2, 3, 'NAME'\)\] instead of \[\(0, 1, "):
        check_same_entities(arms, ["Rome and Bob"])
    with pytest.raises(RuntimeError, match="no entities"):
        check_same_entities(arms, ["Anna"])


def test_losses_are_compared_without_dropout(corpus: Path) -> None:
    arms = trained_arms(corpus, 2, (SPACY, OURS))
    check_same_losses(arms, corpus)
    node = arms[OURS].get_pipe("ner").model.get_ref("lower")  # type: ignore[attr-defined]
    node.set_param("b", node.get_param("b") + 0.1)
    with pytest.raises(RuntimeError, match="ours: the loss is"):
        check_same_losses(arms, corpus)


@pytest.mark.parametrize(("what", "quick"), [([], True), (["text"], False), ([], False)])
def test_incomplete_results_are_not_written_into_the_repository(
    what: list[str], quick: bool, corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def measure(names: Sequence[str], settings: Settings) -> dict[str, None]:
        assert not (what or quick), "it's refused before the work"
        return dict.fromkeys(names)  # all of them failed

    monkeypatch.setattr("benchmarks.__main__.measure", measure)
    monkeypatch.setattr("benchmarks.__main__.can_run", lambda name, settings: True)
    monkeypatch.setattr("benchmarks.__main__.ROOT", tmp_path)
    output = tmp_path / "new.json"
    with pytest.raises(SystemExit):
        main(what, output, corpus, None, 1.0, quick=quick)
    assert not output.exists()


def test_table_has_results_side_by_side() -> None:
    values = {SPACY: [3.0, 3.0], OURS: [1.0, 2.0]}
    full: Results = {
        "cpu": "AMD EPYC",
        "python": "3.11.7",
        "rows": {
            "text/5": make_row("one text", "us a token", 1, values),
            "memory/1": make_row("memory", "MB", 1, {OURS: [1234.0]}),
            "growth/hashes/1": make_row("growth", "us a token", 1, {OURS: [1.0]}),
        },
    }
    part = {"cpu": "Intel", "python": "3.13.0", "rows": {"text/5": full["rows"]["text/5"]}}
    assert make_table([part, full]).splitlines() == [
        "|  | Intel, Python 3.13 | AMD, Python 3.11 |",
        "| --- | --: | --: |",
        "| one text | 2.25 | 2.25 |",
        "| memory |  | 1,234 MB |",
    ]
    assert make_details(full).splitlines()[2:] == [
        "| one text | 3 us a token |  | 2.25 (1.65-2.85) |  |",
        "| memory |  |  | 1,234 MB |  |",
    ]


def test_report_fills_the_page_and_draws_figures(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    values = {SPACY: [3.0, 3.0], OURS: [1.0, 2.0]}
    rows = {
        "text/5": make_row("one text", "us a token", 1, values),
        "growth/width/64": make_row("width 64", "us a token", 1, values),
        "growth/hashes/1": make_row("one hash", "us a token", 1, {OURS: [1.0]}),
    }
    file, page = tmp_path / "3.json", tmp_path / "page.md"
    growth, bars = tmp_path / "growth.svg", tmp_path / "speedups.svg"
    details = tmp_path / "README.md"
    write_results(file, {**describe_run("a sample"), "seconds": 1, "rows": rows})
    monkeypatch.setattr(report, "PAGE", page)
    monkeypatch.setattr(report, "FIGURE", growth)
    monkeypatch.setattr(report, "BARS", bars)
    monkeypatch.setattr(report, "DETAILS", details)
    page.write_text(f"Before.\n{report.BEGIN}old\n{report.END}After.\n", "utf8")
    report.report([file])
    text = page.read_text("utf8")
    assert text.startswith(f"Before.\n{report.BEGIN}| ") and text.endswith(f"{report.END}After.\n")
    assert "| one text | 2.25 |" in text and "texts of a sample" in text
    assert "| one text | 3 us a token |" in details.read_text("utf8")
    assert "old" not in text and "width 64" not in text
    assert "<svg" in growth.read_text("utf8")
    assert "<svg" in bars.read_text("utf8")
    page.write_text("Without a place.\n", "utf8")
    with pytest.raises(ValueError, match="must have the lines <!-- begin: benchmarks -->"):
        report.report([file])
