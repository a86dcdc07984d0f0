"""The figures of weighted hash embeddings."""

import math
from math import sqrt
from pathlib import Path
from typing import Any

import pytest
from pytest import approx

from experiments.arms.tasks import HASH_EMBED

pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install -e '.[plots]'")
pytest.importorskip("pandas", reason="pandas is not installed: pip install -e '.[plots]'")
pytest.importorskip("scipy", reason="scipy is not installed: pip install -e '.[plots]'")

from experiments.figures.weighted import BUDGET_LOOKS, KINDS, kind_of, make_figures
from experiments.tables.statistics import Results, load_results
from experiments.tables.weighted import MODELS
from tests.helpers.figures import legend_of, points_of, saved_figures, ticks_of
from tests.helpers.results import REPORT, write_results


def test_figures_are_made_of_nothing_too() -> None:
    files = make_figures(Results(frozenset(), {}, {}))
    assert sorted(files) == [
        f"{name}.{suffix}" for name in ("budgets", "textcat-accuracy") for suffix in ("png", "svg")
    ]


def test_figures_come_out_the_same_and_show_what_was_run(tmp_path: Path) -> None:
    write_results(tmp_path, "ag-news", "hash_embed", [0.90, 0.92])
    write_results(tmp_path, "ag-news", "bow", [0.88])
    write_results(tmp_path, "wnut17", HASH_EMBED, [0.2, 0.22])
    write_results(tmp_path, "wnut17", "weighted_near_zero_budget_1_percent", [0.3])
    write_results(tmp_path, "wnut17", "weighted_near_zero_budget_10_percent", [0.25])
    results = load_results(tmp_path, REPORT)
    with saved_figures() as figures:
        first, second = (make_figures(results) for _ in range(2))
    assert first == second
    check_budgets(figures[0])
    check_accuracies(figures[1])


def check_budgets(figure: Any) -> None:
    assert legend_of(figure) == list(BUDGET_LOOKS)
    subject, error_bars = figure.get_suptitle().split("\n")[::2]
    assert subject == "F1 by the number of parameters of the tables"
    assert error_bars == "Error bars: ± sd over seeds. No error bar: one seed."
    assert [ax.get_title(loc="left") for ax in figure.axes] == ["wnut17, dev", "wnut17, test"]
    assert [ax.get_xlabel() for ax in figure.axes] == ["share of the default"] * 2
    assert [ax.get_ylabel() for ax in figure.axes] == ["F1", ""]
    for ax in figure.axes:
        drawn = {
            (line, round(point.x)): approx(point[1:])
            for line, points in enumerate(points_of(ax))
            for point in points
            if not math.isnan(point.y)
        }
        assert ticks_of(ax.xaxis) == ["100 %", "10 %", "1 %"]
        # lines: hashes, two hashes, importance of 1 and near zero
        ends = (0.21 - sqrt(2e-4), 0.21 + sqrt(2e-4))
        assert drawn == {
            (0, 0): (0.21, *ends),
            (3, 1): (0.25, 0.25, 0.25),
            (3, 2): (0.3, 0.3, 0.3),
        }


def check_accuracies(figure: Any) -> None:
    (ax,) = figure.axes
    assert (ax.get_xlabel(), ax.get_xscale()) == ("parameters (logarithmic scale)", "log")
    assert (ax.get_title(loc="left"), ax.get_ylabel()) == ("ag-news", "test accuracy")
    assert figure.get_suptitle().startswith("Accuracy of text classifiers on the test set")
    present = {"hash embedding": 0.91, "spaCy's TextCatBOW": 0.88}
    assert legend_of(figure) == [
        f"{number}  {model}{' (missing)' * (model not in present)}"
        for number, model in enumerate(MODELS, start=1)
    ]
    places = {note.get_text(): note.xy for note in ax.texts}
    numbers = {str(1 + list(MODELS).index(model)): f for model, f in present.items()}
    assert places == {number: approx((4_000_084, f)) for number, f in numbers.items()}
    markers = [line.get_marker() for line in ax.lines if len(line.get_xdata())]
    assert [marker for marker in markers if marker != "None"] == ["o", "^"]
    ((one,), (other,)) = points_of(ax)
    assert one[1:] == approx((0.91, 0.91 - sqrt(2e-4), 0.91 + sqrt(2e-4)))
    assert other[1:] == approx((0.88, 0.88, 0.88))


def test_models_are_told_apart_by_kind_without_colours() -> None:
    kinds = [kind_of(model) for model in MODELS]
    assert {kind: kinds.count(kind) for kind in KINDS} == {
        "hash embedding": 8,
        "hashing trick": 6,
        "spaCy's": 2,
    }
    assert len({look.marker for look in KINDS.values()}) == 3
    looks = BUDGET_LOOKS.values()
    assert len({(look.marker, look.line) for look in looks}) == len(looks)
