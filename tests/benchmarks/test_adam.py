import json
from pathlib import Path

import numpy
import pytest

from benchmarks import adam
from benchmarks.common.text import Text

pytest.importorskip("numba", reason="our Adam needs numba, of the extra numba")


def test_adam_compares_tables_and_training_steps(
    tmp_path: Path, text: Text, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(adam, "load_text", lambda: text)
    monkeypatch.setattr(adam, "WORDS", 40)
    monkeypatch.setattr(adam, "ROWS", (10, 20))
    monkeypatch.setattr(adam, "TABLES", (50, 100))
    output = tmp_path / "adam.json"
    adam.adam_cli(repeats=2, output=output)
    results = json.loads(output.read_text("utf8"))["results"]
    components = [f"{name}, {rows} rows" for name in adam.CONFIGS for rows in (50, 100)]
    assert [*results] == ["10 rows", "20 rows", *components]
    assert results["20 rows"]["parameters"] == 20 * adam.WIDTH
    for few, many in (components[:2], components[2:]):
        assert results[many]["parameters"] - results[few]["parameters"] == 50 * adam.WIDTH
    for result in results.values():
        assert 0 < result["ratio"]["low"] <= result["ratio"]["median"] <= result["ratio"]["high"]


def test_other_weights_end_the_benchmark() -> None:
    weights = {adam.THINC: numpy.zeros(3), adam.OURS: numpy.ones(3)}
    steps = {name: lambda i: lambda: None for name in weights}
    with pytest.raises(ValueError, match="lead to different weights"):
        adam._compare(steps, 2, 3, weights.__getitem__)
