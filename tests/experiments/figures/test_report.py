"""The figures of the results: what is drawn, what is missing, and that they come out the same."""

from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from experiments.arms.tasks import HASH_EMBED
from tests.helpers.paths import ROOT

pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install -e '.[plots]'")
pytest.importorskip("pandas", reason="pandas is not installed: pip install -e '.[plots]'")
pytest.importorskip("scipy", reason="scipy is not installed: pip install -e '.[plots]'")

from matplotlib.axes import Axes
from matplotlib.figure import Figure

from experiments.figures import weighted
from experiments.figures.drawing import Series
from experiments.figures.lines import Panel, draw_lines
from experiments.figures.report import (
    REPORT_LABEL,
    REPORT_SERIES,
    SEED_LOOKS,
    dataset_panels,
    dead_seed_figure,
    draw_bars,
    make_figures,
)
from experiments.tables.report import TABLES
from experiments.tables.statistics import Results, Stat, load_results, read_report, report_stats
from tests.helpers.results import REPORT, write_results

NAMES = ("dead-seed", "figure-3", "figure-4", "figure-5", "figure-6")


@pytest.fixture
def ax() -> Axes:
    return Figure().subplots()


@pytest.fixture
def nothing() -> Results:
    return Results(frozenset(), {}, report_stats(read_report(REPORT)))


def line_points(ax: Axes) -> list[list[float]]:
    return [list(container.lines[0].get_ydata()) for container in ax.containers]  # type: ignore[attr-defined]


def test_bars_stand_for_means_and_a_missing_number_has_none(ax: Axes) -> None:
    ours = {"a": [Stat(0.5, 0.1, 3), None], "b": [None, Stat(0.7, None, 1)]}
    report = {"a": [Stat(0.4, 0.1, 3), None], "b": [None, None]}
    looks = {"a": Series("blue"), "b": Series("orange", hatch="//")}
    draw_bars(ax, ["x", "y"], ours, report, looks)
    assert [bar.get_height() for bar in ax.patches] == [0.5, 0.7]  # type: ignore[attr-defined]
    assert [bar.get_hatch() for bar in ax.patches] == ["", "//"]
    assert sum(line.get_marker() == "D" for line in ax.lines) == 1
    assert [label.get_text() for label in ax.get_xticklabels()] == ["x", "y"]
    assert not ax.texts


def test_group_without_bars_is_said_to_be_missing(ax: Axes) -> None:
    ours = {"a": [Stat(0.5, None, 1), None]}
    report = {"a": [None, Stat(0.4, None, 1)]}
    draw_bars(ax, ["x", "y"], ours, report, {"a": Series("blue")})
    assert [(text.get_text(), text.get_position()[0]) for text in ax.texts] == [("missing", 1)]


def test_lines_break_where_a_number_is_missing(ax: Axes) -> None:
    stats = [Stat(0.5, 0.1, 3), None, Stat(0.7, None, 1)]
    panel = Panel("title", {"a": stats})
    draw_lines(ax, ("1", "2", "3"), panel, {"a": Series("blue")})
    (points,) = line_points(ax)
    assert points == pytest.approx([0.5, float("nan"), 0.7], nan_ok=True)


def test_all_figures_are_made_in_both_formats(nothing: Results) -> None:
    files = make_figures(nothing)
    assert files == make_figures(nothing)
    assert sorted(files) == sorted(
        f"{name}.{suffix}" for name in NAMES for suffix in ("png", "svg")
    )
    for name, data in files.items():
        if name.endswith("svg"):
            assert ElementTree.fromstring(data).tag == "{http://www.w3.org/2000/svg}svg"
            assert b"<dc:date>" not in data
        else:
            assert data.startswith(b"\x89PNG")


def test_figures_do_not_depend_on_the_user_s_settings(nothing: Results) -> None:
    import matplotlib

    expected = dead_seed_figure(nothing)
    with matplotlib.rc_context({"font.size": 20, "axes.grid": False}):
        assert dead_seed_figure(nothing) == expected


def test_series_of_a_figure_are_told_apart_without_colours() -> None:
    looks = [*SEED_LOOKS.values(), REPORT_SERIES]
    assert len({(look.marker, look.line) for look in looks}) == len(looks)


def test_panels_have_ours_the_report_s_and_none_without_vectors(
    tmp_path: Path, nothing: Results
) -> None:
    write_results(tmp_path, "conll-es", "hashes_1", [0.7, 0.8])
    write_results(tmp_path, "conll-es", HASH_EMBED, [0.6])
    results = load_results(tmp_path, ROOT / "results" / "report_tables.json")
    table = TABLES["table-13"]
    groups = dict(zip(SEED_LOOKS, table.groups, strict=True))
    first, *_, last = dataset_panels(results, table, groups, ("conll-es", "turku-one"))
    assert first is not None and last is not None
    own = first.series["our seeds"]
    assert [stat and round(stat.mean, 6) for stat in own] == [0.75, None, None, 0.6]
    assert first.series["spaCy's seeds"] == [None] * 4
    report = first.series[REPORT_LABEL]
    assert [stat and stat.mean for stat in report] == [0.75, 0.74, 0.73, 0.74]
    assert last.series[REPORT_LABEL] == [None] * 4
    table = TABLES["table-14"]
    assert dataset_panels(nothing, table, groups, ("turku-one",)) == [None]


def test_legends_lie_within_their_figures(monkeypatch: pytest.MonkeyPatch) -> None:
    within = {}

    def check(figure: Any, name: str) -> dict[str, bytes]:
        figure.draw_without_rendering()
        for legend in figure.legends:
            box = legend.get_window_extent()
            within[name] = box.x0 >= 0 and box.x1 <= figure.bbox.width
        return {}

    for module in ("lines", "report", "weighted"):
        monkeypatch.setattr(f"experiments.figures.{module}.save_figure", check)
    make_figures(Results(frozenset(), {}, {}))
    weighted.make_figures(Results(frozenset(), {}, {}))
    assert {"budgets", "textcat-accuracy", "figure-3", "figure-6"} <= set(within)
    assert all(within.values()), within
