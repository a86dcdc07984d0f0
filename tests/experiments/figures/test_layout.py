"""The figures of the results in the repository can be read."""

from typing import Any

import pytest

pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install -e '.[plots]'")
pytest.importorskip("pandas", reason="pandas is not installed: pip install -e '.[plots]'")
pytest.importorskip("scipy", reason="scipy is not installed: pip install -e '.[plots]'")

from experiments.figures import calibration, dilated, recipe, report, weighted
from experiments.runs.files import CALIBRATIONS, RESULTS
from experiments.tables.calibration import read_calibrations
from experiments.tables.statistics import load_results
from tests.helpers.figures import (
    check_labels_beside_points,
    check_layout,
    points_of,
    saved_figures,
)
from tests.helpers.paths import ROOT
from tests.helpers.results import REPORT

NAMES = (
    *("figure-3", "figure-4", "figure-5", "figure-6", "dead-seed", "budgets", "textcat-accuracy"),
    *("receptive-field", "dilated-scores", "taken-apart", "calibration"),
)


@pytest.fixture(scope="module")
def figures() -> dict[str, Any]:
    """Make all figures of the docs."""
    results = load_results(ROOT / RESULTS, REPORT)
    files: dict[str, bytes] = {}
    with saved_figures() as saved:
        for module in (report, weighted, dilated, recipe):
            files |= module.make_figures(results)
        files |= calibration.make_figures(read_calibrations(ROOT / CALIBRATIONS))
    assert [name for name in files if name.endswith("png")] == [f"{name}.png" for name in NAMES]
    in_docs = {path.stem for path in (ROOT / "docs" / "figures").iterdir()}
    assert in_docs == set(NAMES)
    return dict(zip(NAMES, saved, strict=True))


@pytest.mark.parametrize("name", NAMES)
def test_figures_of_the_docs_are_readable(figures: dict[str, Any], name: str) -> None:
    check_layout(figures[name])


@pytest.mark.parametrize("name", ["dilated-scores", "textcat-accuracy"])
def test_labels_of_points_are_beside_them(figures: dict[str, Any], name: str) -> None:
    for ax in figures[name].axes:
        check_labels_beside_points(ax)


@pytest.mark.parametrize("name", NAMES)
def test_only_figures_with_error_bars_of_sd_speak_of_it(figures: dict[str, Any], name: str) -> None:
    figure = figures[name]
    lines = [points for ax in figure.axes for points in points_of(ax)]
    has_bars = any(point.high > point.low for points in lines for point in points)
    assert ("sd" in figure.get_suptitle()) == (has_bars and name != "taken-apart")
    labels = [label for ax in figure.axes for label in (ax.get_xlabel(), ax.get_ylabel())]
    assert "sd" not in " ".join(labels).split()
    assert has_bars == (name not in ("receptive-field", "calibration"))


def test_most_of_the_places_for_bars_have_one(figures: dict[str, Any]) -> None:
    for name in ("figure-3", "figure-4"):
        for ax in figures[name].axes:
            assert len(ax.patches) > 0.75 * 2 * len(ax.get_xticks())
