"""New figures in the style of the docs', and their files."""

from collections.abc import Iterator
from contextlib import contextmanager
from io import BytesIO
from pathlib import Path
from typing import TYPE_CHECKING

from benchmarks.common.paths import ROOT

if TYPE_CHECKING:
    from matplotlib.figure import Figure

STYLE = ROOT / "docs" / "figures.mplstyle"
WIDTH = 8.0  # inches, as wide as a page
COLORS = 64  # of a file, which is a third as large as with all colours
# The colours of the style.
BLUE, ORANGE, GREEN, SKY, PURPLE, RED = (f"C{number}" for number in range(6))
# The words for parts of the names of cases.
WORDS = {
    "embed": "embedding",
    "predict": "prediction",
    "train": "training step",
    "loaded": "a core busy",
    "n_process=2": "two processes",
}


def in_words(name: str) -> str:
    """Return the name of a case, such as "embed-predict", in words."""
    return ", ".join(WORDS.get(part, part) for part in name.split("-"))


@contextmanager
def new_figure(path: Path, title: str, height: float) -> Iterator["Figure"]:
    """Yield a figure as wide as a page, to draw on, and write it. Needs matplotlib, an extra.

    path (Path): PNG file. Its folder is made if needed.
    title (str): The subject, and below it what was measured.
    height (float): Its height in inches.
    """
    from matplotlib import style
    from matplotlib.figure import Figure
    from PIL import Image

    with style.context(["default", STYLE]):  # not the user's settings
        figure = Figure(figsize=(WIDTH, height))
        figure.suptitle(title, x=0.01, horizontalalignment="left")
        yield figure
        data = BytesIO()
        figure.savefig(data, format="png")
    path.parent.mkdir(parents=True, exist_ok=True)
    Image.open(data).convert("RGB").quantize(COLORS).save(path, "png", optimize=True)
