import json
from collections.abc import Mapping
from pathlib import Path

import pytest

from benchmarks.common import command
from benchmarks.common.command import run_benchmark
from benchmarks.common.results import Results


def run(output: Path, plot: Path | None = None, *, number: int = 1, fresh: bool = False) -> None:
    def measure(results: Results[int]) -> None:
        if number < 0:
            raise ValueError("The number is negative.")
        results.add("a", results.records.get("a", 0) + number)

    def show(records: Mapping[str, int]) -> None:
        assert list(records) == ["a"]

    def draw(path: Path, records: Mapping[str, int]) -> None:
        path.write_text(str(records))

    run_benchmark(
        output, plot, {"machine": "x"}, fresh=fresh, measure=measure, show=show, draw=draw
    )


def use_matplotlib(monkeypatch: pytest.MonkeyPatch, there: bool) -> None:
    monkeypatch.setattr(command, "can_plot", lambda: there)


def test_a_benchmark_goes_on_and_starts_anew_on_request(tmp_path: Path) -> None:
    output = tmp_path / "x.json"
    for fresh, total in [(False, 1), (False, 2), (True, 1)]:
        run(output, fresh=fresh)
        assert json.loads(output.read_text("utf8"))["results"] == {"a": total}


@pytest.mark.parametrize("name", [None, "other.png"])
def test_the_plot_is_beside_the_results_or_where_it_is_asked_for(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, name: str | None
) -> None:
    use_matplotlib(monkeypatch, True)
    run(tmp_path / "x.json", None if name is None else tmp_path / name)
    assert (tmp_path / (name or "x.png")).read_text() == "{'a': 1}"


def test_missing_matplotlib_is_said(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    use_matplotlib(monkeypatch, False)
    run(tmp_path / "x.json")
    assert "pip install" in capsys.readouterr().out
    assert [path.name for path in tmp_path.iterdir()] == ["x.json"]


def test_nothing_to_measure_ends_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="1"):
        run_benchmark(
            tmp_path / "x.json",
            None,
            {},
            fresh=False,
            measure=lambda results: None,
            show=lambda records: None,
            draw=lambda path, records: None,
        )
    assert "There is nothing to measure here" in capsys.readouterr().out
    assert not list(tmp_path.iterdir())


def test_what_cannot_be_measured_ends_the_command(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="1"):
        run(tmp_path / "x.json", number=-1)
    assert "The number is negative." in capsys.readouterr().out
    assert not list(tmp_path.iterdir())
