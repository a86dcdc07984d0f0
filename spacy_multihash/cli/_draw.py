"""The diagram that `explain` draws."""

from collections.abc import Sequence
from pathlib import Path

import numpy

from ..inspection.explain import EVERYWHERE, Effect
from ._util import new_figure, save_figure, signed


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
    figure = new_figure(1.2 + 0.32 * len(labels))
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
    save_figure(figure, path)


def _plain(text: str) -> str:
    """Mark a text as no formula."""
    return text.replace("$", r"\$")
