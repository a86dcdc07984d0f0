"""Bars of ratios, with intervals and targets."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Optional

if TYPE_CHECKING:
    from matplotlib.axes import Axes

# Label, series, interval and target.
Bar = tuple[str, str, Mapping[str, float], Optional[float]]

TARGET_COLOR = "#d6604d"


def draw_bars(ax: "Axes", bars: Sequence[Bar], colors: Mapping[str, str]) -> None:
    """Draw bars below each other, those with the same label together."""
    labels = list(dict.fromkeys(bar[0] for bar in bars))
    series = list(dict.fromkeys(bar[1] for bar in bars))
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
    if any(bar[3] for bar in bars):
        ax.plot([], [], "D", color=TARGET_COLOR, label="our target")
    ax.legend(fontsize=8, ncols=3, loc="upper center", bbox_to_anchor=(0.5, -0.13), frameon=False)
