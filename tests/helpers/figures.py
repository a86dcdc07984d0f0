"""Figures as they are saved, and what is drawn on them, where matplotlib is installed."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from importlib.util import find_spec
from itertools import combinations
from pathlib import Path
from typing import Any, NamedTuple

import pytest
from pytest import approx

from tests.helpers.paths import ROOT

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
    legends = [*_figure_legends(figure), *(ax.get_legend() for ax in figure.axes)]
    return [text.get_text() for legend in legends if legend for text in legend.get_texts()]


def ticks_of(axis: Any) -> list[str]:
    return [label.get_text() for label in axis.get_ticklabels()]


def color_of(color: str) -> str:
    """Return a colour of the style in hexadecimal digits."""
    from matplotlib import style
    from matplotlib.colors import to_hex

    with style.context(ROOT / "docs" / "figures.mplstyle"):
        return str(to_hex(color))


def check_layout(figure: Any) -> None:
    """See that texts lie within the figure, apart and off points, and that panels have data."""
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.text import Text

    FigureCanvasAgg(figure)  # keeps its renderer, where one for each text would take most time
    figure.draw_without_rendering()
    boxes = [(text.get_text(), _box_of(text)) for text in _texts_of(figure)]
    # A pixel more may be a rounded one.
    page = figure.bbox.padded(1)
    outside = [text for text, box in boxes if not _contains(page, box)]
    assert not outside, f"not within the figure: {outside}"
    pairs = [(one, other) for (one, a), (other, b) in combinations(boxes, 2) if _overlap(a, b)]
    assert not pairs, f"texts on each other: {pairs}"
    legends = [*_figure_legends(figure), *filter(None, (ax.get_legend() for ax in figure.axes))]
    for legend in legends:
        box = legend.get_window_extent()
        assert not any(_overlap(box, ax.get_window_extent()) for ax in figure.axes)
    for ax in figure.axes:
        lines = [line.get_xydata() for line in ax.lines if line.get_transform() is ax.transData]
        points = [point for line in lines for point in line if not math.isnan(sum(point))]
        assert points or ax.patches, f"panel without data: {ax.get_title(loc='left')}"
        places = [ax.transData.transform(point) for point in points]
        for text in filter(Text.get_text, ax.texts):
            box = _box_of(text)
            covered = [
                point for point, place in zip(points, places, strict=True) if box.contains(*place)
            ]
            assert not covered, f"{text.get_text()} covers {covered}"


def check_labels_beside_points(ax: Any) -> None:
    """See that no label of a point covers a point or an error bar."""
    ax.figure.draw_without_rendering()
    notes = [_box_of(text) for text in ax.texts if text.get_text()]
    assert notes
    for (point,) in points_of(ax):
        ends = ((point.x, y) for y in (point.low, point.y, point.high))
        low, middle, high = map(ax.transData.transform, ends)
        for box in notes:
            assert not box.contains(*middle)
            assert not (box.x0 <= middle[0] <= box.x1 and low[1] < box.y1 and high[1] > box.y0)


def _texts_of(figure: Any) -> list[Any]:
    """List the texts that are drawn: not the labels of ticks that lie outside of their axis."""
    from matplotlib.text import Text

    ticks: list[Any] = []
    for ax in figure.axes:
        for axis in (ax.xaxis, ax.yaxis):
            low, high = sorted(axis.get_view_interval())
            for tick in (*axis.get_major_ticks(), *axis.get_minor_ticks()):
                if not low <= tick.get_loc() <= high:
                    ticks += [tick.label1, tick.label2]
    found = [text for text in figure.findobj(Text) if text.get_text().strip()]
    return [text for text in found if text.get_visible() and text not in ticks]


def _box_of(text: Any) -> Any:
    """Return the place of a text, without the line that may lead to it."""
    from matplotlib.text import Text

    text.get_window_extent()  # which moves what has an offset
    return Text.get_window_extent(text)


def _overlap(one: Any, other: Any) -> bool:
    """Tell whether boxes share more than a margin of half a pixel."""
    return bool(one.padded(-0.5).overlaps(other.padded(-0.5)))


def _contains(outer: Any, box: Any) -> bool:
    return all(outer.contains(*corner) for corner in box.corners())


def _figure_legends(figure: Any) -> list[Any]:
    return [*figure.legends, *(legend for part in figure.subfigs for legend in part.legends)]


def check_ratio_bars(
    ax: Any, bars: Sequence[tuple[str, str, Mapping[str, float]]], colors: Mapping[str, str]
) -> None:
    """See that these bars are drawn, and nothing else: label, series and interval of each."""
    # those that a panel shares with the one beside it are hidden
    labels = ax.yaxis.get_major_formatter().format_ticks(ax.get_yticks())
    assert labels == list(dict.fromkeys(label for label, *_ in bars))
    bars = sorted(bars, key=lambda bar: labels.index(bar[0]))
    notes = [text.get_text() for text in ax.texts]
    drawn = zip(bars, bars_of(ax, horizontal=True), points_of(ax), notes, strict=True)
    for (label, name, values), bar, (point,), note in drawn:
        median = values["median"]
        assert labels[round(bar.place)] == label
        assert (bar.length, bar.color) == (approx(median), color_of(colors[name]))
        assert point == approx((median, bar.place, values["low"], values["high"]))
        assert note == f"{median:.2f}"
    # "|" is the cap of an interval. What remains is its middle, and there are no targets.
    alone = [line for line in ax.lines if len(line.get_xdata()) == 1 and line.get_marker() != "|"]
    assert len(alone) == len(bars)
    names = [text.get_text() for text in ax.get_legend().get_texts()]
    assert names == list(dict.fromkeys(name for _, name, _ in bars))
