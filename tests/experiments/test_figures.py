"""The README's figure: which runs it averages, beside a count by hand."""

import json
from pathlib import Path

import pandas
import pytest

from experiments.arms import SPACY
from experiments.figures import DEFAULT, RECOMMENDED, draw_overview, make_overview
from experiments.results import COLUMNS
from experiments.statistics import Runs
from experiments.tables import CHOSEN


def test_overview_averages_over_corpora_with_runs_of_ours_and_of_spacy(tmp_path: Path) -> None:
    scores = {
        ("gum", CHOSEN): 0.5,
        ("gum", SPACY): 0.4,
        ("gum", "small"): 0.2,
        ("anem", CHOSEN): 0.7,
        ("anem", SPACY): 0.5,
        ("anem", "small"): 0.4,
        ("wnut17", CHOSEN): 0.0,
        ("anem-300", CHOSEN): 0.9,
        ("anem-300", SPACY): 0.8,
    }
    rows = [
        {"dataset": dataset, "arm": arm, "vectors": "", "after": "", "seed": 0}
        | {"dev_f": f, "bytes": 1e7 * f}
        for (dataset, arm), f in scores.items()
    ]
    measured = {"recommended/pipe": {"values": {"spaCy": 50.0, "ours": 10.0}}}
    benchmarks = tmp_path / "3.11.json"
    benchmarks.write_text(json.dumps({"rows": measured}), "utf8")
    runs = Runs(pandas.DataFrame(rows, columns=list(COLUMNS)), {})
    overview = make_overview(runs, benchmarks)
    assert overview.scores == "mean F1 on dev\n(2 corpora)"
    means = {RECOMMENDED: 0.6, "small": 0.3, DEFAULT: 0.45}
    assert overview.f == pytest.approx(means)
    assert overview.megabytes == pytest.approx({name: 10 * f for name, f in means.items()})
    assert overview.speed == pytest.approx({RECOMMENDED: 100_000, DEFAULT: 20_000})
    drawn = draw_overview(overview).decode()
    assert [drawn.count(f'id="{name}"') for name in overview.f] == [2, 1, 2]
    fewer = [row for row in rows if (row["dataset"], row["arm"]) != ("anem", "small")]
    runs = Runs(pandas.DataFrame(fewer, columns=list(COLUMNS)), {})
    assert make_overview(runs, benchmarks).f.keys() == {RECOMMENDED, DEFAULT}
