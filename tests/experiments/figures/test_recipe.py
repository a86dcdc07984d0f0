"""The figure of the recipe's settings, and figures of intervals."""

from pathlib import Path
from typing import Any

import pytest
from pytest import approx

from experiments.arms.recipe import ALL_BUT, ALONE

pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install -e '.[plots]'")
pytest.importorskip("pandas", reason="pandas is not installed: pip install -e '.[plots]'")
pytest.importorskip("scipy", reason="scipy is not installed: pip install -e '.[plots]'")

from matplotlib.figure import Figure

from experiments.figures.drawing import NO_RUNS
from experiments.figures.intervals import BARS, LEFT_OUT, LOOKS, draw_differences
from experiments.figures.recipe import make_figures
from experiments.tables.differences import Difference, difference
from experiments.tables.statistics import Results, Stat, load_results
from tests.helpers.figures import check_layout, legend_of, points_of, saved_figures, ticks_of
from tests.helpers.results import REPORT, write_results


def panels_of(figure: Any) -> list[str]:
    return [title for ax in figure.axes if (title := ax.get_title(loc="left"))]


def test_a_difference_is_filled_where_its_interval_does_not_hold_0() -> None:
    ax: Any = Figure().subplots()
    differences = {
        "clear": Difference(0.02, 0.01),
        "noise": Difference(-0.01, 0.02),
        "one seed": Difference(0.05, None),
        "missing": None,
    }
    draw_differences(ax, differences)
    assert ticks_of(ax.yaxis) == list(differences)
    clear, noise, one = (points[0] for points in points_of(ax))
    assert clear == approx((0.02, 0, 0.01, 0.03))
    assert noise == approx((-0.01, 1, -0.03, 0.01))
    assert one == approx((0.05, 2, 0.05, 0.05))
    fills = [container.lines[0].get_markerfacecolor() for container in ax.containers]
    assert [fill == "white" for fill in fills] == [False, True, True]
    bottom, top = ax.get_ylim()
    assert bottom > top  # the first line is on top


def test_settings_are_drawn_minus_none_and_minus_all(tmp_path: Path) -> None:
    write_results(tmp_path, "conll-nl", ALONE["none"], [0.70, 0.72])
    write_results(tmp_path, "conll-nl", ALONE["averages"], [0.73, 0.77])
    write_results(tmp_path, "conll-nl", ALL_BUT["all"], [0.76])
    write_results(tmp_path, "conll-nl", ALL_BUT["all but averages"], [0.74])
    write_results(tmp_path, "wnut17", ALL_BUT["all"], [0.3])
    write_results(tmp_path, "wnut17", ALL_BUT["all but averages"], [0.2])
    results = load_results(tmp_path, REPORT)
    with saved_figures() as figures:
        first, second = (make_figures(results) for _ in range(2))
    assert first == second
    assert sorted(first) == ["taken-apart.png", "taken-apart.svg"]
    figure: Any = figures[0]
    assert figure.get_suptitle().split("\n")[1:] == [LEFT_OUT, BARS]
    assert panels_of(figure) == ["conll-nl", "wnut17"]
    assert legend_of(figure) == list(LOOKS)
    alone, but, other = figure.axes  # wnut17 has no panel of settings alone
    assert [ax.get_ylabel() for ax in (alone, but)] == ["each alone, minus none", "minus all"]
    assert ticks_of(alone.yaxis) == [line for line in ALONE if line != "none"]
    assert ticks_of(but.yaxis) == [line for line in ALL_BUT if line != "all"]
    found = difference(Stat(0.75, 0.0008**0.5, 2), Stat(0.71, 0.0002**0.5, 2))
    assert found is not None and found.margin is not None
    ((point,),) = points_of(alone)
    place = ticks_of(alone.yaxis).index("averages")
    assert point == approx((0.04, place, 0.04 - found.margin, 0.04 + found.margin))
    ((point,),) = points_of(but)
    place = ticks_of(but.yaxis).index("all but averages")
    assert point == approx((-0.02, place, -0.02, -0.02))
    ((point,),) = points_of(other)
    assert point == approx((-0.1, place, -0.1, -0.1))
    assert other.get_title(loc="left") == "wnut17"
    assert alone.get_xlim() == but.get_xlim() == other.get_xlim()
    check_layout(figure)


def test_without_runs_the_figure_says_so() -> None:
    with saved_figures() as figures:
        make_figures(Results(frozenset(), {}, {}))
    assert figures[0].get_suptitle().split("\n")[1:] == [NO_RUNS]
    assert not figures[0].axes
