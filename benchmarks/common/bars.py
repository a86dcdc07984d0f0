"""Bars of ratios, with intervals and targets."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Optional

from benchmarks.common.figures import new_figure, save_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

TARGET_COLOR = "#d6604d"


class Bar(NamedTuple):
    """A ratio in a plot.

    label: The label on the axis. Bars of one label lie together.
    series: The name in the legend.
    values: The ratio, and its interval.
    target: The target, if there is one.
    """

    label: str
    series: str
    values: Mapping[str, float]
    target: Optional[float]


class Panel(NamedTuple):
    """Bars below each other, under a title."""

    title: str
    xlabel: str
    bars: Sequence[Bar]


def draw_panels(
    path: Path,
    panels: Sequence[Panel],
    colors: Mapping[str, str],
    title: str,
    *,
    size: tuple[float, float],
) -> None:
    """Draw panels, two in a line, and write them to a file.

    path (Path): PNG file.
    panels (Sequence[Panel]): The panels.
    colors (Mapping[str, str]): The color of each series.
    title (str): The title of the figure.
    size (tuple[float, float]): The width and the height of a line of panels, in inches.
    """
    width, height = size
    lines = (len(panels) + 1) // 2
    figure = new_figure(width, height * lines)
    axes = list(figure.subplots(lines, 2, squeeze=False).flat)
    for ax, panel in zip(axes, panels, strict=False):
        draw_bars(ax, panel.bars, colors)
        ax.set(title=panel.title, xlabel=panel.xlabel)
    for ax in axes[len(panels) :]:
        ax.set_axis_off()
    figure.suptitle(title)
    save_figure(figure, path)


def draw_bars(ax: "Axes", bars: Sequence[Bar], colors: Mapping[str, str]) -> None:
    """Draw bars below each other, those with the same label together, and a line at 1."""
    labels = list(dict.fromkeys(bar.label for bar in bars))
    series = list(dict.fromkeys(bar.series for bar in bars))
    height = 0.8 / len(series)
    for label, name, values, target in bars:
        median = values["median"]
        y = labels.index(label) + (series.index(name) - (len(series) - 1) / 2) * height
        ax.barh(y, median, height * 0.92, color=colors[name])
        error = [[median - values["low"]], [values["high"] - median]]
        ax.errorbar(median, y, xerr=error, color="black", capsize=2, linewidth=1)
        ax.annotate(
            f"{median:.2f}", (0, y), (3, 0), textcoords="offset points", va="center", size=8
        )
        if target is not None:
            ax.plot(target, y, "D", color=TARGET_COLOR, markersize=6)
    ax.set_yticks(range(len(labels)), labels, fontsize=8)
    ax.invert_yaxis()
    ax.set_xlim(left=0)
    ax.spines[["top", "right"]].set_visible(False)
    for name in series:
        ax.plot([], [], "s", color=colors[name], label=name)
    if any(bar.target for bar in bars):
        ax.plot([], [], "D", color=TARGET_COLOR, label="our target")
    ax.legend(fontsize=8, ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.13), frameon=False)
    ax.axvline(1, color="black", linewidth=1)
