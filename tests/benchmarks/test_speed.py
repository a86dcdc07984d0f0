import json
from pathlib import Path
from typing import Any

import pytest
import spacy

from benchmarks.common.figures import in_words
from benchmarks.common.layers import OURS, SPACY
from benchmarks.common.text import Text
from benchmarks.common.timing import ALL, ONE
from benchmarks.speed import __main__ as command
from benchmarks.speed.cases import LAYERS, LIMIT, PIPELINES
from benchmarks.speed.measure import Record
from benchmarks.speed.pipelines import accelerate
from benchmarks.speed.plot import COLORS, draw
from benchmarks.speed.table import table_rows
from benchmarks.speed.targets import find_target
from tests.helpers.figures import check_ratio_bars, is_png, needs_matplotlib, saved_figures


@pytest.fixture(autouse=True)
def _tiny_text(text: Text, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(command, "load_text", lambda: text)


def run_speed(output: Path, *only: str, fresh: bool = False) -> dict:
    command.speed_cli(True, list(only), 2, output, None, fresh)
    return json.loads(output.read_text("utf8"))


def test_speed_writes_times_of_both_arms_for_every_layer(tmp_path: Path) -> None:
    data = run_speed(tmp_path / "speed.json", *LAYERS)
    assert {"machine", "text", "settings", "results"} == set(data)
    assert data["text"] == {"name": "tiny", "lang": "en", **data["text"]}
    assert {"cpu", "cores", "python", "numpy", "spacy", "thinc", "numpy_blas"} <= set(
        data["machine"]
    )
    # 6 layers and steps, in 2 numbers of threads, in 3 combinations of width and docs
    assert len(data["results"]) == 36
    for name, record in data["results"].items():
        limited = record["what"] in ("encoder-predict", "tok2vec-predict")
        assert set(record["times_ms"]) == {SPACY, OURS} | ({LIMIT} if limited else set())
        assert all(len(times) == 2 and min(times) > 0 for times in record["times_ms"].values())
        assert record["ratio"]["low"] <= record["ratio"]["median"] <= record["ratio"]["high"], name
        assert set(record["share"]) == ({SPACY, OURS} if limited else set())
        assert min(record["tokens_per_second"].values()) > 0
        assert record["threads"] == ALL or record["num_threads"] == 1


def test_speed_measures_pipelines(tmp_path: Path) -> None:
    data = run_speed(tmp_path / "speed.json", *PIPELINES)
    assert [(r["what"], r["threads"]) for r in data["results"].values()] == [
        (what, threads) for what in PIPELINES for threads in (ONE, ALL)
    ]


def test_speed_goes_on_and_starts_anew_on_request(tmp_path: Path) -> None:
    output = tmp_path / "speed.json"
    first = run_speed(output, "embed-predict")["results"]
    second = run_speed(output, "embed-predict", "embed-train")["results"]
    assert {name: second[name] for name in first} == first
    assert len(second) == 2 * len(first)
    assert len(run_speed(output, "embed-train", fresh=True)["results"]) == len(first)


def test_speed_refuses_what_it_does_not_know(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="1"):
        run_speed(tmp_path / "speed.json", "embedding")
    assert "was given embedding" in capsys.readouterr().out


def test_speed_refuses_a_pipeline_that_accelerate_leaves_alone() -> None:
    with pytest.raises(ValueError, match="Not all layers of the pipeline were accelerated"):
        accelerate(spacy.blank("en"))


def make_record(what: str, threads: str, median: float) -> Record:
    interval = {"low": median - 0.1, "median": median, "high": median + 0.1}
    share = {SPACY: interval, OURS: interval} if what == "encoder-predict" else {}
    return Record(
        what=what,
        width=96,
        text="short",
        threads=threads,
        num_threads=1,
        tokens=[10],
        times_ms={SPACY: [2.0], OURS: [1.0]},
        tokens_per_second={SPACY: 5.0, OURS: 10.0},
        ratio=interval,
        share=share,
    )


def test_speed_table_says_which_targets_are_met() -> None:
    records = [
        make_record("tok2vec-predict", ONE, 2.6),
        make_record("tok2vec-predict", ALL, 2.6),
        make_record("encoder-predict", ONE, 0.7),
        make_record("encoder-predict", ALL, 0.7),
    ]
    rows = table_rows({str(n): record for n, record in enumerate(records)})
    assert [(row[7], row[10]) for row in rows] == [
        ("2.5 met", ""),
        ("4.0 missed", ""),
        ("", "0.65 met"),
        ("", ""),
    ]


def test_speed_has_no_target_for_other_widths_and_long_docs() -> None:
    record = make_record("tok2vec-predict", ONE, 2.6)
    assert find_target(record, "ratio") == 2.5
    assert find_target({**record, "width": 256}, "ratio") is None
    assert find_target({**record, "text": "long"}, "ratio") is None


@needs_matplotlib
def test_speed_draws(tmp_path: Path) -> None:
    with saved_figures() as figures:
        data = run_speed(tmp_path / "speed.json", "encoder-predict", "tok2vec-predict")
    assert is_png(tmp_path / "speed.png")
    (figure,) = figures
    check_speed(figure, list(data["results"].values()))


def check_speed(figure: Any, records: list[Record]) -> None:
    panels: dict[str, list[Any]] = {}
    shares: list[Any] = []
    for r in records:
        sizes = f"width {r['width']}, {r['text']} docs"
        panels.setdefault(sizes, []).append((in_words(r["what"]), r["threads"], r["ratio"]))
        label = f"{in_words(r['what'])}, {r['threads']},\n{sizes}"
        shares += [(label, arm, share) for arm, share in r["share"].items()]
    axes = {ax.get_title(loc="left"): ax for ax in figure.axes}
    limit = axes.pop("share of the machine's limit")
    assert limit.get_xlabel() == "time of bare matrix products\ndivided by the layer's"
    check_ratio_bars(limit, shares, COLORS)
    assert set(axes) == set(panels)
    for sizes, bars in panels.items():
        assert axes[sizes].get_xlabel() == "spaCy's time divided by ours\n(above 1: ours is faster)"
        check_ratio_bars(axes[sizes], bars, COLORS)


@needs_matplotlib
def test_speed_draws_no_targets(tmp_path: Path) -> None:
    records = [
        make_record("tok2vec-predict", ONE, 2.6),
        make_record("tok2vec-predict", ALL, 2.6),
        make_record("encoder-predict", ONE, 0.7),
    ]
    with saved_figures() as figures:
        draw(tmp_path / "x.png", {str(i): r for i, r in enumerate(records)}, "machine")
    (figure,) = figures
    assert figure.get_suptitle() == "Speed compared with spaCy\nmachine"
    check_speed(figure, records)
    assert [find_target(r, "ratio") for r in records] == [2.5, 4.0, None]
    assert find_target(records[-1], "share") == 0.65
