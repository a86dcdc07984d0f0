import json
from pathlib import Path

import numpy
import pytest

from benchmarks import weighted
from benchmarks.common.text import Text


@pytest.fixture(autouse=True)
def _tiny_text(text: Text, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(weighted, "load_text", lambda: text)


def test_weighted_times_both_embeddings_in_every_step(tmp_path: Path) -> None:
    output = tmp_path / "weighted.json"
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


def test_weighted_measures_only_what_is_missing(tmp_path: Path) -> None:
    output = tmp_path / "weighted.json"
    weighted.weighted_cli(True, 2, output, None, False)
    first = output.read_text("utf8")
    weighted.weighted_cli(True, 2, output, None, False)
    assert output.read_text("utf8") == first
