"""Points that are numbered, and the places of their labels."""

from typing import Any

import pytest

pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install -e '.[plots]'")

from experiments.figures.drawing import BLUE, Series, new_figure
from experiments.figures.points import Model, draw_labels, point_figure
from experiments.tables.statistics import Stat
from tests.helpers.figures import check_labels_beside_points, check_layout, saved_figures


def draw(places: list[tuple[float, float, float | None]], *, log: bool = False) -> Any:
    """Draw one panel of models at these places, each with an sd or with one seed."""
    models = [
        Model(
            f"model {number}",
            Series(BLUE),
            {"a": (Stat(x, None, 1), Stat(y, sd, 1 if sd is None else 3)), "b": (None, None)},
        )
        for number, (x, y, sd) in enumerate(places)
    ]
    with saved_figures() as saved:
        files = point_figure("name", "title", ("x", "y"), models, log=log)
    assert list(files) == ["name.png", "name.svg"]
    (figure,) = saved
    return figure


CASES = {
    "at one place": [(1.0, 0.5, None)] * 6 + [(2.0, 0.6, None)],
    "above each other": [(1.0, 0.5 + 0.01 * i, 0.02) for i in range(8)] + [(9.0, 0.9, None)],
    "beside each other": [(1.0 + 0.02 * i, 0.5, 0.1) for i in range(8)] + [(2.0, 0.2, None)],
}


@pytest.mark.parametrize("log", [False, True])
@pytest.mark.parametrize("name", CASES)
def test_labels_cover_no_labels_points_and_error_bars(name: str, log: bool) -> None:
    figure = draw(CASES[name], log=log)
    (ax,) = figure.axes
    labels = [text.get_text() for text in ax.texts if text.get_text()]
    assert labels == [str(number) for number in range(1, len(CASES[name]) + 1)]
    check_layout(figure)
    check_labels_beside_points(ax)


def test_lines_lead_to_labels_that_are_far_away() -> None:
    near, far = draw([(1.0, 0.5, None), (2.0, 0.9, None)]), draw(CASES["at one place"])
    lines = [[text for text in figure.axes[0].texts if text.arrow_patch] for figure in (near, far)]
    assert lines[0] == []
    assert lines[1] and all(line.xy == (1.0, 0.5) for line in lines[1])


def test_labels_stay_within_their_panels() -> None:
    corners = [(x, y) for x in (0.0, 1.0) for y in (0.0, 1.0)]
    places = {f"{x}{y}": (Stat(x, None, 1), Stat(y, None, 1)) for x, y in corners}
    with new_figure(2) as figure:
        ax = figure.subplots()
        ax.set(xlim=(0, 1), ylim=(0, 1))
        figure.draw_without_rendering()
        draw_labels(ax, places)
        for text in ax.texts:
            box = text.get_window_extent()
            assert all(ax.bbox.contains(*corner) for corner in box.corners())
