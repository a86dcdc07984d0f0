"""Diagrams that commands draw. matplotlib, an extra, is imported when it is needed."""

from collections.abc import Sequence
from io import BytesIO
from pathlib import Path

from ..common.files import write_bytes
from ..ner.calibration import Bin


def draw_reliability(
    path: Path, before: Sequence[Bin], after: Sequence[Bin], temperature: float
) -> None:
    """Draw how many entities are right at each probability, before and after calibration.

    path (Path): The PNG file.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.2), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    panels = figure.subplots(1, 2, sharex=True, sharey=True)
    titles = ("before", f"after, temperature {temperature:.2f}")
    most = max(one.entities for one in (*before, *after))
    for axes, bins, title in zip(panels, (before, after), titles, strict=True):
        axes.plot([0, 1], [0, 1], color="0.6", linewidth=1, linestyle="--")
        axes.plot(
            [one.probability for one in bins],
            [one.share for one in bins],
            color="#0072b2",
            linewidth=1,
        )
        axes.scatter(
            [one.probability for one in bins],
            [one.share for one in bins],
            s=[15 + 200 * one.entities / most for one in bins],
            color="#0072b2",
            zorder=3,
        )
        axes.set(title=title, xlabel="probability of the entity", xlim=(0, 1.02), ylim=(0, 1.02))
        axes.spines[["top", "right"]].set_visible(False)
    panels[0].set_ylabel("share of entities that are right")
    figure.suptitle("Reliability of probabilities. Larger dots are more entities.", fontsize=10)
    data = BytesIO()
    figure.savefig(data, format="png")
    write_bytes(path, data.getvalue())
