"""The table of compressed pipelines."""

from pathlib import Path
from typing import Any

import pytest
import srsly

from experiments.tables.compressed import read_reports, render_compressed


def change(before: float, after: float) -> dict[str, float]:
    return {"before": before, "after": after, "ratio": after / before}


def report(entities: int, **kept: float) -> dict[str, Any]:
    return {
        "bytes": change(50_000_000, 12_345_678),
        "memory": change(200e6, 50e6),
        "load_seconds": change(1.0, 0.25),
        "tokens_per_second": change(6000, 6600),
        "predictions": {
            "entities": entities,
            "entities_kept": 0.99684,
            "f": change(0.70496, 0.7052),
            "attributes_kept": kept,
        },
    }


def test_measures_are_those_of_each_pipeline() -> None:
    reports = {"multi_hash_embed": report(4119), "en_core_web_md": report(10061, TAG=0.99934)}
    lines = render_compressed(reports | {"another": {}}).splitlines()
    assert lines[0] == (
        "|  | `en_core_web_md` before | `en_core_web_md` after | MultiHashEmbed before "
        "| MultiHashEmbed after `--weights int8` |"
    )
    for line in (
        "| MB on disk | 50.0 | 12.3 (0.247) | 50.0 | 12.3 (0.247) |",
        "| MB of memory | 200 | 50 (0.25) | 200 | 50 (0.25) |",
        "| tokens a second | 6,000 | 6,600 (1.1) | 6,000 | 6,600 (1.1) |",
        "| entities found before | 10,061 |  | 4,119 |  |",
        "| entities kept |  | 99.68 % |  | 99.68 % |",
        "| F1 of entities |  |  | 0.7050 | 0.7052 |",
        "| tags kept |  | 99.93 % |  |  |",
        "| lemmas kept |  |  |  |  |",
    ):
        assert line in lines


def test_reports_are_read_by_name(tmp_path: Path) -> None:
    srsly.write_json(tmp_path / "one.json", report(3))
    assert read_reports(tmp_path)["one"]["predictions"]["entities"] == 3
    srsly.write_json(tmp_path / "two.json", {**report(3), "predictions": None})
    with pytest.raises(ValueError, match=r"two\.json has no predictions: .* again with --data"):
        read_reports(tmp_path)
    (tmp_path / "two.json").write_text("{")
    with pytest.raises(
        ValueError, match=r"two\.json holds no JSON .* Delete it and compress again"
    ):
        read_reports(tmp_path)
