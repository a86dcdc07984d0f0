"""The figures of dilated convolutions."""

from math import sqrt
from pathlib import Path
from typing import Any

import pytest
from pytest import approx

from experiments.arms.tasks import HASH_EMBED

pytest.importorskip("matplotlib", reason="matplotlib is not installed: pip install -e '.[plots]'")
pytest.importorskip("pandas", reason="pandas is not installed: pip install -e '.[plots]'")
pytest.importorskip("scipy", reason="scipy is not installed: pip install -e '.[plots]'")

from experiments.arms.dilated import DILATIONS
from experiments.figures.dilated import LOOKS, make_figures
from experiments.tables.dilated import MODELS
from experiments.tables.statistics import Results, load_results
from tests.helpers.figures import legend_of, points_of, saved_figures, ticks_of
from tests.helpers.results import REPORT, write_results

NAMES = ("dilated-scores", "receptive-field")


def test_figures_are_made_of_nothing_too() -> None:
    files = make_figures(Results(frozenset(), {}, {}))
    assert sorted(files) == [f"{name}.{suffix}" for name in NAMES for suffix in ("png", "svg")]


def test_figures_come_out_the_same_and_show_what_was_run(tmp_path: Path) -> None:
    write_results(tmp_path, "conll-es", HASH_EMBED, [0.77, 0.79])
    write_results(tmp_path, "conll-es", "tagger", [0.76])
    results = load_results(tmp_path, REPORT)
    with saved_figures() as figures:
        first, second = (make_figures(results) for _ in range(2))
    assert first == second
    check_fields(figures[0])
    check_scores(figures[1])


def check_fields(figure: Any) -> None:
    """See that each token of each layer is linked to those that its convolution reads."""
    upper, lower = figure.axes
    for ax, dilations, width in ((upper, [1, *DILATIONS * 2], 19), (lower, [1] * 7, 15)):
        needed, expected = {0}, set()
        for layer in reversed(range(7)):
            d = dilations[layer]
            reads = {((t + step, layer), (t, layer + 1)) for t in needed for step in (-d, 0, d)}
            expected |= reads
            needed = {below for (below, _), _ in reads}
        drawn = {
            tuple((round(x), round(y)) for x, y in segment)
            for lines in ax.collections
            for segment in lines.get_segments()
        }
        assert drawn == expected
        reach = width // 2
        assert needed == set(range(-reach, reach + 1))
        (inputs,) = (
            line for line in ax.lines if line.get_color() == "black" and line.get_ydata()[0] == 0
        )
        assert list(inputs.get_xdata()) == sorted(needed)
        assert f"reads {width} tokens, has the parameters of" in ax.get_title(loc="left")
    assert ticks_of(upper.yaxis) == [
        "input",
        "first, dilation 1",
        *(f"pass {number}, dilation {d}" for number in (1, 2) for d in (1, 2, 1)),
    ]


def check_scores(figure: Any) -> None:
    assert figure.get_suptitle() == (
        "F1 on the test set by the speed of the whole pipeline\n"
        "Error bars: ± sd over seeds. No error bar: one seed."
    )
    present = ("batch_ner, maxout windows", "tagger_ner, dilated")
    assert legend_of(figure) == [
        f"{number}  {model}{' (missing)' * (model not in present)}"
        for number, model in enumerate(MODELS, start=1)
    ]
    (ax,) = figure.axes  # of the data sets with runs
    labels = (ax.get_title(loc="left"), ax.get_xlabel(), ax.get_ylabel())
    assert labels == ("conll-es", "words per second of CPU time", "test F1")
    ends = (0.78 - sqrt(2e-4), 0.78 + sqrt(2e-4))
    ((ner,), (tagger,)) = points_of(ax)
    assert ner == approx((20_000, 0.78, *ends)) and tagger == approx((20_000, 0.76, 0.76, 0.76))
    assert [(note.get_text(), note.xy) for note in ax.texts] == [
        ("1", approx((20_000, 0.78))),
        ("9", approx((20_000, 0.76))),
    ]
    markers = [line.get_marker() for line in ax.lines if len(line.get_xdata())]
    assert [marker for marker in markers if marker != "None"] == ["s", "o"]


def test_models_are_told_apart_by_kind_without_colours() -> None:
    kinds = {model.partition(",")[0] for model in MODELS}
    assert kinds == set(LOOKS)
    assert len({look.marker for look in LOOKS.values()}) == len(kinds)
