"""Figures of panels with lines. All panels of a figure share a scale."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Optional

from experiments.figures.drawing import Series, draw_legend, limits, new_figure, save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from experiments.tables.statistics import Stat


@dataclass(frozen=True)
class Panel:
    """The lines of one panel.

    title (str): Its title.
    series (Mapping): The numbers of each line, one for each tick, or None if it is missing.
    """

    title: str
    series: Mapping[str, Sequence[Optional["Stat"]]]


def draw_lines(ax: "Axes", ticks: Sequence[str], panel: Panel, looks: Mapping[str, Series]) -> None:
    """Draw the lines of a panel, broken where a number is missing, with sd as error bars."""
    for i, (name, stats) in enumerate(panel.series.items()):
        shift = 0.09 * (i - (len(panel.series) - 1) / 2)
        ax.errorbar(
            [x + shift for x in range(len(ticks))],
            [float("nan") if stat is None else stat.mean for stat in stats],
            yerr=[(limits(stat) if stat else None) or float("nan") for stat in stats],
            elinewidth=0.8,
            **looks[name].of_lines(),
        )
    ax.set_title(panel.title)
    ax.set_xticks(range(len(ticks)), ticks)
    ax.set_xlim(-0.5, len(ticks) - 0.5)


def _same_span(axes: Sequence["Axes"], panels: Sequence[Panel]) -> None:
    """Give all y axes the same length, each around its own numbers, so that slopes compare."""
    bounds = []
    for panel in panels:
        stats = [stat for line in panel.series.values() for stat in line if stat is not None]
        sds = [limits(stat) or 0.0 for stat in stats]
        low = min((stat.mean - sd for stat, sd in zip(stats, sds, strict=True)), default=0.0)
        high = max((stat.mean + sd for stat, sd in zip(stats, sds, strict=True)), default=0.0)
        bounds.append((low, high))
    span = 1.1 * max([high - low for low, high in bounds] + [0.02])
    for ax, (low, high) in zip(axes, bounds, strict=True):
        middle = (low + high) / 2
        ax.set_ylim(middle - span / 2, middle + span / 2)
        if low == high == 0.0:
            ax.set_yticks([])
            ax.text(0.5, 0.5, "missing", transform=ax.transAxes, ha="center", va="center")


def line_figure(
    name: str,
    ticks: Sequence[str],
    xlabel: str,
    rows: Mapping[str, Sequence[Optional[Panel]]],
    looks: Mapping[str, Series],
) -> dict[str, bytes]:
    """Draw panels of lines, with a row of panels for each split or kind of vectors.

    name (str): The name of the files.
    ticks (Sequence[str]): The labels of the ticks on the x axis.
    xlabel (str): The label of the x axis.
    rows (Mapping): The panels of each row, by its label. None leaves a place empty.
    looks (Mapping[str, Series]): How each series looks.
    """
    columns = max(map(len, rows.values()))
    with new_figure(max(5.0, 1.55 * columns), 2.1 * len(rows) + 0.6) as figure:
        grid = figure.subplots(len(rows), columns, squeeze=False)
        shown = []
        for axes, (ylabel, panels) in zip(grid, rows.items(), strict=True):
            axes[0].set_ylabel(ylabel)
            for ax, panel in zip(axes, panels, strict=True):
                if panel is None:
                    ax.set_axis_off()
                    continue
                draw_lines(ax, ticks, panel, looks)
                shown.append((ax, panel))
        _same_span([ax for ax, _ in shown], [panel for _, panel in shown])
        figure.supxlabel(xlabel, fontsize=8)
        draw_legend(figure, looks, bars=False)
        return save_figure(figure, name)
