"""The figures of docs/dilated.md and docs/dilated-results.md."""

from typing import TYPE_CHECKING

from experiments.arms.dilated import DILATIONS
from experiments.figures.drawing import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    SKY,
    Series,
    draw_title,
    new_figure,
    save_figure,
)
from experiments.figures.points import Model, point_figure
from experiments.tables.dilated import BATCH_NER, DATASETS, DILATED_TABLES, MODELS, TAGGER
from spacy_multihash import effective_input_width

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from experiments.tables.statistics import Results

_PASSES = 2
# The first convolution and each pass have a colour. Tokens that they do not read are grey.
_COLORS = (SKY, BLUE, GREEN)
_REST = "#bbbbbb"
# By recognizer: the part of a model's name before the first comma.
LOOKS = {BATCH_NER: Series(ORANGE, marker="s"), TAGGER: Series(BLUE)}


def _draw_field(ax: "Axes", dilations: list[int], colors: list[str], reach: int) -> None:
    """Draw which tokens each convolution reads to compute the vector of token 0."""
    from matplotlib.collections import LineCollection

    needed = {0}
    for layer in reversed(range(len(dilations))):
        reads = [(token + tap * dilations[layer], token) for token in needed for tap in (-1, 0, 1)]
        lines = [[(below, layer), (token, layer + 1)] for below, token in reads]
        ax.add_collection(LineCollection(lines, colors=colors[layer], linewidths=0.7))
        ax.plot(sorted(needed), [layer + 1] * len(needed), "o", color=colors[layer], markersize=3.5)
        needed = {below for below, _ in reads}
    ax.plot(sorted(needed), [0] * len(needed), "o", color=BLACK, markersize=3.5)
    for layer in range(len(dilations) + 1):
        rest = [t for t in range(-reach - 1, reach + 2)]
        ax.plot(rest, [layer] * len(rest), "o", color=_REST, markersize=1.5, zorder=0)
    ax.set_xlim(-reach - 1.5, reach + 1.5)
    ax.grid(visible=False)


def _field_figure() -> dict[str, bytes]:
    """Draw the receptive field of two passes, and of equally many convolutions without dilation."""
    dilations = [1, *DILATIONS * _PASSES]
    names = ["first", *(f"pass {p + 1}" for p in range(_PASSES) for _ in DILATIONS)]
    layers = [f"{name}, dilation {d}" for name, d in zip(names, dilations, strict=True)]
    colors = [_COLORS[0], *(_COLORS[1 + p] for p in range(_PASSES) for _ in DILATIONS)]
    reach = effective_input_width(DILATIONS, _PASSES, 1) // 2
    plain = [1] * len(dilations)
    with new_figure(5.2) as figure:
        draw_title(figure, "Tokens that a vector is computed from, by convolution")
        upper, lower = figure.subplots(2, sharex=True)
        _draw_field(upper, dilations, colors, reach)
        upper.set_title(
            f"Dilations {DILATIONS}, {_PASSES} passes: reads {2 * sum(dilations) + 1} tokens, "
            f"has the parameters of {1 + len(DILATIONS)} convolutions"
        )
        upper.set_yticks(range(len(dilations) + 1), ["input", *layers])
        _draw_field(lower, plain, [BLACK] * len(plain), reach)
        lower.set_title(
            f"No dilation: reads {2 * len(plain) + 1} tokens, "
            f"has the parameters of {len(plain)} convolutions"
        )
        lower.set_yticks(range(len(plain) + 1), ["input", *(f"{i + 1}" for i in range(len(plain)))])
        lower.set_xticks(range(-reach, reach + 1, 3))
        lower.set_xlabel("position relative to the token whose vector is computed (tokens)")
        return save_figure(figure, "receptive-field")


def _scores_figure(results: "Results") -> dict[str, bytes]:
    """Draw F1 on test against words per second, in a panel for each data set."""
    table = DILATED_TABLES["dilated-models"]
    test, speed = (
        next(g for g in table.groups if (g.metric, g.split, g.part) == key)
        for key in (("f", "test", "all"), ("words_per_second", "", ""))
    )
    models = [
        Model(
            model,
            LOOKS[model.partition(",")[0]],
            {
                dataset: (
                    results.ours(table, speed, dataset, model),
                    results.ours(table, test, dataset, model),
                )
                for dataset in DATASETS
            },
        )
        for model in MODELS
    ]
    return point_figure(
        "dilated-scores",
        "F1 on the test set by the speed of the whole pipeline",
        ("words per second of CPU time", "test F1"),
        models,
    )


def make_figures(results: "Results") -> dict[str, bytes]:
    """Draw all figures, and return the contents of each file by its name."""
    return {**_field_figure(), **_scores_figure(results)}
