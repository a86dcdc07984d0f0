"""Figures as they are saved, and what is drawn on them, where matplotlib is installed."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pytest import approx

needs_matplotlib = pytest.mark.skipif(
    find_spec("matplotlib") is None,
    reason="matplotlib is not installed: pip install 'spacy-multihash[plots]'",
)


class Point(NamedTuple):
    """A point, and the ends of its error bar: the point's own place where it has none."""

    x: float
    y: float
    low: float
    high: float


class Bar(NamedTuple):
    """Where a bar stands or lies, how long it is, and its colour."""

    place: float
    length: float
    color: str


def is_png(path: Path) -> bool:
    return path.read_bytes().startswith(b"\x89PNG\r\n")


@contextmanager
def saved_figures() -> Iterator[list[Any]]:
    """Collect the figures that are saved meanwhile, each once; none without matplotlib."""
    figures: list[Any] = []
    if not find_spec("matplotlib"):
        yield figures
        return
    from matplotlib.figure import Figure

    savefig = Figure.savefig

    def save(figure: Figure, *args: Any, **settings: Any) -> None:
        if figure not in figures:
            figures.append(figure)
        savefig(figure, *args, **settings)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Figure, "savefig", save)
        yield figures


def bars_of(ax: Any, *, horizontal: bool = False) -> list[Bar]:
    from matplotlib.colors import to_hex

    found = []
    for patch in ax.patches:
        across = (patch.get_y(), patch.get_height())
        along = (patch.get_x(), patch.get_width())
        (start, thickness), (zero, length) = (across, along) if horizontal else (along, across)
        assert zero == 0
        found.append(
            Bar(float(start + thickness / 2), float(length), to_hex(patch.get_facecolor()))
        )
    return found


def points_of(ax: Any, marker: str | None = None) -> list[list[Point]]:
    """Return the points with error bars of each line, of those with a marker if it is given."""
    lines = []
    for container in ax.containers:
        line, _, error_lines = getattr(container, "lines", (None, (), ()))
        if line is None or marker not in (None, line.get_marker()):
            continue
        along = 0 if container.has_xerr else 1
        ends = [path.vertices[:, along] for each in error_lines for path in each.get_paths()]
        places = list(zip(line.get_xdata(), line.get_ydata(), strict=True))
        ends = ends or [(math.nan, math.nan)] * len(places)
        lines.append(
            [
                Point(float(place[0]), float(place[1]), *_ends(place[along], *end))
                for place, end in zip(places, ends, strict=True)
            ]
        )
    return lines


def _ends(value: float, low: float, high: float) -> tuple[float, float]:
    return (float(value),) * 2 if math.isnan(low) else (float(low), float(high))


def legend_of(figure: Any) -> list[str]:
    """Return the labels of all legends, those of panels too."""
    legends = [*figure.legends, *(ax.get_legend() for ax in figure.axes)]
    return [text.get_text() for legend in legends if legend for text in legend.get_texts()]


def ticks_of(axis: Any) -> list[str]:
    return [label.get_text() for label in axis.get_ticklabels()]


def check_ratio_bars(
    ax: Any,
    bars: Sequence[tuple[str, str, Mapping[str, float], float | None]],
    colors: Mapping[str, str],
) -> None:
    """See that these bars are drawn: label, series, interval, and target if there is one."""
    labels = ticks_of(ax.yaxis)
    assert labels == list(dict.fromkeys(label for label, *_ in bars))
    notes = [text.get_text() for text in ax.texts]
    drawn = zip(bars, bars_of(ax, horizontal=True), points_of(ax), notes, strict=True)
    targets = []
    for (label, name, values, target), bar, (point,), note in drawn:
        median = values["median"]
        assert labels[round(bar.place)] == label
        assert (bar.length, bar.color) == (approx(median), colors[name])
        assert point == approx((median, bar.place, values["low"], values["high"]))
        assert note == f"{median:.2f}"
        targets += [] if target is None else [(target, bar.place)]
    diamonds = [line for line in ax.lines if line.get_marker() == "D" and len(line.get_xdata())]
    found = [(line.get_xdata()[0], line.get_ydata()[0]) for line in diamonds]
    assert found == [approx(each) for each in targets]
    series = list(dict.fromkeys(name for _, name, *_ in bars))
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == series + ["our target"] * bool(targets)
