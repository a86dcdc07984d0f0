import json
import subprocess
import sys
from pathlib import Path

import pytest

from benchmarks.common.layers import OURS, SPACY
from benchmarks.common.paths import ROOT
from benchmarks.common.text import Text
from benchmarks.scaling import __main__ as command
from benchmarks.scaling import measure
from benchmarks.scaling.cases import MILLION, PREDICT, QUICK, TRAIN
from benchmarks.scaling.measure import Record
from benchmarks.scaling.memory import count_bytes
from benchmarks.scaling.summary import summarise
from tests.helpers.figures import is_png, needs_matplotlib


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
    run_scaling(tmp_path / "scaling.json", "rows", "num_hashes")
    assert is_png(tmp_path / "scaling.png")


def test_scaling_finds_the_exponent_of_growth() -> None:
    records = {
        str(n): Record(
            axis="tokens",
            value=n,
            point={},
            types=n,
            times_ms={f"tok2vec-predict/{OURS}": [float(n) ** 1.5]},
            temporary_bytes={},
            estimated_bytes={},
            model_bytes={},
        )
        for n in (1, 1000, 10_000, 100_000)
    }
    exponents = summarise(records)["exponent"]
    assert exponents == {f"tok2vec-predict/{OURS}": 1.5}


def test_temporary_bytes_are_beyond_the_result() -> None:
    code = """
import numpy
from benchmarks.scaling.memory import temporary_bytes

def run():
    # 4 MB that are let go, and 1 MB that is returned
    numpy.ones(500_000)
    return [numpy.ones(125_000)]

print(temporary_bytes(run))
"""
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, check=True)
    assert 2.9e6 < int(done.stdout) < 3.1e6
