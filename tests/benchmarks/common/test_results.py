import json
from pathlib import Path

import pytest

from benchmarks.common.results import Results, measure_missing


def test_results_go_on_where_they_were(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    Results[int](path, {"settings": {"widths": (1, 2)}}).add("a", 1)
    results = Results[int](path, {"settings": {"widths": (1, 2)}})
    results.add("b", 2)
    assert json.loads(path.read_text("utf8")) == {
        "settings": {"widths": [1, 2]},
        "results": {"a": 1, "b": 2},
    }
    assert [file.name for file in tmp_path.iterdir()] == ["results.json"]


def test_results_of_other_settings_are_not_mixed(tmp_path: Path) -> None:
    path = tmp_path / "results.json"
    Results[int](path, {"machine": "x", "settings": 1}).add("a", 1)
    with pytest.raises(ValueError, match="made with another settings. Choose another --output"):
        Results[int](path, {"machine": "x", "settings": 2})
    assert Results[int](path, {"machine": "x", "settings": 2}, fresh=True).records == {}


@pytest.mark.parametrize("text", ["{", "[]", '{"a": 1}'])
def test_files_of_something_else_are_named(tmp_path: Path, text: str) -> None:
    path = tmp_path / "results.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=r"results\.json has no results of a benchmark"):
        Results[int](path, {})
    assert Results[int](path, {}, fresh=True).records == {}


def test_only_missing_cases_are_measured_and_each_is_written(tmp_path: Path) -> None:
    path, measured = tmp_path / "results.json", []
    results = Results[int](path, {})
    results.add("a", 1)

    def measure(case: int) -> int:
        measured.append(case)
        assert list(json.loads(path.read_text("utf8"))["results"]) == ["a", "b"][: len(measured)]
        return case * 10

    measure_missing(results, {"a": 1, "b": 2, "c": 3}, measure)
    assert measured == [2, 3]
    assert results.records == {"a": 1, "b": 20, "c": 30}
