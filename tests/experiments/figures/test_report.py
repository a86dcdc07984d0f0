"""The figures of the results: what is drawn, what is missing, and that they come out the same."""

import math
from math import sqrt
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from experiments.arms.tasks import HASH_EMBED
from tests.helpers.figures import Bar, bars_of, legend_of, points_of, saved_figures, ticks_of
from tests.helpers.paths import ROOT

pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install -e '.[plots]'")
pytest.importorskip("pandas", reason="pandas is not installed: pip install -e '.[plots]'")
pytest.importorskip("scipy", reason="scipy is not installed: pip install -e '.[plots]'")

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from pytest import approx

from experiments.figures import weighted
from experiments.figures.drawing import BLUE, ORANGE, Series
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
from experiments.tables.report import MULTI, MULTI_HASH, TABLES
from experiments.tables.statistics import Results, Stat, load_results, read_report, report_stats
from experiments.tables.table import DATASETS
from tests.helpers.results import REPORT, write_results

NAMES = ("dead-seed", "figure-3", "figure-4", "figure-5", "figure-6")


@pytest.fixture
def ax() -> Axes:
    return Figure().subplots()


@pytest.fixture
def nothing() -> Results:
    return Results(frozenset(), {}, report_stats(read_report(REPORT)))


def test_bars_stand_for_means_and_a_missing_number_has_none(ax: Axes) -> None:
    ours = {"a": [Stat(0.5, 0.1, 3), None], "b": [None, Stat(0.7, 0.2, 1)]}
    report = {"a": [Stat(0.4, 0.15, 3), None], "b": [None, None]}
    looks = {"a": Series("#0000ff"), "b": Series("#ffa500", hatch="//")}
    draw_bars(ax, ["x", "y"], ours, report, looks)
    assert bars_of(ax) == [Bar(approx(-0.2), 0.5, "#0000ff"), Bar(approx(1.2), 0.7, "#ffa500")]
    assert [bar.get_hatch() for bar in ax.patches] == ["", "//"]
    limits = [approx(point[1:]) for (point,) in points_of(ax, "None")]
    assert limits == [(0.5, 0.4, 0.6), (0.7, 0.7, 0.7)]  # of one seed there is no sd
    ((point,),) = points_of(ax, "D")
    assert point[1:] == approx((0.4, 0.25, 0.55))
    assert -0.4 < point.x < 0  # on the bar
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
    (points,) = points_of(ax, "o")
    assert [point.x for point in points] == [0, 1, 2]
    assert points[0][1:] == approx((0.5, 0.4, 0.6))
    assert math.isnan(points[1].y)
    assert points[2][1:] == approx((0.7, 0.7, 0.7))
    assert (ax.get_title(), ticks_of(ax.xaxis)) == ("title", ["1", "2", "3"])


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Make the figures of a few runs."""
    tmp_path = tmp_path_factory.mktemp("runs")
    write_results(tmp_path, "conll-es", HASH_EMBED, [0.6, 0.8])
    write_results(tmp_path, "conll-es", "multi_embed", [0.5])
    write_results(tmp_path, "conll-es", "hashes_1", [0.7, 0.8])
    write_results(tmp_path, "turku-one", HASH_EMBED, [0.9])
    write_results(tmp_path, "turku-one", "hashes_1", [0.7])
    with saved_figures() as saved:
        make_figures(load_results(tmp_path, REPORT))
    names = ("figure-3", "figure-4", "figure-5", "figure-6", "dead-seed")
    return dict(zip(names, saved, strict=True))


@pytest.mark.parametrize(("name", "what", "share"), [("3", "test", 1), ("4", "unseen test", 0.5)])
def test_bars_of_a_figure_are_those_of_its_runs(
    figures: dict[str, Any], name: str, what: str, share: float
) -> None:
    figure = figures[f"figure-{name}"]
    upper, lower = figure.axes
    for ax, title in ((upper, "without static vectors"), (lower, "with static vectors")):
        assert (ax.get_title(loc="left"), ax.get_ylabel()) == (title, f"{what} F1 ± sd")
    labels = [dataset.partition("\n")[0] for dataset in ticks_of(upper.xaxis)]
    assert labels == [*DATASETS, "turku-one"] and ticks_of(lower.xaxis) == [*DATASETS]
    found = {(round(bar.place), bar.color): bar.length for bar in bars_of(upper)}
    assert found == approx(
        {
            (0, BLUE): 0.7 * share,
            (0, ORANGE): 0.5 * share,
            (6, BLUE): 0.9 * share,
        }
    )
    ends = share * (0.7 - sqrt(0.02)), share * (0.7 + sqrt(0.02))
    assert points_of(upper, "None")[0][0][1:] == approx((0.7 * share, *ends))
    assert [text.get_text() for text in upper.texts] == ["missing"] * 5
    assert bars_of(lower) == [] and len(lower.texts) == 6
    adjusted = ["MultiHashEmbed, adjusted rows (missing)"] * (name == "3")
    assert legend_of(figure) == ["MultiHashEmbed", *adjusted, "MultiEmbed", "the report"]


def test_report_s_numbers_are_drawn_on_the_bars(figures: dict[str, Any], nothing: Results) -> None:
    upper, lower = figures["figure-3"].axes
    for ax, default, adjusted in ((upper, "table-9", "table-10"), (lower, "table-7", "table-8")):
        expected = []
        for name, line in ((default, MULTI_HASH), (adjusted, MULTI_HASH), (default, MULTI)):
            table = TABLES[name]
            for x, dataset in enumerate(DATASETS):
                stat = nothing.reported(table, table.groups[-1], dataset, line)
                expected += [(x, stat.mean)] if stat else []
        found = [(round(point.x), point.y) for (point,) in points_of(ax, "D")]
        assert len(found) > 10 and found == expected


def test_lines_of_a_figure_are_those_of_its_runs(figures: dict[str, Any]) -> None:
    hashes, min_freq = figures["figure-5"], figures["figure-6"]
    assert hashes.get_supxlabel() == "hash functions"
    assert legend_of(hashes) == ["our seeds", "spaCy's seeds", "the report"]
    assert "min_freq 10, 5 and 1" in min_freq.get_supxlabel()
    assert legend_of(min_freq) == ["ours", "the report"]
    nan = float("nan")
    for figure, ticks, ours, report in (
        (hashes, ["1", "2", "3", "4"], [0.75, nan, nan, 0.7], [0.75, 0.74, 0.73, 0.74]),
        (min_freq, ["hash", "10", "5", "1"], [0.7, 0.5, nan, nan], [0.74, 0.76, 0.75, 0.75]),
    ):
        first = figure.axes[0]
        assert (first.get_title(), ticks_of(first.xaxis)) == ("conll-es", ticks)
        assert first.get_ylabel() == "dev F1 ± sd, no vectors"
        own, *_, reported = [[point.y for point in points] for points in points_of(first)]
        assert own == approx(ours, nan_ok=True) and reported == approx(report)
    spans = [ax.get_ylim() for ax in hashes.axes if ax.get_title()]
    assert [high - low for low, high in spans] == approx([spans[0][1] - spans[0][0]] * 13)
    assert not any(ax.texts for ax in hashes.axes)


def test_figure_of_the_dead_seed_has_its_runs(figures: dict[str, Any]) -> None:
    figure = figures["dead-seed"]
    assert (figure.get_supxlabel(), legend_of(figure)) == ("rows of NORM", [*SEED_LOOKS])
    assert [ax.get_title() for ax in figure.axes] == ["1 hash function", "2 hash functions"] * 2
    labels = [ax.get_ylabel() for ax in figure.axes[::2]]
    assert labels == ["dev F1 ± sd, turku-one", "test F1 ± sd, turku-one"]
    nan = float("nan")
    for i, ax in enumerate(figure.axes):
        ours, theirs = ([point.y for point in points] for points in points_of(ax))
        assert ticks_of(ax.xaxis) == ["5000", "2500", "1000"]
        assert ours == approx([nan if i % 2 else 0.7, nan, nan], nan_ok=True)
        assert theirs == approx([nan] * 3, nan_ok=True)
        assert [text.get_text() for text in ax.texts] == ["missing"] * (i % 2)


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
