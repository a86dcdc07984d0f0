"""Figures of models as numbered points, and labels that cover nothing."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING, Any, Optional

from experiments.figures.drawing import (
    Series,
    draw_title,
    limits,
    new_figure,
    save_figure,
    spread,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure
    from matplotlib.transforms import Bbox

    from experiments.tables.statistics import Stat

# Where a label may be, from its point: directions, and how many pixels of a page lie in between.
_DIRECTIONS = ((1, 0), (1, 0.6), (1, -0.6), (-1, 0), (-1, 0.6), (-1, -0.6), (0, 1), (0, -1))
_GAPS = (5, 9, 14, 20, 28, 36)
_LINE_FROM = 9  # a line leads to labels that are so far away


@dataclass(frozen=True)
class Model:
    """A model, which has one point in each panel.

    name (str): Its name in the legend.
    look (Series): How its points look.
    places (Mapping): The numbers on the x axis and on the y axis, by the title of the panel. The
        model is missing in a panel where one of them is None.
    """

    name: str
    look: Series
    places: Mapping[str, tuple[Optional["Stat"], Optional["Stat"]]]

    def place(self, panel: str) -> Optional[tuple["Stat", "Stat"]]:
        """Return both numbers of a panel, or None if the model is missing."""
        x, y = self.places[panel]
        return (x, y) if x and y else None


def point_figure(
    name: str, title: str, labels: tuple[str, str], models: Sequence[Model], *, log: bool = False
) -> dict[str, bytes]:
    """Draw panels of numbered points, two beside each other. Panels without a point are left out.

    name (str): The name of the files.
    title (str): The subject of the figure.
    labels (tuple[str, str]): The labels of the x axes and of the y axes.
    models (Sequence[Model]): The models.
    log (bool): Whether the x axes are logarithmic.
    """
    panels = list(dict.fromkeys(panel for model in models for panel in model.places))
    shown = [panel for panel in panels if any(model.place(panel) for model in models)]
    columns = max(min(len(shown), 2), 1)
    rows = -(-len(shown) // columns)
    with new_figure((5.4 - columns) / 2 * 1.5 * rows + 0.1 * len(models) + 0.7) as figure:
        drawn = [place for model in models for panel in shown if (place := model.place(panel))]
        draw_title(figure, title, spread([y for _, y in drawn]))
        axes = {}
        for i, panel in enumerate(shown):
            ax = axes[panel] = figure.add_subplot(rows, columns, i + 1)
            for model in models:
                if place := model.place(panel):
                    _draw_point(ax, *place, model.look)
            if log:
                ax.set_xscale("log")
            else:
                ax.locator_params(axis="x", nbins=5)
                ax.xaxis.set_major_formatter("{x:,.0f}")
            ax.locator_params(axis="y", nbins=6, steps=[1, 2, 5, 10])
            ax.margins(0.08)
            ax.set_title(panel)
            ax.set_xlabel(labels[0] if i + columns >= len(shown) else "")
            ax.set_ylabel("" if i % columns else labels[1])
        _draw_models(figure, models, set(shown))
        figure.draw_without_rendering()  # which places the axes
        for panel, ax in axes.items():
            places = {str(n): model.place(panel) for n, model in enumerate(models, start=1)}
            draw_labels(ax, {label: place for label, place in places.items() if place})
        return save_figure(figure, name)


def _draw_point(ax: "Axes", x: "Stat", y: "Stat", look: Series) -> None:
    ax.plot(x.mean, y.mean, **look.of_points())
    ax.errorbar(x.mean, y.mean, yerr=limits(y), elinewidth=0.8, ecolor=look.color)


def _draw_models(figure: "Figure", models: Sequence[Model], shown: set[str]) -> None:
    """Draw the legend: the number and the name of each model, in two columns."""
    from matplotlib.lines import Line2D

    handles = []
    for number, model in enumerate(models, start=1):
        missing = not any(model.place(panel) for panel in shown)
        label = f"{number}  {model.name}{' (missing)' * missing}"
        handles.append(Line2D([], [], label=label, **model.look.of_points()))
    figure.legend(handles=handles, loc="outside lower center", ncols=2)


def draw_labels(ax: "Axes", places: Mapping[str, tuple["Stat", "Stat"]]) -> None:
    """Write a label beside each point, so that it covers no label, point or error bar.

    ax (Axes): Axes that have their final place in the figure.
    places (Mapping): The numbers on the x axis and on the y axis, by the label.
    """
    pixel = ax.figure.dpi / 100
    taken = [box for x, y in places.values() for box in _obstacles(ax, x, y)]
    size: Any = {"fontsize": 8, "horizontalalignment": "center", "verticalalignment": "center"}
    for label, (x, y) in places.items():
        offset: Any = {"xy": (x.mean, y.mean), "textcoords": "offset pixels"}
        note = ax.annotate(label, xytext=(0, 0), **offset, **size)
        note.set_in_layout(False)
        centre = note.get_window_extent()
        for gap, (right, up) in product(_GAPS, _DIRECTIONS):
            to = (
                right * (gap * pixel + centre.width / 2),
                up * (gap * pixel + centre.height / 2),
            )
            box = centre.translated(*to)
            inside = all(ax.bbox.contains(*corner) for corner in box.corners())
            if inside and not any(box.overlaps(other) for other in taken):
                break
        note.set_position(to)
        taken.append(box)
        if gap >= _LINE_FROM:
            line = {"arrowstyle": "-", "linewidth": 0.5, "color": "#767676", "shrinkA": 5}
            ax.annotate("", xytext=to, arrowprops=line, **offset).set_in_layout(False)


def _obstacles(ax: "Axes", x: "Stat", y: "Stat") -> list["Bbox"]:
    """Return the boxes of a point and of its error bar, in pixels."""
    from matplotlib.transforms import Bbox

    sd = limits(y) or 0.0
    ends = ax.transData.transform([(x.mean, y.mean - sd), (x.mean, y.mean), (x.mean, y.mean + sd)])
    half = ax.figure.dpi / 72 * 2.5
    (low, middle, high) = ends
    point = Bbox([middle - half, middle + half])
    return [point, Bbox([low - (1, 0), high + (1, 0)])]
