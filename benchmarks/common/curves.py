"""Small multiples of curves: how they look, their ticks and their legend."""

from collections.abc import Mapping, Sequence
from math import inf, log
from typing import TYPE_CHECKING, Any

from benchmarks.common.figures import BLUE, ORANGE
from benchmarks.common.layers import OURS, SPACY

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

LOOKS: Mapping[str, Mapping[str, Any]] = {
    SPACY: {"color": ORANGE, "marker": "s", "linestyle": "--", "markerfacecolor": "white"},
    OURS: {"color": BLUE, "marker": "o"},
}
# Of two labels of ticks, each letter takes so much of the axis.
LETTER = 0.036


def set_ticks(ax: "Axes", values: Sequence[int]) -> None:
    """Mark the values on the x axis, and label the largest, and those far enough below others."""
    from matplotlib.ticker import EngFormatter

    write = EngFormatter(sep="")
    span = log(max(values) / min(values)) or 1.0
    labels: list[str] = []
    above = ("", inf)
    for value in sorted(values, reverse=True):
        label = min(write(value), f"{value:,}", key=len)
        if log(above[1] / value) >= LETTER * len(above[0] + label) * span:
            above = (label, value)
            labels.append(label)
        else:
            labels.append("")
    ax.set_xticks(sorted(values), labels[::-1])
    ax.minorticks_off()


def draw_legend(figure: "Figure") -> None:
    """Draw the legend of a figure, of what is drawn in any of its panels."""
    handles: dict[str, Any] = {}
    for ax in figure.axes:
        for handle, label in zip(*ax.get_legend_handles_labels(), strict=True):
            handles.setdefault(label, handle)
    figure.legend(
        list(handles.values()), list(handles), loc="outside lower center", ncols=len(handles)
    )
