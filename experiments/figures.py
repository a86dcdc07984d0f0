"""The figure of docs/figures that shows the answers: pooled differences with their intervals."""

from collections.abc import Iterable
from io import BytesIO
from pathlib import Path

from experiments.statistics import Estimate

STYLE = Path(__file__).resolve().parents[1] / "docs" / "figures.mplstyle"
WIDTH = 8.0  # inches, as wide as a page
LIMIT = 0.12  # wider intervals end at the frame


def draw_forest(lines: Iterable[tuple[str, list[float], Estimate]]) -> bytes:
    """Draw a line for each label, and return the SVG.

    lines (Iterable): Labels, their differences by data set (small points), and the pooled
        difference with its interval.
    """
    from matplotlib import style
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    lines = list(lines)
    with style.context(["default", STYLE]):  # not the user's settings
        figure = Figure(figsize=(WIDTH, 0.7 + 0.21 * len(lines)))
        FigureCanvasAgg(figure)
        ax = figure.subplots()
        ax.axvline(0, color="black", linewidth=0.8)
        ax.grid(axis="x")
        for place, (label, differences, pooled) in enumerate(lines):
            ax.plot(differences, [place] * len(differences), "o", color="0.7", markersize=3)
            if pooled.low is not None and pooled.high is not None:
                ax.plot([pooled.low, pooled.high], [place, place], color="C0")
            ax.plot(pooled.mean, place, "D", color="C0", gid=label)
        ax.set_yticks(range(len(lines)), [label for label, *_ in lines])
        ax.set_ylim(len(lines) - 0.5, -0.5)
        ax.set_xlim(-LIMIT, LIMIT)
        ax.set_xlabel("difference of F1: data sets (grey), and pooled with its 95 % interval")
        data = BytesIO()
        figure.savefig(data, format="svg", metadata={"Date": None, "Creator": None})
    return data.getvalue()
