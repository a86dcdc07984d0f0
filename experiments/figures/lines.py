"""Figures of panels with lines. All panels of a figure have scales of the same length."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Optional

from experiments.figures.drawing import (
    Series,
    draw_legend,
    draw_title,
    limits,
    new_figure,
    save_figure,
    spread,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from experiments.tables.statistics import Stat

LEFT_OUT = "Where fewer than two settings were run, there is no panel."


@dataclass(frozen=True)
class Panel:
    """The lines of one panel.

    title (str): Its title.
    ours (Mapping): The numbers of each of our lines, one for each tick, or None if it is missing.
    report (Mapping): The same of the report's lines.
    """

    title: str
    ours: Mapping[str, Sequence[Optional["Stat"]]]
    report: Mapping[str, Sequence[Optional["Stat"]]] = field(default_factory=dict)

    @property
    def has_line(self) -> bool:
        """Whether one of our lines has two numbers."""
        return any(sum(stat is not None for stat in line) > 1 for line in self.ours.values())


def _numbers(lines: Mapping[str, Sequence[Optional["Stat"]]]) -> list["Stat"]:
    """List the numbers of lines that are not missing."""
    return [stat for line in lines.values() for stat in line if stat is not None]


def draw_lines(ax: "Axes", ticks: Sequence[str], panel: Panel, looks: Mapping[str, Series]) -> None:
    """Draw the lines of a panel, broken where a number is missing, with sd as error bars."""
    lines = {**panel.ours, **panel.report}
    for i, (name, stats) in enumerate(lines.items()):
        shift = 0.09 * (i - (len(lines) - 1) / 2)
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
        stats = [*_numbers(panel.ours), *_numbers(panel.report)]
        low = min(stat.mean - (limits(stat) or 0.0) for stat in stats)
        high = max(stat.mean + (limits(stat) or 0.0) for stat in stats)
        bounds.append((low, high))
    span = 1.1 * max([high - low for low, high in bounds] + [0.02])
    for ax, (low, high) in zip(axes, bounds, strict=True):
        middle = (low + high) / 2
        ax.set_ylim(middle - span / 2, middle + span / 2)
        ax.locator_params(axis="y", nbins=5, steps=[1, 2, 5, 10])


def line_figure(
    name: str,
    title: str,
    ticks: Sequence[str],
    labels: tuple[str, str],
    panels: Sequence[Panel],
    looks: Mapping[str, Series],
    *,
    columns: int,
    note: str = "",
) -> dict[str, bytes]:
    """Draw panels of lines. A panel in which none of our lines has two numbers is left out.

    name (str): The name of the files.
    title (str): The subject of the figure.
    ticks (Sequence[str]): The labels of the ticks on the x axes.
    labels (tuple[str, str]): The labels of the x axes and of the y axes.
    panels (Sequence[Panel]): The panels.
    looks (Mapping[str, Series]): How each series looks.
    columns (int): The most panels beside each other.
    note (str): What a reader must know beyond the title.
    """
    shown = [panel for panel in panels if panel.has_line]
    ours = [stat for panel in shown for stat in _numbers(panel.ours)]
    report = [stat for panel in shown for stat in _numbers(panel.report)]
    left_out = LEFT_OUT if len(shown) < len(panels) else ""
    columns = max(min(columns, len(shown)), 1)
    rows = -(-len(shown) // columns)
    with new_figure(2.0 * rows + 0.15 * len(looks) + 0.9) as figure:
        draw_title(figure, title, note, left_out, spread(ours, report))
        axes = [figure.add_subplot(rows, columns, i + 1) for i in range(len(shown))]
        for i, (ax, panel) in enumerate(zip(axes, shown, strict=True)):
            draw_lines(ax, ticks, panel, looks)
            ax.set_xlabel(labels[0] if i + columns >= len(shown) else "")
            ax.set_ylabel("" if i % columns else labels[1])
        _same_span(axes, shown)
        draw_legend(figure, looks, bars=False)
        return save_figure(figure, name)
