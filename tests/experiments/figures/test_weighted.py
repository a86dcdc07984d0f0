"""The figures of weighted hash embeddings."""

from pathlib import Path

import pytest

from experiments.arms.tasks import HASH_EMBED

pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install -e '.[plots]'")
pytest.importorskip("pandas", reason="pandas is not installed: pip install -e '.[plots]'")
pytest.importorskip("scipy", reason="scipy is not installed: pip install -e '.[plots]'")

from experiments.figures.weighted import BUDGET_LOOKS, KINDS, kind_of, make_figures
from experiments.tables.statistics import Results, load_results
from experiments.tables.weighted import MODELS
from tests.helpers.results import REPORT, write_results


def test_figures_are_made_of_nothing_too() -> None:
    files = make_figures(Results(frozenset(), {}, {}))
    assert sorted(files) == [
        f"{name}.{suffix}" for name in ("budgets", "textcat-accuracy") for suffix in ("png", "svg")
    ]


def test_figures_come_out_the_same_and_show_what_was_run(tmp_path: Path) -> None:
    nothing = make_figures(Results(frozenset(), {}, {}))
    write_results(tmp_path, "ag-news", "hash_embed", [0.90, 0.91])
    write_results(tmp_path, "ag-news", "bow", [0.88])
    write_results(tmp_path, "wnut17", HASH_EMBED, [0.2, 0.21])
    results = load_results(tmp_path, REPORT)
    first, second = (make_figures(results) for _ in range(2))
    assert first == second
    assert all(first[name] != nothing[name] for name in first)


def test_models_are_told_apart_by_kind_without_colours() -> None:
    kinds = [kind_of(model) for model in MODELS]
    assert {kind: kinds.count(kind) for kind in KINDS} == {
        "hash embedding": 8,
        "hashing trick": 6,
        "spaCy's": 2,
    }
    assert len({look.marker for look in KINDS.values()}) == 3
    looks = BUDGET_LOOKS.values()
    assert len({(look.marker, look.line) for look in looks}) == len(looks)
