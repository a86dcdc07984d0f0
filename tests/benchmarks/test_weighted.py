import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy
import pytest

from benchmarks import weighted
from benchmarks.common.text import Text
from benchmarks.common.timing import ALL
from tests.helpers.figures import bars_of, check_ratio_bars, needs_matplotlib, saved_figures


@pytest.fixture(autouse=True)
def _tiny_text(text: Text, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weighted, "load_text", lambda: text)


def test_weighted_times_both_embeddings_in_every_step(tmp_path: Path) -> None:
    output = tmp_path / "weighted.json"
    with saved_figures() as figures:
        weighted.weighted_cli(True, 2, output, None, False)
    records = json.loads(output.read_text("utf8"))["results"]
    assert [record["case"]["step"] for record in records.values()] == [
        "train",
        "update",
        "predict",
        "tables",
    ]
    for record in records.values():
        times, others = (
            record["times_ms"][arm] for arm in (weighted.WEIGHTED, weighted.UNWEIGHTED)
        )
        quotients = numpy.array(times) / numpy.array(others)
        assert record["ratio"]["median"] == pytest.approx(numpy.median(quotients), rel=1e-2)
        assert len(quotients) == 2
    for figure in figures:
        (ax,) = figure.axes
        assert figure.get_suptitle() == "What importance parameters cost, by step and size"
        xlabel = (
            "time of MultiWeightedHashEmbed divided by\nthat of MultiHashEmbed (above 1: slower)"
        )
        assert ax.get_xlabel() == xlabel
        check_ratio_bars(ax, weighted_bars(records.values()), weighted.COLORS)


def weighted_bars(records: Iterable[Any]) -> list[Any]:
    bars = []
    for record in records:
        case = record["case"]
        label = (
            f"{weighted.STEPS[case['step']]},\n{case['tokens']:,} tokens, width {case['width']}, "
            f"{case['num_hashes']} hashes, {case['rows']:g} x the rows"
        )
        bars.append((label, case["threads"], record["ratio"]))
    return bars


@needs_matplotlib
def test_bars_of_a_label_lie_together_without_gaps(tmp_path: Path) -> None:
    interval = {"low": 1.1, "median": 1.2, "high": 1.5}
    cases = [
        weighted.Case("train"),
        weighted.Case("predict", rows=0.1, threads=ALL),
        weighted.Case("train", threads=ALL),
    ]
    records: Any = {c.name: {"case": c._asdict(), "ratio": interval} for c in cases}
    with saved_figures() as figures:
        weighted.draw(tmp_path / "weighted.png", records)
    (ax,) = figures[0].axes
    first, alone, second = weighted_bars(records.values())
    check_ratio_bars(ax, [first, second, alone], weighted.COLORS)
    assert [round(bar.place, 2) for bar in bars_of(ax, horizontal=True)] == [-0.2, 0.2, 1.0]
    assert [line for line in ax.lines if 1.3 in line.get_xdata()] == []  # our target


def test_weighted_says_the_target(capsys: pytest.CaptureFixture[str]) -> None:
    case = weighted.Case("train")
    ratio = {"low": 1.1, "median": 1.2, "high": 1.5}
    record: Any = {"case": case._asdict(), "ratio": ratio}
    weighted.show({case.name: record})
    printed = capsys.readouterr().out
    assert "1.20 (1.10-1.50)" in printed
    assert "Our target for a training step with 2 hashes: at most 1.3" in printed


def test_weighted_measures_only_what_is_missing(tmp_path: Path) -> None:
    output = tmp_path / "weighted.json"
    weighted.weighted_cli(True, 2, output, None, False)
    first = output.read_text("utf8")
    weighted.weighted_cli(True, 2, output, None, False)
    assert output.read_text("utf8") == first
