"""What all figures share: their style, their files, the looks of series, titles and legends."""

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING, Any, Optional

if TYPE_CHECKING:
    from matplotlib.figure import Figure

    from experiments.tables.statistics import Stat

STYLE = Path(__file__).resolve().parents[2] / "docs" / "figures.mplstyle"
WIDTH = 8.0  # inches, as wide as a page
COLORS = 64  # of a PNG file, which is a third as large as with all colours
# The colours of the style. Hatches, markers and lines distinguish series without colours too.
BLUE, ORANGE, GREEN, SKY, PURPLE = (f"C{number}" for number in range(5))
BLACK = "black"
NO_RUNS = "There are no runs."


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
            "markerfacecolor": "white" if self.hollow else self.color,
            "linestyle": self.line,
        }

    def of_points(self) -> dict[str, Any]:
        """Return matplotlib's arguments for points of this look, without lines."""
        return {**self.of_lines(), "linestyle": "none"}


REPORT_LABEL = "the report"
REPORT_SERIES = Series(BLACK, marker="D", line=":", hollow=True)


@contextmanager
def new_figure(height: float) -> Iterator["Figure"]:
    """Yield a figure as wide as a page, to draw and save in our style.

    height (float): Its height in inches.
    """
    from matplotlib import style
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    with style.context(["default", STYLE]):  # not the user's settings
        figure = Figure(figsize=(WIDTH, height))
        FigureCanvasAgg(figure)
        yield figure


def save_figure(figure: "Figure", name: str) -> dict[str, bytes]:
    """Return the contents of a figure's files by name. The same figure gives the same bytes.

    name (str): The name of the files, without its ending.
    """
    from PIL import Image

    png, svg, small = BytesIO(), BytesIO(), BytesIO()
    figure.savefig(svg, format="svg", metadata={"Date": None})
    figure.savefig(png, format="png")
    Image.open(png).convert("RGB").quantize(COLORS).save(small, "png", optimize=True)
    return {f"{name}.png": small.getvalue(), f"{name}.svg": svg.getvalue()}


def limits(stat: "Stat") -> Optional[float]:
    """Return the length of a number's error bar: its sd, or None for a single seed."""
    return stat.sd if stat.n > 1 else None


def spread(ours: Sequence[Optional["Stat"]], report: Sequence[Optional["Stat"]] = ()) -> str:
    """Say what the error bars of our numbers and the report's are. None is a missing number."""
    lengths = [limits(stat) for stat in ours if stat]
    if not lengths:
        return NO_RUNS
    if all(length is None for length in (*lengths, *(limits(stat) for stat in report if stat))):
        return "One seed each."
    whose = "Ours without one" if any(report) else "No error bar"
    return "Error bars: ± sd over seeds." + f" {whose}: one seed." * (None in lengths)


def draw_title(figure: "Figure", title: str, *notes: str) -> None:
    """Write the title of a figure above it, and notes below the title, on lines of their own."""
    lines = [title, *filter(None, notes)]
    figure.suptitle("\n".join(lines), x=0.01, horizontalalignment="left")


def draw_legend(figure: "Figure", looks: Mapping[str, Series], *, bars: bool) -> None:
    """Draw the legend of a figure below it, in as many columns as fit.

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
            of_line = look.of_points() if bars else look.of_lines()
            handles.append(Line2D([], [], label=name, **of_line))
    # At 9 points an inch holds at least 14 letters, and a handle takes as much room as 6.
    letters = 14 * figure.get_figwidth()
    widths = [len(name) + 6 for name in looks]
    fits = sum(widths) <= letters
    columns = len(handles) if fits else 2 if 2 * max(widths) <= letters else 1
    figure.legend(handles=handles, loc="outside lower center", ncols=columns)
