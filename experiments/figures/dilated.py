"""The figures of docs/dilated.md and docs/dilated-results.md."""

from typing import TYPE_CHECKING

from experiments.arms.dilated import DILATIONS
from experiments.figures.drawing import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    Series,
    limits,
    new_figure,
    save_figure,
)
from experiments.tables.dilated import DATASETS, DILATED_TABLES, MODELS, NER, TAGGER
from spacy_multihash import effective_input_width

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from experiments.tables.statistics import Results

_PASSES = 2
# The first convolution and each pass have a colour. Tokens that they do not read are grey.
_COLORS = (BLUE, ORANGE, GREEN)
_REST = "#bbbbbb"
# By recognizer: the part of a model's name before the first comma.
LOOKS = {NER.partition(",")[0]: Series(BLUE), TAGGER: Series(ORANGE, marker="s")}


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
    colors = [_COLORS[0], *(_COLORS[1 + p] for p in range(_PASSES) for _ in DILATIONS)]
    reach = effective_input_width(DILATIONS, _PASSES, 1) // 2
    plain = [1] * len(dilations)
    with new_figure(7.2, 4.6) as figure:
        upper, lower = figure.subplots(2, sharex=True)
        _draw_field(upper, dilations, colors, reach)
        upper.set_title(
            f"Dilations {DILATIONS}, {_PASSES} passes: reads {2 * sum(dilations) + 1} tokens, "
            f"has the parameters of {1 + len(DILATIONS)} convolutions",
            loc="left",
        )
        upper.set_yticks(
            range(len(dilations) + 1),
            ["input", *(f"{n}, d = {d}" for n, d in zip(names, dilations, strict=True))],
        )
        _draw_field(lower, plain, [BLACK] * len(plain), reach)
        lower.set_title(
            f"No dilation: reads {2 * len(plain) + 1} tokens, "
            f"has the parameters of {len(plain)} convolutions",
            loc="left",
        )
        lower.set_yticks(range(len(plain) + 1), ["input", *(f"{i + 1}" for i in range(len(plain)))])
        lower.set_xticks(range(-reach, reach + 1, 3))
        lower.set_xlabel("position relative to the token whose vector is computed")
        return save_figure(figure, "receptive-field")


def _scores_figure(results: "Results") -> dict[str, bytes]:
    """Draw F1 on test against words per second, in a panel for each data set."""
    table = DILATED_TABLES["dilated-models"]
    test, speed = (
        next(g for g in table.groups if (g.metric, g.split, g.part) == key)
        for key in (("f", "test", "all"), ("words_per_second", "", ""))
    )
    numbers = {
        (dataset, model): [results.ours(table, g, dataset, model) for g in (speed, test)]
        for dataset in DATASETS
        for model in MODELS
    }
    with new_figure(9.6, 4.6) as figure:
        axes = figure.subplots(2, 2).ravel()
        for number, model in enumerate(MODELS, start=1):
            look = {**LOOKS[model.partition(",")[0]].of_lines(), "linestyle": "none"}
            for ax, dataset in zip(axes, DATASETS, strict=True):
                x, y = numbers[dataset, model]
                if x is None or y is None:
                    continue
                ax.plot(x.mean, y.mean, **look)
                ax.errorbar(x.mean, y.mean, yerr=limits(y), elinewidth=0.8, ecolor=look["color"])
                place = {"xytext": (4, 3), "textcoords": "offset points"}
                ax.annotate(str(number), (x.mean, y.mean), **place)
            missing = all(None in numbers[dataset, model] for dataset in DATASETS)
            label = f"{number}  {model}{' (missing)' * missing}"
            axes[0].plot([], [], label=label, **look)
        for ax, dataset in zip(axes, DATASETS, strict=True):
            ax.set_title(dataset, loc="left")
            ax.locator_params(axis="x", nbins=4)
        figure.supxlabel("words per second of CPU time, whole pipeline", fontsize=8)
        figure.supylabel("test F1 ± sd", fontsize=8)
        figure.legend(loc="outside right center", frameon=False)
        return save_figure(figure, "dilated-scores")


def make_figures(results: "Results") -> dict[str, bytes]:
    """Draw all figures, and return the contents of each file by its name."""
    return {**_field_figure(), **_scores_figure(results)}
