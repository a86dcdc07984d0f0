"""The figures of docs/weighted-results.md."""

from typing import TYPE_CHECKING

from experiments.arms.tasks import AG_NEWS
from experiments.figures.drawing import BLUE, GREEN, ORANGE, PURPLE, SKY, Series
from experiments.figures.lines import Panel, line_figure
from experiments.figures.points import Model, point_figure
from experiments.tables.report import MULTI_HASH
from experiments.tables.weighted import (
    BUDGET_DATASETS,
    IMPORTANCE_1,
    MODELS,
    MULTI_HASH_2,
    NEAR_ZERO,
    SHARES,
    TEXTS,
    WEIGHTED_TABLES,
    budget_line,
)

if TYPE_CHECKING:
    from experiments.tables.statistics import Results

BUDGET_LOOKS = {
    MULTI_HASH: Series(BLUE),
    MULTI_HASH_2: Series(SKY, marker="D", line="-."),
    IMPORTANCE_1: Series(PURPLE, marker="s", line="--"),
    NEAR_ZERO: Series(GREEN, marker="^", line=":"),
}
# The look of the points of each kind of model.
KINDS = {
    "hash embedding": Series(BLUE),
    "hashing trick": Series(GREEN, marker="s"),
    "spaCy's": Series(ORANGE, marker="^"),
}


def kind_of(model: str) -> str:
    """Return the kind of a model. Deep models and ensembles are of the kind "hash embedding"."""
    return next((kind for kind in KINDS if model.startswith(kind)), "hash embedding")


def _budget_figure(results: "Results") -> dict[str, bytes]:
    table = WEIGHTED_TABLES["budgets"]
    panels = []
    for group in table.groups:
        for dataset in BUDGET_DATASETS:
            ours = {
                name: [
                    results.ours(table, group, dataset, budget_line(share, name))
                    for share in SHARES
                ]
                for name in BUDGET_LOOKS
            }
            panels.append(Panel(f"{dataset}, {group.split}", ours))
    return line_figure(
        "budgets",
        "F1 by the number of parameters of the tables",
        tuple(SHARES),
        ("share of the default", "F1"),
        panels,
        BUDGET_LOOKS,
        columns=4,
    )


def _textcat_figure(results: "Results") -> dict[str, bytes]:
    table = WEIGHTED_TABLES[TEXTS]
    accuracy, parameters = (
        next(g for g in table.groups if (g.metric, g.split) == key)
        for key in (("accuracy", "test"), ("parameters", ""))
    )
    models = [
        Model(
            model,
            KINDS[kind_of(model)],
            {
                AG_NEWS: (
                    results.ours(table, parameters, AG_NEWS, model),
                    results.ours(table, accuracy, AG_NEWS, model),
                )
            },
        )
        for model in MODELS
    ]
    return point_figure(
        "textcat-accuracy",
        "Accuracy of text classifiers on the test set of a part of AG News, by their size",
        ("parameters (logarithmic scale)", "test accuracy"),
        models,
        log=True,
    )


def make_figures(results: "Results") -> dict[str, bytes]:
    """Draw all figures, and return the contents of each file by its name."""
    return {**_budget_figure(results), **_textcat_figure(results)}
