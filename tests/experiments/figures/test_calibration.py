"""The figure of how true probabilities are."""

import pytest
from pytest import approx

pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install -e '.[plots]'")

from experiments.figures.calibration import MODEL, make_figures
from spacy_multihash.ner.calibration import Bin, Calibration, Quality
from tests.helpers.figures import saved_figures

QUALITY = Quality(40, 0.5, 0.1, 0.5)
BEFORE, AFTER = [Bin(0.25, 0.1, 10), Bin(0.9, 0.6, 30)], [Bin(0.5, 0.45, 40)]


def test_figure_shows_the_test_set_with_both_temperatures() -> None:
    dev = Calibration("ner", 1.0, 2.5, QUALITY, QUALITY, {}, AFTER, AFTER)
    test = Calibration("ner", 1.0, 2.5, QUALITY, QUALITY, {}, BEFORE, AFTER)
    with saved_figures() as figures:
        first, second = (make_figures({MODEL: {"dev": dev, "test": test}}) for _ in range(2))
    assert first == second and sorted(first) == ["calibration.png", "calibration.svg"]
    for axes, bins, title in zip(
        figures[0].axes,
        (BEFORE, AFTER),
        ("temperature 1.00", "temperature 2.50"),
        strict=True,
    ):
        assert axes.get_title(loc="left") == title
        (dots,) = axes.collections
        expected = [(one.probability, one.share) for one in bins]
        assert dots.get_offsets().tolist() == [approx(point) for point in expected]


def test_without_results_there_is_no_figure() -> None:
    assert make_figures({}) == {}
