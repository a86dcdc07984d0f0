import json
from pathlib import Path

import numpy
import pytest

from benchmarks import features
from benchmarks.common.results import Results
from benchmarks.common.text import Text
from tests.helpers.figures import needs_matplotlib


@pytest.fixture(autouse=True)
def _tiny_text(text: Text, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(features, "load_text", lambda: text)


@needs_matplotlib
def test_features_times_all_embeddings_in_turns(tmp_path: Path) -> None:
    output = tmp_path / "features.json"
    features.features_cli(True, ["predict"], 2, output, None, False)
    features.features_cli(True, ["train"], 2, output, None, False)
    records = json.loads(output.read_text("utf8"))["results"]
    assert [record["case"]["step"] for record in records.values()] == [
        *("predict", "predict", "train", "train")
    ]
    for record in records.values():
        assert [*record["ratio"]] == [*features.ARMS]
        times = {name: numpy.array(ms) for name, ms in record["times_ms"].items()}
        for name, values in record["ratio"].items():
            quotients = times[name] / times[features.FOUR]
            assert values["median"] == pytest.approx(numpy.median(quotients), rel=1e-2)
    assert output.with_suffix(".png").is_file()
    assert len(features.table_rows(records)) == 4 * len(features.ARMS)


def test_unknown_step_is_refused(tmp_path: Path, text: Text) -> None:
    results: Results[features.Record] = Results(tmp_path / "features.json", {})
    with pytest.raises(ValueError, match="--only takes predict, train, was given tables"):
        features.features(text, features.QUICK, 2, ["tables"], results)
