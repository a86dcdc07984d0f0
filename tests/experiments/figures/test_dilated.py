"""The figures of dilated convolutions."""

from pathlib import Path

import pytest

from experiments.arms.tasks import HASH_EMBED

pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install -e '.[plots]'")
pytest.importorskip("pandas", reason="pandas is not installed: pip install -e '.[plots]'")
pytest.importorskip("scipy", reason="scipy is not installed: pip install -e '.[plots]'")

from experiments.figures.dilated import LOOKS, make_figures
from experiments.tables.dilated import MODELS
from experiments.tables.statistics import Results, load_results
from tests.helpers.results import REPORT, write_results

NAMES = ("dilated-scores", "receptive-field")


def test_figures_are_made_of_nothing_too() -> None:
    files = make_figures(Results(frozenset(), {}, {}))
    assert sorted(files) == [f"{name}.{suffix}" for name in NAMES for suffix in ("png", "svg")]


def test_figures_come_out_the_same_and_show_what_was_run(tmp_path: Path) -> None:
    nothing = make_figures(Results(frozenset(), {}, {}))
    write_results(tmp_path, "conll-es", HASH_EMBED, [0.77, 0.78])
    write_results(tmp_path, "conll-es", "tagger", [0.76])
    results = load_results(tmp_path, REPORT)
    first, second = (make_figures(results) for _ in range(2))
    assert first == second
    assert all((first[name] != nothing[name]) == name.startswith("dilated") for name in first)


def test_models_are_told_apart_by_kind_without_colours() -> None:
    kinds = {model.partition(",")[0] for model in MODELS}
    assert kinds == set(LOOKS)
    assert len({look.marker for look in LOOKS.values()}) == len(kinds)
