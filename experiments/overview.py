"""The README's figure: F1 against size and speed, of our settings and of spaCy's.

F1 and size are means over the corpora that have runs of both. `python -m benchmarks` measured the
speeds in turns, of the pipelines that both packages make without looking at a corpus.
"""

import json
from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

from experiments.arms import SPACY
from experiments.choice import NINE, SIZES
from experiments.figures import STYLE, WIDTH
from experiments.statistics import Cell, Runs
from experiments.tables import CHOSEN, CHOSEN_FEW

if TYPE_CHECKING:
    from matplotlib.axes import Axes

BENCHMARKS = Path(__file__).resolve().parents[1] / "benchmarks" / "results" / "3.11.json"
BOTH = RECOMMENDED, DEFAULT = "recommended", "spaCy's default"
# The arms of each point, on whole corpora and on few sentences.
POINTS = {
    RECOMMENDED: (CHOSEN, CHOSEN_FEW),
    "without n-grams": ("recipe", "recipe-few"),
    "small": ("small", "few_small"),
    DEFAULT: (SPACY, SPACY),
}
MIN_REACH = 0.04  # so that small differences look small
COLORS = {RECOMMENDED: "C0", "without n-grams": "C3", "small": "C2", DEFAULT: "C1"}
DARK = {
    **dict.fromkeys(("text.color", "axes.labelcolor", "xtick.color", "ytick.color"), "#e6edf3"),
    "axes.edgecolor": "#8b949e",
    "grid.color": "#30363d",
}


class Overview(NamedTuple):
    """The points of the figure.

    scores (str): What F1 is of.
    f, megabytes, speed (dict[str, float]): Values by the name of a point. Speeds, in words a
        second, are there for the pipelines that were measured.
    """

    scores: str
    f: dict[str, float]
    megabytes: dict[str, float]
    speed: dict[str, float]


def make_overview(runs: Runs, benchmarks: Path = BENCHMARKS) -> Overview:
    """Average over corpora, whole or cut: the size with more that have runs of `BOTH`."""
    corpora = {size: shared_corpora(runs, size) for size in SIZES}
    size = max(corpora, key=lambda size: len(corpora[size]))
    f = mean_values(runs, "dev_f", size, corpora[size])
    sizes = mean_values(runs, "bytes", size, corpora[size])
    measured = json.loads(benchmarks.read_text("utf8"))["rows"]["recommended/pipe"]["values"]
    return Overview(
        scores=f"mean F1 on dev\n({len(corpora[size])} corpora, {size})",
        f=f,
        megabytes={name: value / 1e6 for name, value in sizes.items()},
        speed={RECOMMENDED: 1e6 / measured["ours"], DEFAULT: 1e6 / measured["spaCy"]},
    )


def arm_of(name: str, size: str) -> str:
    """Return the arm of a point, for whole or for cut corpora."""
    whole, few = POINTS[name]
    return few if SIZES[size] else whole


def shared_corpora(runs: Runs, size: str) -> list[str]:
    """List the corpora of a size that have runs of both our settings and spaCy's."""
    return [
        corpus
        for corpus in (name + SIZES[size] for name in NINE)
        if all(runs.values(Cell(corpus, arm_of(name, size), "dev_f")) for name in BOTH)
    ]


def mean_values(runs: Runs, column: str, size: str, corpora: Sequence[str]) -> dict[str, float]:
    """Return the mean of a column over corpora, for each point with runs on all of them."""
    means = {
        name: [runs.mean(Cell(corpus, arm_of(name, size), column)) for corpus in corpora]
        for name in POINTS
    }
    return {
        name: sum(mean.mean for mean in of_point if mean) / len(of_point)
        for name, of_point in means.items()
        if all(of_point)
    }


def draw_overview(overview: Overview, *, dark: bool = False) -> bytes:
    """Draw F1 against size and speed, on a transparent ground, and return the SVG."""
    from matplotlib import style
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with style.context(["default", STYLE, DARK if dark else {}]):  # not the user's settings
        figure = Figure(figsize=(WIDTH, 2.8))
        FigureCanvasAgg(figure)
        left, right = figure.subplots(1, 2, sharey=True)
        draw_points(left, overview.megabytes, overview.f)
        thousands = {name: speed / 1000 for name, speed in overview.speed.items()}
        draw_points(right, thousands, overview.f)
        left.set(xlabel="size on disk, MB", ylabel=overview.scores)
        right.set(xlabel="speed, thousand words a second on one CPU core")
        middle = (min(overview.f.values()) + max(overview.f.values())) / 2
        reach = max(MIN_REACH, max(overview.f.values()) - middle + MIN_REACH / 2)
        left.set_ylim(middle - reach, middle + reach)
        handles, labels = left.get_legend_handles_labels()
        figure.legend(handles, labels, loc="outside lower center", ncols=len(labels))
        data = BytesIO()
        figure.savefig(
            data, format="svg", transparent=True, metadata={"Date": None, "Creator": None}
        )
    return data.getvalue()


def draw_points(ax: "Axes", values: dict[str, float], f: dict[str, float]) -> None:
    """Draw a point for each value, on an axis from 0."""
    ax.grid(axis="x")
    ax.set_xlim(0, 1.1 * max(values.values()))
    for name, x in values.items():
        label = f"{name}: {f[name]:.3f}"
        ax.plot(x, f[name], "o", color=COLORS[name], markersize=9, label=label, gid=name)
