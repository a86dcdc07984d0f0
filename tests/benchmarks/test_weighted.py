import json
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import numpy
import pytest

from benchmarks import weighted
from benchmarks.common.text import Text
from benchmarks.common.timing import ALL
from tests.helpers.figures import check_ratio_bars, needs_matplotlib, saved_figures


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
        assert ax.get_title() == "What importance parameters cost"
        times_of = "time of MultiWeightedHashEmbed / time of MultiHashEmbed (above 1: slower)"
        assert ax.get_xlabel() == times_of
        check_ratio_bars(ax, weighted_bars(records.values()), weighted.COLORS)


def weighted_bars(records: Iterable[Any]) -> list[Any]:
    bars = []
    for record in records:
        case = record["case"]
        label = (
            f"{case['step']}, {case['tokens']:,} tokens, width {case['width']}, "
            f"k = {case['num_hashes']}, rows x {case['rows']:g}"
        )
        usual = {**weighted.Case("train")._asdict(), "threads": case["threads"]}
        target = weighted.TARGET if case == usual else None
        bars.append((label, case["threads"], record["ratio"], target))
    return bars


@needs_matplotlib
def test_weighted_draws_the_target_of_a_training_step(tmp_path: Path) -> None:
    interval = {"low": 1.1, "median": 1.2, "high": 1.5}
    cases = [weighted.Case("train"), weighted.Case("predict", rows=0.1, threads=ALL)]
    records: Any = {c.name: {"case": c._asdict(), "ratio": interval} for c in cases}
    with saved_figures() as figures:
        weighted.draw(tmp_path / "weighted.png", records)
    bars = weighted_bars(records.values())
    assert [target for *_, target in bars] == [1.3, None]
    check_ratio_bars(figures[0].axes[0], bars, weighted.COLORS)


def test_weighted_measures_only_what_is_missing(tmp_path: Path) -> None:
    output = tmp_path / "weighted.json"
    weighted.weighted_cli(True, 2, output, None, False)
    first = output.read_text("utf8")
    weighted.weighted_cli(True, 2, output, None, False)
    assert output.read_text("utf8") == first
