import json
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy
import pytest
from pytest import approx

from benchmarks.common.curves import set_ticks
from benchmarks.common.figures import in_words
from benchmarks.common.layers import OURS, SPACY
from benchmarks.common.memory import count_bytes
from benchmarks.common.paths import ROOT
from benchmarks.common.text import Text
from benchmarks.scaling import __main__ as command
from benchmarks.scaling import measure
from benchmarks.scaling.cases import MILLION, PREDICT, QUICK, TRAIN
from benchmarks.scaling.measure import Record
from benchmarks.scaling.plot import LABELS, LAYERS, draw
from benchmarks.scaling.summary import summarise
from tests.helpers.figures import is_png, legend_of, needs_matplotlib, saved_figures, ticks_of

ARMS = (SPACY, OURS)


@pytest.fixture(autouse=True)
def _tiny_text(text: Text, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "load_text", lambda: text)


def run_scaling(output: Path, *only: str) -> dict:
    with pytest.MonkeyPatch.context() as patch:
        # A process of the test runner crashed once while it traced memory, beside threads of its
        # own: one test traces in a process that does nothing else.
        patch.setattr(measure, "temporary_bytes", lambda run: count_bytes(run()))
        command.scaling_cli(True, list(only), 2, output, None, False)
    return json.loads(output.read_text("utf8"))


def test_scaling_writes_times_and_memory_of_every_point(tmp_path: Path) -> None:
    data = run_scaling(tmp_path / "scaling.json")
    axes = QUICK.axes
    expected = [f"{axis}/{value}" for axis, values in axes.items() for value in values]
    assert list(data["results"]) == [*expected, f"million/{QUICK.million}"]
    for record in data["results"].values():
        arms = [SPACY, OURS] if record["point"]["num_hashes"] == 4 else [OURS]
        trained = [] if record["axis"] == MILLION else [TRAIN]
        names = {f"{what}/{arm}" for what in [*PREDICT, *trained] for arm in arms}
        assert set(record["times_ms"]) == set(record["temporary_bytes"]) == names
        assert set(record["model_bytes"]) == set(arms)
        assert record["estimated_bytes"] == {}
    assert set(data["summary"]["memory"]) == set(PREDICT)
    assert data["results"]["vocabulary/5"]["types"] == 5


def test_scaling_estimates_what_does_not_fit(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(measure, "available_bytes", lambda: 0)
    monkeypatch.setattr("benchmarks.common.command.can_plot", lambda: False)
    data = run_scaling(tmp_path / "scaling.json", "million")
    (record,) = data["results"].values()
    assert record["times_ms"] == record["temporary_bytes"] == {}
    assert set(record["estimated_bytes"]) == {
        f"{what}/{arm}" for what in PREDICT for arm in (SPACY, OURS)
    }
    assert "about" in capsys.readouterr().out


@needs_matplotlib
def test_scaling_draws(tmp_path: Path) -> None:
    with saved_figures() as figures:
        data = run_scaling(tmp_path / "scaling.json", "rows", "num_hashes")
    assert is_png(tmp_path / "scaling.png")
    times, memory = figures
    assert is_png(tmp_path / "scaling-memory.png")
    for figure, subject, ylabel in (
        (times, "Time", "time (ms)"),
        (memory, "Temporary memory", "memory (MB)"),
    ):
        title = figure.get_suptitle().split("\n")
        assert title[0] == f"{subject} of spaCy's layers and ours by size"
        assert title[2] == (
            "Where not varied: tokens of one doc 200, width 16, rows of each table 500, "
            "hash functions 4."
        )
        assert [ax.get_ylabel() for ax in figure.axes] == [ylabel, "", "", ""] * 2
        titles = [ax.get_title(loc="left") for ax in figure.axes]
        assert titles == [*map(in_words, LAYERS), *[""] * len(LAYERS)]
    for i, axis in enumerate(("rows", "num_hashes")):
        records = [r for r in data["results"].values() if r["axis"] == axis]
        for j, layer in enumerate(LAYERS):
            above, below = (figure.axes[len(LAYERS) * i + j] for figure in figures)
            assert above.get_xlabel() == below.get_xlabel() == LABELS[axis]
            assert [*above.get_xticks()] == [*below.get_xticks()] == [r["value"] for r in records]
            check_panel(above, below, layer, records)


def check_panel(above: Any, below: Any, layer: str, records: list[Any]) -> None:
    times, sizes = lines_of(above), lines_of(below)
    if layer.startswith("tok2vec"):
        weights = [(r["value"], r["model_bytes"][OURS] / 1e6) for r in records]
        assert sizes.pop("weights of tok2vec, both") == [approx(each) for each in weights]
    assert list(times) == list(sizes) == [*ARMS]
    for arm in ARMS:
        name = f"{layer}/{arm}"
        here = [r for r in records if name in r["times_ms"]]
        medians = [(r["value"], numpy.median(r["times_ms"][name])) for r in here]
        memory = [(r["value"], max(r["temporary_bytes"][name], 1) / 1e6) for r in here]
        assert times[arm] == [approx(each) for each in medians]
        assert sizes[arm] == [approx(each) for each in memory]


def lines_of(ax: Any) -> dict[str, list[tuple[float, float]]]:
    """Return the points of each line by its label."""
    return {
        line.get_label(): list(zip(line.get_xdata(), line.get_ydata(), strict=True))
        for line in ax.lines
    }


@needs_matplotlib
def test_scaling_draws_exponents_and_what_does_not_fit(tmp_path: Path) -> None:
    records = records_of_tokens()
    names = [f"{what}/{arm}" for what in PREDICT for arm in ARMS]
    sizes = {name: 1_000_000 * (1 + i) for i, name in enumerate(names)}
    records["million"] = Record(
        axis=MILLION,
        value=10**6,
        point={},
        types=10**6,
        times_ms={},
        temporary_bytes={},
        estimated_bytes=sizes,
        model_bytes={},
    )
    for record in records.values():
        record["model_bytes"] = {OURS: 4_000_000}
    with saved_figures() as figures:
        draw(tmp_path / "scaling.png", records, "machine")
    times, memory = figures
    notes = {ax.get_title(loc="left"): [text.get_text() for text in ax.texts] for ax in times.axes}
    assert notes == {
        "embedding, prediction": [],
        "encoder, prediction": [],
        "tok2vec, prediction": [f"power from 1,000:\n{SPACY} 1.00\n{OURS} 1.50"],
        "tok2vec, training step": [],
    }
    crosses = [line for ax in memory.axes for line in ax.lines if line.get_marker() == "x"]
    drawn = [(*line.get_xdata(), *line.get_ydata()) for line in crosses]
    assert drawn == [(10**6, 1 + i) for i in range(len(names))]
    assert legend_of(memory).count("estimated, does not fit") == 1
    assert "estimated, does not fit" not in legend_of(times)


@needs_matplotlib
def test_labels_of_ticks_that_are_too_near_are_left_out(tmp_path: Path) -> None:
    from matplotlib.figure import Figure

    for values, expected in (
        ((32, 64, 96, 128, 256, 512), ["32", "64", "", "128", "256", "512"]),
        ((500, 2000, 5000, 50_000), ["500", "2k", "5k", "50k"]),
        ((1, 16, 256, 1024), ["1", "16", "", "1,024"]),
        ((7,), ["7"]),
    ):
        ax = Figure().subplots()
        ax.set_xscale("log")
        set_ticks(ax, values)
        assert ticks_of(ax.xaxis) == expected


def records_of_tokens() -> dict[str, Record]:
    """Make records of docs of 1 to 100,000 tokens, whose times grow with a known exponent."""
    names = {f"tok2vec-predict/{SPACY}": 1.0, f"tok2vec-predict/{OURS}": 1.5}
    return {
        str(n): Record(
            axis="tokens",
            value=n,
            point={},
            types=n,
            times_ms={name: [float(n) ** exponent] for name, exponent in names.items()},
            temporary_bytes=dict.fromkeys(names, n),
            estimated_bytes={},
            model_bytes={},
        )
        for n in (1, 1000, 10_000, 100_000)
    }


def test_scaling_finds_the_exponent_of_growth() -> None:
    exponents = summarise(records_of_tokens())["exponent"]
    assert exponents == {f"tok2vec-predict/{SPACY}": 1.0, f"tok2vec-predict/{OURS}": 1.5}


def test_temporary_bytes_are_beyond_the_result() -> None:
    code = """
import numpy
from benchmarks.common.memory import temporary_bytes

def run():
    # 4 MB that are let go, and 1 MB that is returned
    numpy.ones(500_000)
    return [numpy.ones(125_000)]

print(temporary_bytes(run))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=True)
    assert 2.9e6 < int(done.stdout) < 3.1e6
