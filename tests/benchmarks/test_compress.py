import json
from pathlib import Path

import numpy
import pytest
from thinc.api import get_current_ops

from benchmarks import compress
from spacy_multihash.compute.quantization import narrow, widen
from tests.helpers.paths import ROOT


def test_compress_writes_its_results(tmp_path: Path) -> None:
    output = tmp_path / "compress.json"
    compress.compress_cli(repeats=2, output=output)
    data = json.loads(output.read_text("utf8"))
    assert data["rounds"] == 2
    assert len(data["results"]) == 8
    widths = {case.name: case.width for case in compress.CASES}
    for item in data["results"]:
        assert 0 < item["time"]["low"] <= item["time"]["median"] <= item["time"]["high"]
        width = widths[item["case"]]
        expected = {"float16": 0.5, "int8": (width + 4) / (4 * width)}  # a float32 scale a row
        assert item["memory"] == pytest.approx(expected[item["precision"]])


def test_both_ways_give_the_same_sums() -> None:
    rng = numpy.random.default_rng(0)
    rows = rng.integers(0, 30, (7, 4), dtype="int32")
    for precision in compress.PRECISIONS:
        found = narrow(rng.normal(size=(30, 8)).astype("float32"), precision)
        for some in (rows, rows[:, :1]):
            expected = compress.look_up(get_current_ops(), widen(*found), some)
            sums = compress.look_up_codes(found, some)
            numpy.testing.assert_allclose(sums, expected, rtol=1e-5, atol=1e-6)


def test_page_says_how_many_rounds_there_were() -> None:
    report = json.loads((ROOT / "benchmarks" / "results" / "compress.json").read_text("utf8"))
    page = (ROOT / "docs" / "smaller-pipelines.md").read_text("utf8")
    assert f"median of {report['rounds']} rounds" in " ".join(page.split())
