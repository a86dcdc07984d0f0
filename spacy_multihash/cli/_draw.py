"""Diagrams that commands draw. matplotlib, an extra, is imported when it is needed."""

from io import BytesIO
from pathlib import Path

from ..common.files import write_bytes
from ..ner.calibration import Calibration
from ..ner.diagram import draw_diagram


def draw_reliability(path: Path, found: Calibration) -> None:
    """Draw how many entities are right at each probability, before and after calibration.

    path (Path): The PNG file.
    """
    from matplotlib.backends.backend_agg import FigureCanvasAgg
    from matplotlib.figure import Figure

    figure = Figure(figsize=(8, 4.2), dpi=150, layout="constrained")
    FigureCanvasAgg(figure)
    draw_diagram(figure, found)
    figure.suptitle("Reliability of probabilities. Larger dots are more entities.", fontsize=10)
    data = BytesIO()
    figure.savefig(data, format="png")
    write_bytes(path, data.getvalue())
