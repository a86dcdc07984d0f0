"""Diagrams that commands draw. matplotlib, an extra, is imported when it is needed."""

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import numpy

from ..common.files import write_bytes
from ..inspection.attention import Attention
from ..inspection.explain import EVERYWHERE, Effect
from ..ner.calibration import Calibration
from ..ner.diagram import draw_diagram
from ._show import signed

# Tokens in a row of a heat map, and its rows.
_TOKENS, _ROWS = 30, 20

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def draw_reliability(path: Path, found: Calibration) -> None:
    """Draw how many entities are right at each probability, before and after calibration.

    path (Path): The PNG file.
    """
    figure = _new_figure(4.2)
    draw_diagram(figure, found)
    figure.suptitle("Reliability of probabilities. Larger dots are more entities.", fontsize=10)
    _save(figure, path)


def draw_effects(path: Path, effects: Sequence[Effect]) -> None:
    """Draw how much each feature counts for the entities of each label, with the numbers.

    path (Path): The PNG file.
    effects (Sequence[Effect]): Those of a feature that is unknown everywhere are drawn.
    """
    shown = [each for each in effects if each.where == EVERYWHERE]
    parts, labels, features = (
        list(dict.fromkeys(getattr(each, name) for each in shown))
        for name in ("part", "label", "feature")
    )
    labels.sort(key=lambda label: label is not None)
    means = {(each.part, each.label, each.feature): each.mean for each in shown}
    largest = max(map(abs, means.values())) or 1.0
    figure = _new_figure(1.2 + 0.32 * len(labels))
    panels = figure.subplots(1, len(parts), sharey=True, squeeze=False)[0]
    for axes, part in zip(panels, parts, strict=True):
        values = numpy.array(
            [[means.get((part, label, name), numpy.nan) for name in features] for label in labels]
        )
        axes.imshow(values, cmap="PuOr", vmin=-largest, vmax=largest, aspect="auto")
        for (row, column), value in numpy.ndenumerate(values):
            if not numpy.isnan(value):
                white = abs(value) > 0.7 * largest
                colour = "white" if white else "black"
                text = signed(value, 2)
                axes.text(column, row, text, ha="center", va="center", fontsize=7, color=colour)
        axes.set_title(f"{part} entities", fontsize=9)
        axes.set_xticks(
            range(len(features)), [*map(_plain, features)], rotation=45, ha="right", fontsize=7
        )
        names = [_plain(label or "all") for label in labels]
        axes.set_yticks(range(len(labels)), names, fontsize=7)
        axes.tick_params(length=0)
    title = "By how much the probability of gold entities falls if a feature is unknown everywhere"
    figure.suptitle(title, fontsize=10)
    _save(figure, path)


def draw_attention(path: Path, found: Sequence[Attention]) -> None:
    """Draw the weight of each table for the tokens of docs. Long docs are broken into rows.

    The first 20 rows are drawn, of up to 30 tokens each.

    path (Path): The PNG file.

    Raises ValueError if there are no docs to draw.
    """
    panels = [
        (f"{each.component}, doc {number}", each.tables, doc, start)
        for each in found
        for number, doc in enumerate(each.docs, start=1)
        for start in range(0, len(doc.words), _TOKENS)
    ]
    panels = panels[:_ROWS]
    if not panels:
        raise ValueError("There is no doc to draw. Give --docs 1 or more.")
    from matplotlib import colormaps

    colours = colormaps["viridis"].with_extremes(bad="0.88")
    heights = [1.1 + 0.22 * len(tables) for _, tables, _, _ in panels]
    figure = _new_figure(0.8 + sum(heights))
    grid = figure.subplots(len(panels), 1, squeeze=False, height_ratios=heights)[:, 0]
    for axes, (title, tables, doc, start) in zip(grid, panels, strict=True):
        part = slice(start, start + _TOKENS)
        weights = numpy.array(doc.weights[part]).T
        present = numpy.array(doc.present[part]).T
        shown = numpy.ma.masked_array(weights, ~present)
        image = axes.imshow(shown, cmap=colours, vmin=0, vmax=1, aspect="auto")
        for row, column in numpy.argwhere(present):
            weight = weights[row, column]
            colour = "black" if weight > 0.6 else "white"
            text = f"{100 * weight:.0f}"
            axes.text(column, row, text, ha="center", va="center", fontsize=6, color=colour)
        words = [_plain(word if word.strip() else repr(word)) for word in doc.words[part]]
        axes.set_xticks(range(len(words)), words, rotation=45, ha="right", fontsize=7)
        axes.set_yticks(range(len(tables)), [*map(_plain, tables)], fontsize=7)
        axes.set_xlim(-0.5, _TOKENS - 0.5)
        axes.tick_params(length=0)
        axes.spines[:].set_visible(False)
        title = _plain(title if start == 0 else f"{title}, continued")
        axes.set_title(title, fontsize=8, loc="left")
    figure.colorbar(image, ax=list(grid), fraction=0.03, pad=0.01, label="weight")
    title = "Weight of each table, in percent. Grey: the table does not have the token."
    figure.suptitle(title, fontsize=10)
    _save(figure, path)


def _plain(text: str) -> str:
    """Mark a text as no formula."""
    return text.replace("$", r"\$")


def _new_figure(height: float) -> "Figure":
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, height), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    return figure


def _save(figure: "Figure", path: Path) -> None:
    data = BytesIO()
    figure.savefig(data, format="png")
    write_bytes(path, data.getvalue())
