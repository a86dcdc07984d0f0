import json
from pathlib import Path

import pytest

from benchmarks import apply
from benchmarks.common.text import Text


def test_apply_compares_one_worker_with_two(
    text: Text, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("distributed", reason="there is no Dask: extra dask")
    monkeypatch.setattr(apply, "load_text", lambda: text)
    apply.apply_cli([2], True, 2, tmp_path / "apply.json")
    data = json.loads((tmp_path / "apply.json").read_text("utf8"))
    assert data["settings"]["rounds"] == 2 and data["settings"]["text"] == "tiny"
    assert data["settings"]["format"] == "spacy" and "cpu" in data["machine"]
    one, two = data["results"]
    assert (one["workers"], two["workers"]) == (1, 2)
    assert one["ratio"] == {"low": 1, "median": 1, "high": 1}
    for found in (one, two):
        assert len(found["times_ms"]) == 2 and found["tokens_per_second"] > 0
    assert 0 < two["ratio"]["low"] <= two["ratio"]["median"] <= two["ratio"]["high"]
