"""The figures of docs/figures: differences with their intervals, a panel a data set."""

from collections.abc import Iterator, Mapping
from io import BytesIO
from pathlib import Path
from typing import Optional

from experiments.statistics import Estimate, Runs
from experiments.tables import TABLES, Table

STYLE = Path(__file__).resolve().parents[1] / "docs" / "figures.mplstyle"
WIDTH = 8.0  # inches, as wide as a page
# The tables that are drawn, and the score of each.
DRAWN = {"recommended": "test_f", "taken-apart": "dev_f"}
Panels = Mapping[str, Mapping[str, Optional[Estimate]]]


def all_figures(runs: Runs) -> Iterator[tuple[str, bytes]]:
    """Yield the name and the SVG of each figure."""
    for name, score in DRAWN.items():
        axis = "difference of F1 on " + score.partition("_")[0]
        yield name, draw_panels(table_panels(TABLES[name], runs, score), axis)


def table_panels(table: Table, runs: Runs, score: str) -> dict[str, dict[str, Optional[Estimate]]]:
    """Compute the differences of a table, by data set and line."""
    return {
        dataset: {
            line: runs.difference(
                table.cell(line, dataset, score), table.cell(base, dataset, score)
            )
            for line, base in table.bases.items()
        }
        for dataset in table.datasets
    }


def draw_panels(panels: Panels, axis: str) -> bytes:
    """Draw differences as points with intervals, and return the SVG.

    panels (Panels): The differences by data set and line. A line without any is left out.
    axis (str): What is drawn.
    """
    from matplotlib import style
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    lines = list(dict.fromkeys(line for panel in panels.values() for line in panel))
    lines = [line for line in lines if any(panel.get(line) for panel in panels.values())]
    with style.context(["default", STYLE]):  # not the user's settings
        figure = Figure(figsize=(WIDTH, 0.9 + 0.22 * len(lines)))
        FigureCanvasAgg(figure)
        axes = figure.subplots(1, len(panels), sharey=True, squeeze=False)[0]
        for ax, (dataset, panel) in zip(axes, panels.items(), strict=True):
            ax.axvline(0, color="black", linewidth=0.8)
            ax.grid(axis="x")
            ax.set_title(dataset)
            for place, line in enumerate(lines):
                estimate = panel.get(line)
                if estimate is None:
                    continue
                if estimate.low is not None:
                    ax.plot([estimate.low, estimate.high], [place, place], color="C0")
                hollow = "white" if estimate.low is None else "C0"
                ax.plot(
                    estimate.mean, place, marker="o", color="C0", markerfacecolor=hollow, gid=line
                )
        axes[0].set_yticks(range(len(lines)), lines)
        axes[0].set_ylim(len(lines) - 0.5, -0.5)
        figure.supxlabel(axis, fontsize=9)
        data = BytesIO()
        figure.savefig(data, format="svg", metadata={"Date": None, "Creator": None})
    return data.getvalue()
