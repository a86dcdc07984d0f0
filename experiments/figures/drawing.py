"""What all figures share: their style, their files, the looks of series, and legends."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from typing import TYPE_CHECKING, Any, Optional

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from experiments.tables.statistics import Stat

STYLE: dict[Any, Any] = {
    "font.size": 8,
    "axes.titlesize": 8,
    "axes.labelsize": 8,
    "legend.fontsize": 8,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": True,
    "axes.grid.axis": "y",
    "axes.axisbelow": True,
    "grid.color": "#dddddd",
    "grid.linewidth": 0.6,
    "hatch.linewidth": 0.6,
    "svg.hashsalt": "spacy-multihash",  # the same bytes each time
}
METADATA: dict[str, dict[str, Any]] = {"png": {"Software": None}, "svg": {"Date": None}}
# Okabe and Ito's colours. Hatches, markers and lines distinguish series without colours too.
BLUE, ORANGE, GREEN, BLACK = "#0072b2", "#e69f00", "#009e73", "black"


@dataclass(frozen=True)
class Series:
    """How a series looks.

    color (str): The colour of its bars or lines.
    hatch (str): The pattern of its bars.
    marker, line (str): The style of its lines.
    hollow (bool): Whether its markers are white inside.
    """

    color: str
    hatch: str = ""
    marker: str = "o"
    line: str = "-"
    hollow: bool = False

    def of_bars(self) -> dict[str, Any]:
        """Return matplotlib's arguments for bars of this look."""
        edge = "white" if self.hatch else self.color
        return {"facecolor": self.color, "hatch": self.hatch, "edgecolor": edge, "linewidth": 0}

    def of_lines(self) -> dict[str, Any]:
        """Return matplotlib's arguments for lines of this look."""
        return {
            "color": self.color,
            "marker": self.marker,
            "markersize": 4.5,
            "markerfacecolor": "white" if self.hollow else self.color,
            "linestyle": self.line,
            "linewidth": 1.1,
        }


@contextmanager
def new_figure(width: float, height: float) -> Iterator["Figure"]:
    """Yield a figure to draw and save in our style.

    width, height (float): Its size in inches.
    """
    import matplotlib
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    defaults: dict[Any, Any] = dict(matplotlib.rcParamsDefault)  # not the user's settings
    defaults.pop("backend", None)
    with matplotlib.rc_context(defaults | STYLE):
        figure = Figure(figsize=(width, height), layout="constrained")
        FigureCanvasAgg(figure)
        yield figure


def save_figure(figure: "Figure", name: str) -> dict[str, bytes]:
    """Return the contents of a figure's files by name. The same figure gives the same bytes.

    name (str): The name of the files, without its ending.
    """
    files = {}
    for suffix, metadata in METADATA.items():
        buffer = BytesIO()
        figure.savefig(buffer, format=suffix, dpi=150, metadata=metadata)
        files[f"{name}.{suffix}"] = buffer.getvalue()
    return files


def limits(stat: "Stat") -> Optional[float]:
    """Return the length of a number's error bar: its sd, or None for a single seed."""
    return stat.sd if stat.n > 1 else None


def draw_legend(figure: "Figure", looks: Mapping[str, Series], *, bars: bool) -> None:
    """Draw the legend of a figure above it, in as many columns as fit.

    looks (Mapping[str, Series]): How each series looks.
    bars (bool): Whether the series are bars, with markers on them for hollow ones, or lines.
    """
    from matplotlib.lines import Line2D
    from matplotlib.patches import Patch

    handles: list[Any] = []
    for name, look in looks.items():
        if bars and not look.hollow:
            handles.append(Patch(label=name, **look.of_bars()))
        else:
            line = {"linestyle": "none"} if bars else {}
            handles.append(Line2D([], [], label=name, **{**look.of_lines(), **line}))
    # At 8 points an inch holds at least 16 letters, and a handle takes as much room as 6.
    letters = 16 * figure.get_figwidth()
    widths = [len(name) + 6 for name in looks]
    fits = sum(widths) <= letters
    columns = len(handles) if fits else 2 if 2 * max(widths) <= letters else 1
    figure.legend(handles=handles, loc="outside upper center", ncols=columns, frameon=False)
