"""The reliability diagram: how many entities are right at each probability."""

from typing import TYPE_CHECKING

from .calibration import Calibration

if TYPE_CHECKING:
    from matplotlib.figure import Figure

_BLUE, _GREY = "#0072b2", "0.6"


def draw_diagram(figure: "Figure", found: Calibration) -> None:
    """Draw two panels, with the former temperature and with the other one.

    A dot is a range of probability, and its area grows with the entities in the range.
    """
    panels = figure.subplots(1, 2, sharex=True, sharey=True)
    titles = [f"temperature {number:.2f}" for number in (found.former, found.temperature)]
    most = max(one.entities for one in (*found.bins_before, *found.bins_after))
    for axes, bins, title in zip(
        panels, (found.bins_before, found.bins_after), titles, strict=True
    ):
        probabilities = [one.probability for one in bins]
        shares = [one.share for one in bins]
        areas = [15 + 200 * one.entities / most for one in bins]
        axes.plot([0, 1], [0, 1], color=_GREY, linewidth=1, linestyle="--")
        axes.plot(probabilities, shares, color=_BLUE, linewidth=1)
        axes.scatter(probabilities, shares, s=areas, color=_BLUE, zorder=3, clip_on=False)
        axes.set(title=title, xlabel="probability of the entity", xlim=(0, 1.02), ylim=(0, 1.02))
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("share of entities that are right")
