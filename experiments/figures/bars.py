"""Figures of bars by data set, with the report's numbers on them."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Optional

from experiments.figures.drawing import (
    BLACK,
    REPORT_LABEL,
    REPORT_SERIES,
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

LEFT_OUT = "Data sets and embeddings without runs are left out."


@dataclass(frozen=True)
class Pair:
    """Our number and the report's, either of which may be missing."""

    ours: Optional["Stat"]
    report: Optional["Stat"]


# The numbers of each series, by data set.
NumbersT = Mapping[str, Mapping[str, Pair]]


def with_runs(numbers: NumbersT) -> NumbersT:
    """Return the numbers without series and data sets in which all of ours are missing."""
    datasets = {name for of in numbers.values() for name, pair in of.items() if pair.ours}
    return {
        series: {name: pair for name, pair in of.items() if name in datasets}
        for series, of in numbers.items()
        if any(pair.ours for pair in of.values())
    }


def draw_bars(
    ax: "Axes", labels: Mapping[str, str], numbers: NumbersT, looks: Mapping[str, Series]
) -> None:
    """Draw our numbers as groups of bars, and the report's as hollow markers on them.

    labels (Mapping[str, str]): The label of each data set. Each of them has a group.
    numbers (NumbersT): The numbers.
    looks (Mapping[str, Series]): How each series looks.
    """
    width = 0.8 / max(len(numbers), 1)
    places = {name: x for x, name in enumerate(labels)}
    for i, (series, of) in enumerate(numbers.items()):
        shift = (i - (len(numbers) - 1) / 2) * width
        for name, pair in of.items():
            x = places[name] + shift
            if pair.ours:
                ax.bar(x, pair.ours.mean, width * 0.92, **looks[series].of_bars())
                ax.errorbar(
                    x - 0.2 * width,
                    pair.ours.mean,
                    yerr=limits(pair.ours),
                    color=BLACK,
                    capsize=1.5,
                    linewidth=0.9,
                )
            if pair.report:
                ax.errorbar(
                    x + 0.15 * width,
                    pair.report.mean,
                    yerr=limits(pair.report),
                    elinewidth=0.8,
                    **REPORT_SERIES.of_points(),
                )
    ax.set_xticks(range(len(labels)), labels.values())
    ax.set_xlim(-0.5, len(labels) - 0.5)
    ax.set_ylim(0, 1)
    ax.tick_params(axis="x", length=0)


def bar_figure(
    name: str,
    title: str,
    ylabel: str,
    panels: Mapping[str, NumbersT],
    labels: Mapping[str, str],
    looks: Mapping[str, Series],
) -> dict[str, bytes]:
    """Draw panels of bars beside each other. Data sets and series without our numbers are left out.

    name (str): The name of the files.
    title (str): The subject of the figure.
    ylabel (str): The label of the y axis.
    panels (Mapping[str, NumbersT]): The numbers of each panel, by its title.
    labels (Mapping[str, str]): The label of each data set, in the order in which they stand.
    looks (Mapping[str, Series]): How each series looks.
    """
    shown = {title: kept for title, each in panels.items() if (kept := with_runs(each))}
    groups = [
        {key: labels[key] for key in labels if any(key in of for of in numbers.values())}
        for numbers in shown.values()
    ]
    present = {series for numbers in shown.values() for series in numbers}
    pairs = [pair for numbers in shown.values() for of in numbers.values() for pair in of.values()]
    with new_figure(3.6) as figure:
        left_out = LEFT_OUT if shown != panels else ""
        error_bars = spread([pair.ours for pair in pairs], [pair.report for pair in pairs])
        draw_title(figure, title, left_out, error_bars)
        if shown:
            grid = {"width_ratios": [len(group) for group in groups]}
            axes = figure.subplots(1, len(shown), sharey=True, squeeze=False, gridspec_kw=grid)[0]
            for ax, (panel, numbers), group in zip(axes, shown.items(), groups, strict=True):
                draw_bars(ax, group, numbers, looks)
                ax.set_title(panel)
            axes[0].set_ylabel(ylabel)
        drawn = {series: look for series, look in looks.items() if series in present}
        draw_legend(figure, {**drawn, REPORT_LABEL: REPORT_SERIES}, bars=True)
        return save_figure(figure, name)
