"""The figure of docs/ner.md: the reliability of the probabilities of en_core_web_md."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

from experiments.figures.drawing import draw_title, new_figure, save_figure
from spacy_multihash.ner.diagram import draw_diagram

if TYPE_CHECKING:
    from spacy_multihash.ner.calibration import Calibration

NAME = "calibration"
MODEL = "wnut17-en_core_web_md"


def make_figures(found: Mapping[str, Mapping[str, "Calibration"]]) -> dict[str, bytes]:
    """Draw the figure, and return the contents of each file by its name: none without results.

    found (Mapping[str, Mapping[str, Calibration]]): Model -> split -> what was measured.
    """
    if MODEL not in found:
        return {}
    with new_figure(3.8) as figure:
        draw_diagram(figure, found[MODEL]["test"])
        draw_title(
            figure,
            "How true the probabilities of en_core_web_md are on the test set of WNUT 2017",
            "Larger dots are more entities. On the dashed line, probabilities are true.",
        )
        return save_figure(figure, NAME)
