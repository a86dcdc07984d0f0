"""The figures of docs/figures.

`answers` shows pooled differences with their intervals. `overview`, for the README, shows F1 on
test against size and speed, for our settings and spaCy's: means over the runs on the corpora that
have runs of all of them, on the same processor.
"""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from statistics import fmean
from typing import TYPE_CHECKING, Any, NamedTuple, Optional

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
RECOMMENDED, SMALL, DEFAULT = "recommended", "small", "spaCy's default"
# The arm of each point.
POINTS = {RECOMMENDED: CHOSEN, SMALL: "small", DEFAULT: SPACY}
MIN_REACH = 0.04  # so that small differences look small
COLORS = {RECOMMENDED: "C0", SMALL: "C2", DEFAULT: "C1"}
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

    corpora (int): How many corpora the means are over.
    cpu (str): The processor of all runs.
    f, megabytes, speed (dict[str, float]): Values by the name of a point. The speed is in words
        per second of CPU time, on texts that are tokenized.
    """

    corpora: int
    cpu: str
    f: dict[str, float]
    megabytes: dict[str, float]
    speed: dict[str, float]


def make_overview(runs: Runs) -> Optional[Overview]:
    """Average over the corpora that have runs of all `POINTS`, or return None if there are none.

    Raises ValueError if the runs are of several processors, whose speeds don't compare.
    """
    corpora = [name for name in NINE if all(_values(runs, name, "test_f").values())]
    if not corpora:
        return None
    of_corpora = [_values(runs, corpus, "cpu").values() for corpus in corpora]
    cpu, *others = sorted({cpu for of_arms in of_corpora for cpus in of_arms for cpu in cpus})
    if others:
        raise ValueError(f"Speeds of several processors don't compare: {cpu}, {', '.join(others)}.")
    f, size, speed = (
        {
            name: fmean(fmean(_values(runs, corpus, column)[name]) for corpus in corpora)
            for name in POINTS
        }
        for column in ("test_f", "bytes", "words_per_second")
    )
    megabytes = {name: value / 1e6 for name, value in size.items()}
    return Overview(len(corpora), cpu, f, megabytes, speed)


def _values(runs: Runs, corpus: str, column: str) -> dict[str, list[Any]]:
    """Return the values of a column on a corpus: a value for each seed, for each point."""
    return {
        name: [*runs.values(Cell(corpus, arm, column)).values()] for name, arm in POINTS.items()
    }


def draw_overview(overview: Overview, *, dark: bool = False) -> bytes:
    """Draw F1 against size and speed, on a transparent background, and return the SVG."""
    with new_figure(2.6, [DARK] if dark else []) as figure:
        left, right = figure.subplots(1, 2, sharey=True)
        draw_points(left, overview.megabytes, overview.f)
        thousands = {name: speed / 1000 for name, speed in overview.speed.items()}
        draw_points(right, thousands, overview.f)
        left.set(xlabel="MB on disk", ylabel=f"mean F1 on test\n({overview.corpora} corpora)")
        right.set(xlabel=f"thousand words a second,\none core, {overview.cpu}")
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
