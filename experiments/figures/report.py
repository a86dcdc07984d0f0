"""The figures of docs/results.md, in the style of the report's."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Optional

from experiments.figures.drawing import (
    BLACK,
    BLUE,
    GREEN,
    ORANGE,
    Series,
    draw_legend,
    limits,
    new_figure,
    save_figure,
)
from experiments.figures.lines import Panel, line_figure
from experiments.tables.report import TABLES
from experiments.tables.table import STAND_IN, WITH_STAND_IN, Group, Table

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from experiments.tables.statistics import Results, Stat

REPORT_LABEL = "the report"
REPORT_SERIES = Series(BLACK, marker="D", line=":", hollow=True)


def draw_bars(
    ax: "Axes",
    labels: Sequence[str],
    ours: Mapping[str, Sequence[Optional["Stat"]]],
    report: Mapping[str, Sequence[Optional["Stat"]]],
    looks: Mapping[str, Series],
) -> None:
    """Draw our numbers as groups of bars, and the report's as hollow markers on them.

    labels (Sequence[str]): The label of each group.
    ours, report (Mapping): The numbers of each series, one for each group, or None if missing.
    looks (Mapping[str, Series]): How each series looks.
    """
    width = 0.8 / len(ours)
    for i, name in enumerate(ours):
        shift = (i - (len(ours) - 1) / 2) * width
        for x, stat in enumerate(ours[name]):
            if stat is not None:
                ax.bar(x + shift, stat.mean, width * 0.92, **looks[name].of_bars())
                ax.errorbar(
                    x + shift - 0.2 * width,
                    stat.mean,
                    yerr=limits(stat),
                    color=BLACK,
                    capsize=1.5,
                    linewidth=0.9,
                )
        for x, stat in enumerate(report[name]):
            if stat is not None:
                ax.errorbar(
                    x + shift + 0.15 * width,
                    stat.mean,
                    yerr=limits(stat),
                    elinewidth=0.8,
                    **{**REPORT_SERIES.of_lines(), "linestyle": "none"},
                )
    for x in range(len(labels)):
        if all(stats[x] is None for stats in ours.values()):
            ax.text(x, 0.02, "missing", ha="center", color="#767676", fontsize=7)
    ax.set_xticks(range(len(labels)), labels)
    ax.set_ylim(0, 1)
    ax.tick_params(axis="x", length=0)


def _numbers(
    results: "Results", table: Table, group: Group, datasets: Sequence[str], line: str
) -> tuple[list[Optional["Stat"]], list[Optional["Stat"]]]:
    """Return our numbers of a line of a table, and the report's, one for each data set."""
    known = [dataset if dataset in table.datasets else None for dataset in datasets]
    return (
        [results.ours(table, group, name, line) if name else None for name in known],
        [results.reported(table, group, name, line) if name else None for name in known],
    )


def bar_figure(
    results: "Results",
    name: str,
    ylabel: str,
    rows: Sequence[tuple[str, Sequence[tuple[str, str, str]]]],
    looks: Mapping[str, Series],
) -> dict[str, bytes]:
    """Draw bars of F1 by data set, with one row of bars above the other.

    name (str): The name of the files.
    ylabel (str): The label of the y axes.
    rows (Sequence): The title of each row, and the name, table and line of each of its series.
    looks (Mapping[str, Series]): How each series looks.
    """
    drawn: set[str] = set()
    with new_figure(7.2, 4.8) as figure:
        for ax, (title, series) in zip(figure.subplots(len(rows)), rows, strict=True):
            tables = [TABLES[table] for _, table, _ in series]
            datasets = [
                dataset
                for dataset in WITH_STAND_IN
                if any(dataset in table.datasets for table in tables)
            ]
            numbers = {
                label: _numbers(results, table, table.groups[-1], datasets, line)
                for (label, _, line), table in zip(series, tables, strict=True)
            }
            labels = [f"{d}\n(not in the report)" if d == STAND_IN else d for d in datasets]
            ours, report = ({label: pair[i] for label, pair in numbers.items()} for i in (0, 1))
            draw_bars(ax, labels, ours, report, looks)
            drawn |= {label for label, stats in ours.items() if any(stats)}
            ax.set_xlim(-0.6, len(WITH_STAND_IN) - 0.4)  # data sets align between rows
            ax.set_title(title, loc="left")
            ax.set_ylabel(ylabel)
        shown = {
            label if label in drawn else f"{label} (missing)": look for label, look in looks.items()
        }
        draw_legend(figure, {**shown, REPORT_LABEL: REPORT_SERIES}, bars=True)
        return save_figure(figure, name)


def dataset_panels(
    results: "Results",
    table: Table,
    names: Mapping[str, Group],
    datasets: Sequence[str],
) -> list[Optional[Panel]]:
    """Make a panel for each data set, of our groups and the report's numbers, or None.

    names (Mapping[str, Group]): Our groups by their names in the legend.
    datasets (Sequence[str]): The data sets. One that is not in the table has no panel.
    """
    panels: list[Optional[Panel]] = []
    for dataset in datasets:
        if dataset not in table.datasets:
            panels.append(None)
            continue
        series = {
            name: [results.ours(table, group, dataset, line) for line in group.arms]
            for name, group in names.items()
        }
        group = table.groups[-1]
        series[REPORT_LABEL] = [
            results.reported(table, group, dataset, line) for line in group.arms
        ]
        title = f"{dataset}\n(not in the report)" if dataset == STAND_IN else dataset
        panels.append(Panel(title, series))
    return panels


ROWS = ("dev F1 ± sd, no vectors", "dev F1 ± sd, static vectors")
SEED_LOOKS = {"our seeds": Series(BLUE), "spaCy's seeds": Series(ORANGE, marker="s", line="--")}


def _hashes_figure(results: "Results") -> dict[str, bytes]:
    rows = {}
    for label, name in zip(ROWS, ("table-13", "table-14"), strict=True):
        groups = dict(zip(SEED_LOOKS, TABLES[name].groups, strict=True))
        rows[label] = dataset_panels(results, TABLES[name], groups, WITH_STAND_IN)
    looks = {**SEED_LOOKS, REPORT_LABEL: REPORT_SERIES}
    return line_figure("figure-5", ("1", "2", "3", "4"), "hash functions", rows, looks)


def _min_freq_figure(results: "Results") -> dict[str, bytes]:
    looks = {"ours": Series(BLUE), REPORT_LABEL: REPORT_SERIES}
    rows = {}
    for label, name in zip(ROWS, ("table-15", "table-16"), strict=True):
        table = TABLES[name]
        rows[label] = dataset_panels(results, table, {"ours": table.groups[0]}, table.datasets)
    ticks = ("hash", "10", "5", "1")
    xlabel = "MultiHashEmbed (hash), or MultiEmbed with min_freq 10, 5 and 1"
    return line_figure("figure-6", ticks, xlabel, rows, looks)


def dead_seed_figure(results: "Results") -> dict[str, bytes]:
    """Draw F1 with one and with two hash functions by the rows of NORM."""
    table = TABLES["dead-seed"]
    lines = list(table.groups[0].arms)
    half = len(lines) // 2
    rows: dict[str, list[Optional[Panel]]] = {}
    for i, split in enumerate(("dev", "test")):
        groups = dict(zip(SEED_LOOKS, table.groups[2 * i : 2 * i + 2], strict=True))
        rows[f"{split} F1 ± sd, {STAND_IN}"] = [
            Panel(
                title,
                {
                    name: [results.ours(table, group, STAND_IN, line) for line in part]
                    for name, group in groups.items()
                },
            )
            for title, part in (
                ("1 hash function", lines[:half]),
                ("2 hash functions", lines[half:]),
            )
        ]
    return line_figure("dead-seed", ("5000", "2500", "1000"), "rows of NORM", rows, SEED_LOOKS)


def make_figures(results: "Results") -> dict[str, bytes]:
    """Draw all figures except Figure 7, and return the contents of each file by its name.

    results (Results): Our numbers, any of which may be missing, and the report's.
    """
    hash_embed, adjusted, multi = "MultiHashEmbed", "MultiHashEmbed, adjusted rows", "MultiEmbed"
    looks = {hash_embed: Series(BLUE), multi: Series(ORANGE, hatch="////")}
    looks_3 = {
        hash_embed: Series(BLUE),
        adjusted: Series(GREEN, hatch="xx"),
        multi: Series(ORANGE, hatch="////"),
    }
    titles = ("without static vectors", "with static vectors")
    rows_3, rows_4 = [], []
    for title, (default, fitted, unseen) in zip(titles, ((9, 10, 11), (7, 8, 12)), strict=True):
        first = (hash_embed, f"table-{default}", hash_embed)
        last = (multi, f"table-{default}", multi)
        rows_3.append((title, [first, (adjusted, f"table-{fitted}", hash_embed), last]))
        rows_4.append((title, [(name, f"table-{unseen}", name) for name in (hash_embed, multi)]))
    return {
        **bar_figure(results, "figure-3", "test F1 ± sd", rows_3, looks_3),
        **bar_figure(results, "figure-4", "unseen test F1 ± sd", rows_4, looks),
        **_hashes_figure(results),
        **_min_freq_figure(results),
        **dead_seed_figure(results),
    }
