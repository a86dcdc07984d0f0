"""The short table of docs/weighted-results.md: the gain from importance, by number of rows."""

from collections.abc import Iterator

from experiments.tables.conclusions import conclude
from experiments.tables.markdown import markdown, marked, signed, with_note
from experiments.tables.report import MULTI_HASH
from experiments.tables.statistics import Results
from experiments.tables.table import METRICS, Comparison, Group
from experiments.tables.verdicts import MISSING
from experiments.tables.weighted import (
    BUDGET_DATASETS,
    MULTI_WEIGHTED,
    NEAR_ZERO,
    SHARES,
    WEIGHTED_TABLES,
    budget_line,
)


def render_gains(results: Results) -> str:
    """Render the F1 with importance parameters minus the F1 without, as Markdown."""
    table = WEIGHTED_TABLES["budgets"]
    header = ["rows", *(f"{name}, {g.split}" for name in BUDGET_DATASETS for g in table.groups)]
    lines = [[share, *_gains(results, share)] for share in SHARES]
    title = (
        f"**F1 of {MULTI_WEIGHTED} minus F1 of {MULTI_HASH}, with equally many parameters.** "
        "Importance starts near zero. Rows are the default ones, or a share of them."
    )
    return with_note(f"{title}\n\n{markdown(header, lines, left=(0,))}")


def _gains(results: Results, share: str) -> Iterator[str]:
    table = WEIGHTED_TABLES["budgets"]
    for dataset in BUDGET_DATASETS:
        for group in table.groups:
            found = conclude(results, table, dataset, _comparison(group, share))
            text = signed(found.ours, METRICS[group.metric].ours, with_margin=True)
            yield MISSING if found.ours is None else f"{text}, {marked(found)}"


def _comparison(group: Group, share: str) -> Comparison:
    first, second = ((group, budget_line(share, name)) for name in (NEAR_ZERO, MULTI_HASH))
    return Comparison(first, second, share)
