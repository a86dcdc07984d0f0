"""The figures of docs/figures.

`answers` shows pooled differences with their intervals. `overview`, for the README, shows F1
against size and speed, for our settings and spaCy's. F1 and size are means over the corpora that
have runs of both. `python -m benchmarks` measured the speeds in turns, on the pipelines that both
packages make without looking at a corpus.
"""

import json
from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from experiments.arms import SPACY
from experiments.statistics import Cell, Estimate, Runs
from experiments.tables import CHOSEN, NINE

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

ROOT = Path(__file__).resolve().parents[1]
STYLE = ROOT / "docs" / "figures.mplstyle"
WIDTH = 5.5  # inches, so that letters stay readable on a phone
LIMIT = 0.12  # wider intervals end at the frame
BENCHMARKS = ROOT / "benchmarks" / "results" / "3.11.json"
BOTH = RECOMMENDED, DEFAULT = "recommended", "spaCy's default"
# The arm of each point.
POINTS = {
    RECOMMENDED: CHOSEN,
    "small": "small",
    DEFAULT: SPACY,
}
MIN_REACH = 0.04  # so that small differences look small
COLORS = {RECOMMENDED: "C0", "small": "C2", DEFAULT: "C1"}
DARK = {
    **dict.fromkeys(("text.color", "axes.labelcolor", "xtick.color", "ytick.color"), "#e6edf3"),
    "axes.edgecolor": "#8b949e",
    "grid.color": "#30363d",
}


@contextmanager
def new_figure(height: float, style: Sequence[dict[str, Any]] = ()) -> Iterator["Figure"]:
    """Make a figure in our style, whatever the user's settings are."""
    from matplotlib import style as styles
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with styles.context(["default", STYLE, *style]):
        figure = Figure(figsize=(WIDTH, height))
        FigureCanvasAgg(figure)
        yield figure


def as_svg(figure: "Figure", *, transparent: bool = False) -> bytes:
    """Write a figure as SVG, with the same bytes every time."""
    data, metadata = BytesIO(), {"Date": None, "Creator": None}
    figure.savefig(data, format="svg", transparent=transparent, metadata=metadata)
    return data.getvalue()


def draw_forest(lines: Iterable[tuple[str, list[float], Estimate]]) -> bytes:
    """Draw a line for each label, and return the SVG.

    lines (Iterable): Labels, their differences by data set (small points), and the pooled
        difference with its interval.
    """
    lines = list(lines)
    with new_figure(0.7 + 0.21 * len(lines)) as figure:
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
        ax.set_xlabel("difference of F1: data sets (grey),\nand pooled with its 95 % interval")
        return as_svg(figure)


class Overview(NamedTuple):
    """The points of the figure.

    scores (str): The scores that F1 averages over.
    f, megabytes, speed (dict[str, float]): Values by the name of a point. Only the measured
        pipelines have speeds, in words per second.
    """

    scores: str
    f: dict[str, float]
    megabytes: dict[str, float]
    speed: dict[str, float]


def make_overview(runs: Runs, benchmarks: Path = BENCHMARKS) -> Overview:
    """Average over the corpora that have runs of `BOTH`."""
    corpora = [
        corpus
        for corpus in NINE
        if all(runs.values(Cell(corpus, POINTS[name], "dev_f")) for name in BOTH)
    ]
    measured = json.loads(benchmarks.read_text("utf8"))["rows"]["recommended/pipe"]["values"]
    sizes = mean_values(runs, "bytes", corpora)
    return Overview(
        scores=f"mean F1 on dev\n({len(corpora)} corpora)",
        f=mean_values(runs, "dev_f", corpora),
        megabytes={name: value / 1e6 for name, value in sizes.items()},
        speed={RECOMMENDED: 1e6 / measured["ours"], DEFAULT: 1e6 / measured["spaCy"]},
    )


def mean_values(runs: Runs, column: str, corpora: Sequence[str]) -> dict[str, float]:
    """Return the mean of a column over corpora, for each point with runs on all of them."""
    means = {
        name: [runs.mean(Cell(corpus, arm, column)) for corpus in corpora]
        for name, arm in POINTS.items()
    }
    return {
        name: sum(mean.mean for mean in of_point if mean) / len(of_point)
        for name, of_point in means.items()
        if all(of_point)
    }


def draw_overview(overview: Overview, *, dark: bool = False) -> bytes:
    """Draw F1 against size and speed, on a transparent background, and return the SVG."""
    with new_figure(2.6, [DARK] if dark else []) as figure:
        left, right = figure.subplots(1, 2, sharey=True)
        draw_points(left, overview.megabytes, overview.f)
        thousands = {name: speed / 1000 for name, speed in overview.speed.items()}
        draw_points(right, thousands, overview.f)
        left.set(xlabel="MB on disk", ylabel=overview.scores)
        right.set(xlabel="thousand words a second, one core")
        middle = (min(overview.f.values()) + max(overview.f.values())) / 2
        reach = max(MIN_REACH, max(overview.f.values()) - middle + MIN_REACH / 2)
        left.set_ylim(middle - reach, middle + reach)
        handles, labels = left.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
        return as_svg(figure, transparent=True)


def draw_points(ax: "Axes", values: dict[str, float], f: dict[str, float]) -> None:
    """Draw a point for each value, on an axis from 0."""
    ax.grid(axis="x")
    ax.set_xlim(0, 1.1 * max(values.values()))
    for name, x in values.items():
        label = f"{name}: {f[name]:.3f}"
        ax.plot(x, f[name], "o", color=COLORS[name], markersize=9, label=label, gid=name)
