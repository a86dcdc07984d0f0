"""The figure of docs/recipe-results.md: the settings of the recipe, taken apart."""

from typing import TYPE_CHECKING

from experiments.figures.intervals import DifferencesT, interval_figure
from experiments.tables.conclusions import conclude
from experiments.tables.recipe import recipe_tables

if TYPE_CHECKING:
    from experiments.tables.statistics import Results

NAME = "taken-apart"


def make_figures(results: "Results") -> dict[str, bytes]:
    """Draw the figure, and return the contents of each file by its name.

    results (Results): Our numbers, any of which may be missing.
    """
    table = recipe_tables(None)[NAME]
    rows: dict[str, dict[str, DifferencesT]] = {}
    for base, label in (("none", "each alone, minus none"), ("all", "minus all")):
        comparisons = [
            one for one in table.comparisons if one.second is not None and one.second[1] == base
        ]
        rows[label] = {
            dataset: {
                one.first[1]: conclude(results, table, dataset, one).ours for one in comparisons
            }
            for dataset in table.datasets
        }
    return interval_figure(
        NAME,
        "F1 on dev of the recipe's settings, each alone and all but each",
        "difference of F1",
        rows,
    )
