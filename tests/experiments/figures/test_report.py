"""The figures of the results: what is drawn, what is missing, and that they come out the same."""

import math
from math import sqrt
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import pytest

from experiments.arms.tasks import HASH_EMBED
from tests.helpers.figures import (
    Bar,
    bars_of,
    check_layout,
    color_of,
    legend_of,
    points_of,
    saved_figures,
    ticks_of,
)

pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install -e '.[plots]'")
pytest.importorskip("pandas", reason="pandas is not installed: pip install -e '.[plots]'")
pytest.importorskip("scipy", reason="scipy is not installed: pip install -e '.[plots]'")

from matplotlib.axes import Axes
from matplotlib.figure import Figure
from pytest import approx

from experiments.figures.bars import LEFT_OUT as BARS_LEFT_OUT
from experiments.figures.bars import Pair, draw_bars
from experiments.figures.drawing import (
    BLUE,
    GREEN,
    NO_RUNS,
    REPORT_LABEL,
    REPORT_SERIES,
    Series,
    spread,
)
from experiments.figures.lines import LEFT_OUT, Panel, draw_lines, line_figure
from experiments.figures.report import (
    BAR_LOOKS,
    SEED_LOOKS,
    dataset_panels,
    dead_seed_figure,
    make_figures,
)
from experiments.tables.report import MULTI, MULTI_HASH
from experiments.tables.results_page import TABLES
from experiments.tables.statistics import Results, Stat, load_results, read_report, report_stats
from tests.helpers.results import REPORT, write_results

NAMES = ("dead-seed", "figure-3", "figure-4", "figure-5", "figure-6")


@pytest.fixture
def ax() -> Axes:
    return Figure().subplots()


@pytest.fixture
def nothing() -> Results:
    return Results(frozenset(), {}, report_stats(read_report(REPORT)))


def test_bars_stand_for_means_and_a_missing_number_has_none(ax: Axes) -> None:
    numbers = {
        "a": {"x": Pair(Stat(0.5, 0.1, 3), Stat(0.4, 0.15, 3)), "y": Pair(None, None)},
        "b": {"x": Pair(None, None), "y": Pair(Stat(0.7, 0.2, 1), None)},
    }
    looks = {"a": Series("#0000ff"), "b": Series("#ffa500", hatch="//")}
    draw_bars(ax, {"x": "X", "y": "Y"}, numbers, looks)
    assert bars_of(ax) == [Bar(approx(-0.2), 0.5, "#0000ff"), Bar(approx(1.2), 0.7, "#ffa500")]
    assert [bar.get_hatch() for bar in ax.patches] == ["", "//"]
    limits = [approx(point[1:]) for (point,) in points_of(ax, "None")]
    assert limits == [(0.5, 0.4, 0.6), (0.7, 0.7, 0.7)]  # of one seed there is no sd
    ((point,),) = points_of(ax, "D")
    assert point[1:] == approx((0.4, 0.25, 0.55))
    assert -0.4 < point.x < 0  # on the bar
    assert [label.get_text() for label in ax.get_xticklabels()] == ["X", "Y"]
    assert not ax.texts


@pytest.mark.parametrize(
    ("ours", "report", "expected"),
    [
        ([Stat(0.5, 0.1, 3), None], [], "Error bars: ± sd over seeds."),
        ([Stat(0.5, None, 1), None], [], "One seed each."),
        ([Stat(0.5, None, 1)], [Stat(0.5, None, 3)], "One seed each."),
        (
            [Stat(0.5, None, 1), Stat(0.5, 0.0, 3)],
            [],
            "Error bars: ± sd over seeds. No error bar: one seed.",
        ),
        (
            [Stat(0.5, None, 1)],
            [None, Stat(0.5, 0.1, 3)],
            "Error bars: ± sd over seeds. Ours without one: one seed.",
        ),
        ([None], [Stat(0.5, 0.1, 3)], NO_RUNS),
    ],
)
def test_figures_say_what_error_bars_are_where_there_are_any(
    ours: list[Any], report: list[Any], expected: str
) -> None:
    assert spread(ours, report) == expected


def test_lines_break_where_a_number_is_missing(ax: Axes) -> None:
    stats = [Stat(0.5, 0.1, 3), None, Stat(0.7, None, 1)]
    panel = Panel("title", {"a": stats})
    draw_lines(ax, ("1", "2", "3"), panel, {"a": Series("blue")})
    assert (ax.get_title(), ticks_of(ax.xaxis)) == ("title", ["1", "2", "3"])
    (points,) = points_of(ax, "o")
    assert [point.x for point in points] == [0, 1, 2]
    assert points[0][1:] == approx((0.5, 0.4, 0.6))
    assert math.isnan(points[1].y)
    assert points[2][1:] == approx((0.7, 0.7, 0.7))


@pytest.fixture(scope="module")
def figures(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Make the figures of a few runs."""
    tmp_path = tmp_path_factory.mktemp("runs")
    write_results(tmp_path, "conll-es", HASH_EMBED, [0.6, 0.8])
    write_results(tmp_path, "conll-es", "multi_embed", [0.5])
    write_results(tmp_path, "conll-es", "hashes_1", [0.7, 0.8])
    write_results(tmp_path, "turku-one", HASH_EMBED, [0.9])
    write_results(tmp_path, "turku-one", "hashes_1", [0.7])
    write_results(tmp_path, "turku-one", "hashes_1_rows_2500", [0.8])
    with saved_figures() as saved:
        make_figures(load_results(tmp_path, REPORT))
    names = ("figure-3", "figure-4", "figure-5", "figure-6", "dead-seed")
    return dict(zip(names, saved, strict=True))


@pytest.mark.parametrize(
    ("name", "ylabel", "share"), [("3", "test F1", 1), ("4", "test F1, unseen", 0.5)]
)
def test_bars_of_a_figure_are_those_of_its_runs(
    figures: dict[str, Any], name: str, ylabel: str, share: float
) -> None:
    figure = figures[f"figure-{name}"]
    (ax,) = figure.axes  # none for static vectors, since there are no runs
    assert (ax.get_title(loc="left"), ax.get_ylabel()) == ("no vectors", ylabel)
    assert ticks_of(ax.xaxis) == ["conll-es", "turku-one\n(not in the report)"]
    found = {(round(bar.place), bar.color): bar.length for bar in bars_of(ax)}
    blue, green = color_of(BLUE), color_of(GREEN)
    expected = {(0, blue): 0.7, (0, green): 0.5, (1, blue): 0.9}
    assert found == {place: approx(length * share) for place, length in expected.items()}
    ends = share * (0.7 - sqrt(0.02)), share * (0.7 + sqrt(0.02))
    assert points_of(ax, "None")[0][0][1:] == approx((0.7 * share, *ends))
    assert legend_of(figure) == ["MultiHashEmbed", "MultiEmbed", "the report"]
    subject, *notes = figure.get_suptitle().split("\n")
    assert subject.startswith("F1 on the test set") and subject.endswith("data set and embedding")
    assert notes == [
        BARS_LEFT_OUT,
        "Error bars: ± sd over seeds. Ours without one: one seed.",
    ]


def test_report_s_numbers_are_drawn_on_the_bars(figures: dict[str, Any], nothing: Results) -> None:
    (ax,) = figures["figure-3"].axes
    table = TABLES["table-9"]
    stats = [
        nothing.reported(table, table.groups[-1], "conll-es", line) for line in (MULTI_HASH, MULTI)
    ]
    found = [(round(point.x), point.y) for (point,) in points_of(ax, "D")]
    assert found == [(0, stat.mean) for stat in stats if stat] and len(found) == 2


def test_lines_of_a_figure_are_those_of_its_runs(figures: dict[str, Any]) -> None:
    hashes, min_freq = figures["figure-5"], figures["figure-6"]
    assert legend_of(hashes) == ["our seeds", "spaCy's seeds", "the report"]
    assert legend_of(min_freq) == ["ours", "the report"]
    nan = float("nan")
    for figure, ticks, xlabel, ours, report in (
        (
            hashes,
            ["1", "2", "3", "4"],
            "hash functions",
            [0.75, nan, nan, 0.7],
            [0.75, 0.74, 0.73, 0.74],
        ),
        (
            min_freq,
            ["hash", "10", "5", "1"],
            "hash, or min_freq",
            [0.7, 0.5, nan, nan],
            [0.74, 0.76, 0.75, 0.75],
        ),
    ):
        first, *others = figure.axes
        title = (first.get_title(loc="left"), first.get_ylabel(), first.get_xlabel())
        assert title == ("conll-es, no vectors", "dev F1", xlabel)
        assert ticks_of(first.xaxis) == ticks
        own, *_, reported = [[point.y for point in points] for points in points_of(first)]
        assert own == approx(ours, nan_ok=True) and reported == approx(report)
        # of the others, none or one of the settings was run
        titles = [ax.get_title(loc="left") for ax in others]
        assert titles == ["turku-one, no vectors"] * (figure is hashes)
        assert figure.get_suptitle().split("\n")[1] == LEFT_OUT
    spans = [ax.get_ylim() for ax in hashes.axes]
    assert [high - low for low, high in spans] == approx([spans[0][1] - spans[0][0]] * 2)


def test_figure_of_the_dead_seed_has_its_runs_and_no_sd(figures: dict[str, Any]) -> None:
    figure = figures["dead-seed"]
    assert legend_of(figure) == [*SEED_LOOKS]
    titles = [ax.get_title(loc="left") for ax in figure.axes]
    assert titles == ["dev, 1 hash function", "test, 1 hash function"]
    assert [ax.get_xlabel() for ax in figure.axes] == ["rows of NORM"] * 2
    assert [ax.get_ylabel() for ax in figure.axes] == ["F1", ""]
    assert "turku-one" in figure.get_suptitle()
    assert figure.get_suptitle().endswith("\nOne seed each.") and "sd" not in figure.get_suptitle()
    for ax in figure.axes:
        ours, theirs = ([point.y for point in points] for points in points_of(ax))
        assert ticks_of(ax.xaxis) == ["5000", "2500", "1000"]
        assert ours == approx([0.7, 0.8, float("nan")], nan_ok=True)
        assert theirs == approx([float("nan")] * 3, nan_ok=True)


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
    with matplotlib.rc_context({"font.size": 20, "text.color": "red"}):
        assert dead_seed_figure(nothing) == expected


@pytest.mark.parametrize("looks", [SEED_LOOKS, BAR_LOOKS])
def test_series_of_a_figure_are_told_apart_without_colours(looks: dict[str, Series]) -> None:
    all_looks = [*looks.values(), REPORT_SERIES]
    assert len({(look.marker, look.line, look.hatch) for look in all_looks}) == len(all_looks)


def test_panels_have_ours_and_the_report_s(tmp_path: Path) -> None:
    write_results(tmp_path, "conll-es", "hashes_1", [0.7, 0.8])
    write_results(tmp_path, "conll-es", HASH_EMBED, [0.6])
    results = load_results(tmp_path, REPORT)
    table = TABLES["table-13"]
    groups = dict(zip(SEED_LOOKS, table.groups, strict=True))
    first, *_, last = dataset_panels(results, table, groups, "no vectors")
    assert (first.title, last.title) == ("conll-es, no vectors", "turku-one, no vectors")
    own = first.ours["our seeds"]
    assert [stat and round(stat.mean, 6) for stat in own] == [0.75, None, None, 0.6]
    assert first.ours["spaCy's seeds"] == [None] * 4
    report = first.report[REPORT_LABEL]
    assert [stat and stat.mean for stat in report] == [0.75, 0.74, 0.73, 0.74]
    assert last.report[REPORT_LABEL] == [None] * 4


def test_panels_are_as_many_beside_each_other_as_asked_for_or_fewer() -> None:
    stats = [Stat(0.5, None, 1), Stat(0.7, None, 1)]
    panels = [Panel(str(number), {"a": stats}) for number in range(5)]
    panels.append(Panel("one number", {"a": [stats[0], None]}, {"b": stats}))
    looks = {"a": Series("blue"), "b": REPORT_SERIES}
    for columns, labels in ((2, ["", "", "", "x", "x"]), (6, ["x"] * 5)):
        with saved_figures() as saved:
            line_figure("a", "title", ("1", "2"), ("x", "y"), panels, looks, columns=columns)
        (figure,) = saved
        assert [ax.get_title(loc="left") for ax in figure.axes] == ["0", "1", "2", "3", "4"]
        assert [ax.get_xlabel() for ax in figure.axes] == labels
        assert figure.axes[0].get_subplotspec().get_gridspec().ncols == min(columns, 5)
        assert figure.get_suptitle() == f"title\n{LEFT_OUT}\nOne seed each."
        check_layout(figure)
