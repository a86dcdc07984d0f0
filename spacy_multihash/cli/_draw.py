"""Diagrams that commands draw. matplotlib, an extra, is imported when it is needed."""

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

import numpy

from ..common.files import write_bytes
from ..inspection.explain import EVERYWHERE, Effect
from ..ner.calibration import Calibration
from ..ner.diagram import draw_diagram
from ._show import signed

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
