"""The plots of the results in the repository, and what plots have in common."""

import json
from collections.abc import Mapping
from functools import partial
from pathlib import Path
from typing import Any

import pytest

from benchmarks import features, textcat, weighted
from benchmarks.common.figures import WORDS, in_words, new_figure
from benchmarks.common.paths import RESULTS
from benchmarks.dilated import plot as dilated
from benchmarks.ner import plot as ner
from benchmarks.scaling import plot as scaling
from benchmarks.speed import plot as speed
from benchmarks.speed.cases import NAMES
from tests.helpers.figures import check_layout, needs_matplotlib, saved_figures
from tests.helpers.paths import ROOT

MACHINE = "Intel(R) Xeon(R) Processor, 2 cores; CoNLL-2002 Spanish dev"
DRAW: Mapping[str, Any] = {
    "dilated": partial(dilated.draw, title=MACHINE),
    "features": features.draw,
    **{path.stem: partial(ner.draw, title=MACHINE) for path in RESULTS.glob("ner-3.1?.json")},
    "scaling": partial(scaling.draw, title=f"{MACHINE}\nnot varied: all else"),
    **{path.stem: partial(speed.draw, title=MACHINE) for path in RESULTS.glob("speed*.json")},
    "textcat": textcat.draw,
    "weighted": weighted.draw,
}


@needs_matplotlib
@pytest.mark.parametrize("name", DRAW)
def test_plots_of_the_results_are_readable(name: str, tmp_path: Path) -> None:
    records = json.loads((RESULTS / f"{name}.json").read_text("utf8"))["results"]
    with saved_figures() as figures:
        DRAW[name](tmp_path / "x.png", records)
    assert (
        len(figures)
        == len([*tmp_path.iterdir()])
        == (2 if name == "scaling" or name.startswith("ner-") else 1)
    )
    for figure in figures:
        check_layout(figure)


def test_all_results_with_plots_are_tried() -> None:
    stems = (path.stem for path in RESULTS.glob("*.png"))
    names = {stem.removesuffix("-memory").removesuffix("-growth") for stem in stems}
    assert names == set(DRAW)


def test_figures_in_the_repository_are_small() -> None:
    paths = [*RESULTS.glob("*.png"), *(ROOT / "docs" / "figures").glob("*.png")]
    assert len(paths) > 10
    assert [path.name for path in paths if path.stat().st_size > 100_000] == []


@needs_matplotlib
def test_plots_do_not_depend_on_the_user_s_settings(tmp_path: Path) -> None:
    import matplotlib

    theirs = {"font.size": 20, "axes.facecolor": "red"}
    for settings, path in (({}, tmp_path / "a.png"), (theirs, tmp_path / "folder" / "b.png")):
        with matplotlib.rc_context(settings), new_figure(path, "title", 2) as figure:
            figure.subplots().plot([1, 2], color="C0")
    assert (tmp_path / "a.png").read_bytes() == (tmp_path / "folder" / "b.png").read_bytes()


def test_cases_have_names_in_words() -> None:
    assert in_words("tok2vec-train") == "tok2vec, training step"
    assert in_words("pipeline-predict-n_process=2") == "pipeline, prediction, two processes"
    assert all("-" not in in_words(name) for name in NAMES)
    assert set(WORDS) <= {part for name in NAMES for part in name.split("-")}
