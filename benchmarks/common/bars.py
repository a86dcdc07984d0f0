"""Bars of ratios, with intervals."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from benchmarks.common.figures import new_figure

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Inches: the height of a bar, of a line of a label, and of what is around the bars of a panel.
BAR, LINE, AROUND = 0.14, 0.15, 1.05
LETTERS = 44  # as many as fit below half of a figure
# What is behind a number, so that it can be read on a line.
PAPER: Any = {"facecolor": "white", "edgecolor": "none", "pad": 0.5}
SHARE = 0.8  # of the place of a label is for its bars


class Bar(NamedTuple):
    """A ratio in a plot.

    label: The label on the axis. Bars of one label lie together.
    series: The name in the legend.
    values: The ratio, and its interval.
    """

    label: str
    series: str
    values: Mapping[str, float]


class Panel(NamedTuple):
    """Bars below each other, under a title."""

    title: str
    xlabel: str
    bars: Sequence[Bar]

    @property
    def height(self) -> float:
        """Return the height that the panel needs, in inches."""
        labels = [bar.label for bar in self.bars]
        bars = max(map(labels.count, labels)) * BAR / SHARE
        lines = (max(label.count("\n") for label in labels) + 1) * LINE
        return len(set(labels)) * max(bars, lines) + AROUND + LINE * len(self.series)

    @property
    def series(self) -> list[str]:
        """List the names in the legend."""
        return list(dict.fromkeys(bar.series for bar in self.bars))

    @property
    def groups(self) -> dict[str, list[Bar]]:
        """Return the bars of each label."""
        return {
            label: [bar for bar in self.bars if bar.label == label]
            for label in dict.fromkeys(bar.label for bar in self.bars)
        }


def draw_panels(
    path: Path, panels: Sequence[Panel], colors: Mapping[str, str], title: str, *, columns: int = 2
) -> None:
    """Draw panels beside and below each other, and write them to a file.

    path (Path): PNG file.
    panels (Sequence[Panel]): The panels.
    colors (Mapping[str, str]): The color of each series.
    title (str): The title of the figure.
    columns (int): The number of panels in a line.
    """
    lines = [panels[i : i + columns] for i in range(0, len(panels), columns)]
    heights = [max(panel.height for panel in line) for line in lines]
    with new_figure(path, title, sum(heights) + 0.5) as figure:
        parts = figure.subfigures(len(lines), 1, height_ratios=heights, squeeze=False)[:, 0]
        for part, line in zip(parts, lines, strict=True):
            axes = part.subplots(1, columns, squeeze=False)[0]
            for ax, panel in zip(axes, line, strict=False):
                draw_bars(ax, panel, colors)
                if panel is not line[0] and list(panel.groups) == list(line[0].groups):
                    ax.tick_params(axis="y", labelleft=False)
            for ax in axes[len(line) :]:
                ax.remove()


def draw_bars(ax: "Axes", panel: Panel, colors: Mapping[str, str]) -> None:
    """Draw the bars of a panel, those with the same label together, and a line at 1."""
    height = SHARE / max(map(len, panel.groups.values()))
    for place, bars in enumerate(panel.groups.values()):
        for i, (_, name, values) in enumerate(bars):
            y = place + (i - (len(bars) - 1) / 2) * height
            median, high = values["median"], values["high"]
            ax.barh(y, median, height * 0.92, color=colors[name])
            error = [[median - values["low"]], [high - median]]
            ax.errorbar(median, y, xerr=error, color="black", capsize=1.5, linewidth=0.9)
            # Beside the interval, on the line at 1 if need be.
            beside: Any = {"xytext": (3, 0), "textcoords": "offset points", "va": "center"}
            ax.annotate(f"{median:.2f}", (high, y), size=7, bbox=PAPER, **beside)
    ax.set_yticks(range(len(panel.groups)), list(panel.groups))
    ax.invert_yaxis()
    ax.grid(visible=False, axis="y")
    ax.grid(visible=True, axis="x")
    ax.tick_params(axis="y", length=0)
    ax.margins(x=0.19, y=0.02)
    ax.set_xlim(left=0)
    ax.axvline(1, color="black", linewidth=1, zorder=1.5)
    ax.set(title=panel.title, xlabel=panel.xlabel)
    for name in panel.series:
        ax.plot([], [], "s", color=colors[name], label=name)
    below: Any = {"loc": "upper center", "bbox_to_anchor": (0.5, 0), "borderaxespad": 5}
    fits = sum(len(name) + 4 for name in panel.series) <= LETTERS
    columns = len(panel.series) if fits else 1
    ax.legend(**below, ncols=columns, columnspacing=1, handletextpad=0.2)
