"""The figures of docs/weighted-results.md."""

from typing import TYPE_CHECKING

from experiments.arms.tasks import AG_NEWS
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
from experiments.figures.lines import Panel, line_figure
from experiments.tables.report import MULTI_HASH
from experiments.tables.weighted import (
    BUDGET_DATASETS,
    IMPORTANCE_1,
    MODELS,
    MULTI_HASH_2,
    NEAR_ZERO,
    SHARES,
    WEIGHTED_TABLES,
    budget_line,
)

if TYPE_CHECKING:
    from experiments.tables.statistics import Results

BUDGET_LOOKS = {
    MULTI_HASH: Series(BLUE),
    MULTI_HASH_2: Series(BLACK, marker="D", line="-."),
    IMPORTANCE_1: Series(ORANGE, marker="s", line="--"),
    NEAR_ZERO: Series(GREEN, marker="^", line=":"),
}
# The look of the points of each kind of model.
KINDS = {
    "hash embedding": Series(BLUE),
    "hashing trick": Series(ORANGE, marker="s"),
    "spaCy's": Series(GREEN, marker="^"),
}


def kind_of(model: str) -> str:
    """Return the kind of a model. Deep models and ensembles are of the kind "hash embedding"."""
    return next((kind for kind in KINDS if model.startswith(kind)), "hash embedding")


def _budget_figure(results: "Results") -> dict[str, bytes]:
    table = WEIGHTED_TABLES["budgets"]
    rows = {
        f"{group.split} F1 ± sd": [
            Panel(
                dataset,
                {
                    name: [
                        results.ours(table, group, dataset, budget_line(share, name))
                        for share in SHARES
                    ]
                    for name in BUDGET_LOOKS
                },
            )
            for dataset in BUDGET_DATASETS
        ]
        for group in table.groups
    }
    xlabel = "parameters of the tables, as a share of the default"
    return line_figure("budgets", tuple(SHARES), xlabel, rows, BUDGET_LOOKS)


def _textcat_figure(results: "Results") -> dict[str, bytes]:
    table = WEIGHTED_TABLES["text-classification"]
    accuracy, parameters = (
        next(g for g in table.groups if (g.metric, g.split) == key)
        for key in (("accuracy", "test"), ("parameters", ""))
    )
    with new_figure(7.6, 3.6) as figure:
        ax = figure.subplots()
        for number, model in enumerate(MODELS, start=1):
            look = {**KINDS[kind_of(model)].of_lines(), "linestyle": "none"}
            label = f"{number}  {model}"
            x, y = (results.ours(table, g, AG_NEWS, model) for g in (parameters, accuracy))
            if x is None or y is None:
                ax.plot([], [], label=f"{label} (missing)", **look)
                continue
            ax.plot(x.mean, y.mean, label=label, **look)
            ax.errorbar(x.mean, y.mean, yerr=limits(y), elinewidth=0.8, ecolor=look["color"])
            ax.annotate(str(number), (x.mean, y.mean), xytext=(5, 3), textcoords="offset points")
        ax.set_xscale("log")
        ax.set_xlabel("parameters")
        ax.set_ylabel("test accuracy ± sd, part of AG News")
        figure.legend(loc="outside right center", frameon=False)
        return save_figure(figure, "textcat-accuracy")


def make_figures(results: "Results") -> dict[str, bytes]:
    """Draw all figures, and return the contents of each file by its name."""
    return {**_budget_figure(results), **_textcat_figure(results)}
