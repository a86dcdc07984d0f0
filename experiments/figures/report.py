"""The figures of docs/results.md, in the style of the report's."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from experiments.figures.bars import NumbersT, Pair, bar_figure
from experiments.figures.drawing import (
    BLUE,
    GREEN,
    ORANGE,
    REPORT_LABEL,
    REPORT_SERIES,
    SKY,
    Series,
)
from experiments.figures.lines import Panel, line_figure
from experiments.tables.report import MULTI, MULTI_HASH
from experiments.tables.results_page import TABLES
from experiments.tables.table import STAND_IN, WITH_STAND_IN, Group, Table

if TYPE_CHECKING:
    from experiments.tables.statistics import Results

ADJUSTED_ROWS = f"{MULTI_HASH}, adjusted rows"
BAR_LOOKS = {
    MULTI_HASH: Series(BLUE),
    ADJUSTED_ROWS: Series(SKY, hatch="xx"),
    MULTI: Series(GREEN, hatch="////"),
}
# The name, the table and the line of each series, by the title of each panel.
SEEN: Mapping[str, Sequence[tuple[str, str, str]]] = {
    "no vectors": (
        (MULTI_HASH, "table-9", MULTI_HASH),
        (ADJUSTED_ROWS, "table-10", MULTI_HASH),
        (MULTI, "table-9", MULTI),
    ),
    "static vectors": (
        (MULTI_HASH, "table-7", MULTI_HASH),
        (ADJUSTED_ROWS, "table-8", MULTI_HASH),
        (MULTI, "table-7", MULTI),
    ),
}
UNSEEN: Mapping[str, Sequence[tuple[str, str, str]]] = {
    "no vectors": ((MULTI_HASH, "table-11", MULTI_HASH), (MULTI, "table-11", MULTI)),
    "static vectors": ((MULTI_HASH, "table-12", MULTI_HASH), (MULTI, "table-12", MULTI)),
}
SEED_LOOKS = {"our seeds": Series(BLUE), "spaCy's seeds": Series(ORANGE, marker="s", line="--")}
LABELS = {
    name: f"{name}\n(not in the report)" if name == STAND_IN else name for name in WITH_STAND_IN
}


def _numbers(
    results: "Results", panels: Mapping[str, Sequence[tuple[str, str, str]]]
) -> dict[str, NumbersT]:
    """Return our numbers and the report's of each panel."""
    return {
        title: {label: _pairs(results, TABLES[table], line) for label, table, line in series}
        for title, series in panels.items()
    }


def _pairs(results: "Results", table: Table, line: str) -> dict[str, Pair]:
    """Return our number and the report's in a line of a table, by data set."""
    group = table.groups[-1]
    return {
        dataset: Pair(
            results.ours(table, group, dataset, line),
            results.reported(table, group, dataset, line),
        )
        for dataset in table.datasets
    }


def dataset_panels(
    results: "Results", table: Table, names: Mapping[str, Group], vectors: str
) -> list[Panel]:
    """Make a panel for each data set of a table, of our groups and the report's numbers.

    names (Mapping[str, Group]): Our groups by their names in the legend.
    vectors (str): What titles say of vectors.
    """
    panels = []
    for dataset in table.datasets:
        ours = {
            name: [results.ours(table, group, dataset, line) for line in group.arms]
            for name, group in names.items()
        }
        group = table.groups[-1]
        report = [results.reported(table, group, dataset, line) for line in group.arms]
        panels.append(Panel(f"{dataset}, {vectors}", ours, {REPORT_LABEL: report}))
    return panels


def _hashes_figure(results: "Results") -> dict[str, bytes]:
    panels = []
    for vectors, name in (("no vectors", "table-13"), ("static vectors", "table-14")):
        table = TABLES[name]
        groups = dict(zip(SEED_LOOKS, table.groups, strict=True))
        panels += dataset_panels(results, table, groups, vectors)
    return line_figure(
        "figure-5",
        f"F1 by the number of hash functions ({STAND_IN} is not in the report)",
        ("1", "2", "3", "4"),
        ("hash functions", "dev F1"),
        panels,
        {**SEED_LOOKS, REPORT_LABEL: REPORT_SERIES},
        columns=4,
    )


def _min_freq_figure(results: "Results") -> dict[str, bytes]:
    panels = []
    for vectors, name in (("no vectors", "table-15"), ("static vectors", "table-16")):
        table = TABLES[name]
        panels += dataset_panels(results, table, {"ours": table.groups[0]}, vectors)
    return line_figure(
        "figure-6",
        f"F1 of {MULTI_HASH} (hash), and of {MULTI} by min_freq (10, 5, 1)",
        ("hash", "10", "5", "1"),
        ("hash, or min_freq", "dev F1"),
        panels,
        {"ours": Series(BLUE), REPORT_LABEL: REPORT_SERIES},
        columns=4,
    )


def dead_seed_figure(results: "Results") -> dict[str, bytes]:
    """Draw F1 with one and with two hash functions by the rows of NORM."""
    table = TABLES["dead-seed"]
    lines = list(table.groups[0].arms)
    half = len(lines) // 2
    panels = []
    for i, split in enumerate(("dev", "test")):
        groups = dict(zip(SEED_LOOKS, table.groups[2 * i : 2 * i + 2], strict=True))
        for hashes, part in (
            ("1 hash function", lines[:half]),
            ("2 hash functions", lines[half:]),
        ):
            ours = {
                name: [results.ours(table, group, STAND_IN, line) for line in part]
                for name, group in groups.items()
            }
            panels.append(Panel(f"{split}, {hashes}", ours))
    return line_figure(
        "dead-seed",
        f"F1 on {STAND_IN} by the rows of NORM, with spaCy's dead seed and with ours",
        ("5000", "2500", "1000"),
        ("rows of NORM", "F1"),
        panels,
        SEED_LOOKS,
        columns=4,
    )


def make_figures(results: "Results") -> dict[str, bytes]:
    """Draw all figures except Figure 7, and return the contents of each file by its name.

    results (Results): Our numbers, any of which may be missing, and the report's.
    """
    seen, unseen = (_numbers(results, panels) for panels in (SEEN, UNSEEN))
    titles = (
        "F1 on the test set, by data set and embedding",
        "F1 on the test set's entities that are not in training, by data set and embedding",
    )
    return {
        **bar_figure("figure-3", titles[0], "test F1", seen, LABELS, BAR_LOOKS),
        **bar_figure("figure-4", titles[1], "test F1, unseen", unseen, LABELS, BAR_LOOKS),
        **_hashes_figure(results),
        **_min_freq_figure(results),
        **dead_seed_figure(results),
    }
