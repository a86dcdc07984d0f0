"""Figures of differences with their 95 % intervals, line by line."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Optional

from experiments.figures.drawing import (
    BLACK,
    BLUE,
    NO_RUNS,
    Series,
    draw_legend,
    draw_title,
    new_figure,
    save_figure,
)

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from experiments.tables.differences import Difference

CLEAR, NOISE = "larger than noise", "within noise, or of one seed"
LOOKS = {CLEAR: Series(BLUE, line="none"), NOISE: Series(BLUE, line="none", hollow=True)}
BARS = "Error bars: 95 % intervals. No error bar: one seed."
LEFT_OUT = "Where nothing can be compared yet, there is no panel."
# The differences of each line, by its name. None is a missing one.
DifferencesT = Mapping[str, Optional["Difference"]]


def draw_differences(ax: "Axes", differences: DifferencesT) -> None:
    """Draw a point for each difference, from top to bottom, and a line at 0.

    Differences that are larger than noise are filled.
    """
    ax.axvline(0, color=BLACK, linewidth=0.8)
    for place, found in enumerate(differences.values()):
        if found is not None:
            margin = float("nan") if found.margin is None else found.margin
            look = LOOKS[CLEAR if abs(found.value) > margin else NOISE]
            ax.errorbar(found.value, place, xerr=margin, elinewidth=0.9, **look.of_points())
    ax.set_yticks(range(len(differences)), differences)
    ax.set_ylim(len(differences) - 0.5, -0.5)
    ax.grid(visible=False, axis="y")
    ax.grid(visible=True, axis="x")
    ax.tick_params(axis="y", length=0)


def interval_figure(
    name: str,
    title: str,
    xlabel: str,
    rows: Mapping[str, Mapping[str, DifferencesT]],
) -> dict[str, bytes]:
    """Draw rows of panels with differences. All panels have the same scale.

    name (str): The name of the files.
    title (str): The subject of the figure.
    xlabel (str): The label of the x axes.
    rows (Mapping): The differences of each data set, by the label of the row's y axis. A panel
        without any is left out.
    """
    datasets = list(dict.fromkeys(dataset for row in rows.values() for dataset in row))
    present = [[_has_any(row[dataset]) for dataset in datasets] for row in rows.values()]
    shown = [
        dataset
        for dataset, column in zip(datasets, zip(*present, strict=True), strict=True)
        if any(column)
    ]
    heights = [max(len(of) for of in row.values()) for row in rows.values()]
    with new_figure(0.2 * sum(heights) + 1.6) as figure:
        notes = ["" if all(map(all, present)) else LEFT_OUT, BARS] if shown else [NO_RUNS]
        draw_title(figure, title, *notes)
        if shown:
            axes = figure.subplots(
                len(rows),
                len(shown),
                sharex=True,
                sharey="row",
                squeeze=False,
                gridspec_kw={"height_ratios": heights},
            )
            for line, (label, row) in zip(axes, rows.items(), strict=True):
                _draw_row(line, label, [row[dataset] for dataset in shown])
            for column, dataset in zip(axes.T, shown, strict=True):
                kept = [ax for ax in column if ax in figure.axes]
                kept[0].set_title(dataset)
                kept[-1].set_xlabel(xlabel)
                kept[-1].tick_params(labelbottom=True)
                kept[-1].locator_params(axis="x", nbins=3, steps=[1, 2, 5, 10])
        draw_legend(figure, LOOKS, bars=False)
        return save_figure(figure, name)


def _draw_row(axes: Sequence["Axes"], label: str, panels: Sequence[DifferencesT]) -> None:
    """Draw the panels of a row that have differences, and remove the others."""
    drawn = []
    for ax, differences in zip(axes, panels, strict=True):
        if _has_any(differences):
            draw_differences(ax, differences)
            drawn.append(ax)
        else:
            ax.remove()
    for ax in drawn[:1]:
        ax.set_ylabel(label)
        ax.tick_params(labelleft=True)


def _has_any(differences: DifferencesT) -> bool:
    return any(found is not None for found in differences.values())
