"""Make the tables and figures of docs/results.md from results/, beside the report's."""

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Optional

import typer
from corpus_tables import corpus_tables, read_corpora
from grid import CRF
from report_tables import METRICS, SEEDS, STAND_IN, TABLES, Comparison, Group, Table
from result_files import RESULTS
from run_results import (
    MISSING,
    RULE,
    VERDICTS,
    Difference,
    Results,
    Stat,
    difference,
    load,
    read_report,
    verdict,
)
from wasabi import msg

from spacy_multihash.files import write_bytes

REPORT = Path("results") / "report_tables.json"
CORPORA = Path("results") / "corpora"
PAGE = Path("docs") / "results.md"
NONE = "–"


def conclude(
    results: Results, table: Table, dataset: str, comparison: Comparison
) -> tuple[Optional[Difference], Optional[Difference], str]:
    """Return our difference, the report's, and the verdict."""
    differences = []
    for look_up in (results.ours, results.reported):
        first, second = (
            side and look_up(table, side[0], dataset, side[1])
            for side in (comparison.first, comparison.second)
        )
        zero = Stat(0.0, 0.0, 1) if comparison.second is None else second
        differences.append(difference(first, zero))
    ours, report = differences
    return ours, report, verdict(ours, report, METRICS[comparison.first[0].metric].tie)


def needed_runs(table: Table) -> set[str]:
    """Return the names of the runs that a table is made of."""
    arms = {arm for group in table.groups for arm in group.arms.values() if arm}
    return {
        f"{dataset}/{arm}/{table.vectors_of(dataset)}/seed{seed}"
        for dataset in table.datasets
        for arm in arms
        for seed in (SEEDS[:1] if arm == CRF else SEEDS)
    }


def render_table(results: Results, table: Table) -> str:
    """Write a table and what is concluded from it as Markdown."""
    number = f"Table {table.number}. " if table.number else ""
    needed = needed_runs(table)
    count = f"{len(needed & results.runs)} of {len(needed)} runs."
    parts = [
        f"**{number}{table.title}.** {count} {table.note}".rstrip(),
        _numbers_table(results, table),
    ]
    conclusions = [
        (dataset, comparison, *conclude(results, table, dataset, comparison))
        for dataset in table.datasets
        for comparison in table.comparisons
    ]
    if conclusions:
        counts = _count_verdicts(line[-1] for line in conclusions)
        lines = [
            (
                _dataset_label(table, dataset),
                comparison.label,
                _signed(ours, METRICS[comparison.first[0].metric].ours, with_margin=True),
                _signed(report, METRICS[comparison.first[0].metric].report),
                outcome,
            )
            for dataset, comparison, ours, report, outcome in conclusions
        ]
        header = ("data set", "comparison", "ours, 95 % interval", "report", "verdict")
        body = _markdown(header, lines, left=(0, 1, 4))
        parts.append(f"<details>\n<summary>Conclusions: {counts}</summary>\n\n{body}\n\n</details>")
    return "\n\n".join(parts)


def render_summary(results: Results) -> str:
    """Write the rule of conclusions, and how many runs and verdicts each table has."""
    needed = {table.name: needed_runs(table) for table in TABLES.values()}
    every = set().union(*needed.values())
    lines = []
    for table in TABLES.values():
        outcomes = (
            conclude(results, table, dataset, comparison)[-1]
            for dataset in table.datasets
            for comparison in table.comparisons
        )
        runs = f"{len(needed[table.name] & results.runs)} of {len(needed[table.name])}"
        title = f"{table.number} " if table.number else ""
        lines.append((title + table.title, runs, _count_verdicts(outcomes)))
    body = _markdown(("table", "runs", "conclusions"), lines, left=(0, 2))
    return f"{len(every & results.runs)} of {len(every)} runs.\n\n{RULE}\n{body}"


def _count_verdicts(outcomes: Iterable[str]) -> str:
    counts = Counter(outcomes)
    return ", ".join(f"{counts[name]} {name}" for name in VERDICTS if counts[name]) or NONE


def _numbers_table(results: Results, table: Table) -> str:
    header, lines = ["data set", table.lines], []
    for group, counted in _with_counts(table):
        report = ["report", "difference"] if group.report else []
        header += [*(["n"] if counted else []), group.header, *report]
    for dataset in table.datasets:
        for line in table.groups[0].arms:
            cells = [_dataset_label(table, dataset), line]
            for group, counted in _with_counts(table):
                ours = results.ours(table, group, dataset, line)
                cells += [str(ours.n if ours else 0)] if counted else []
                cells += _cells(ours, results.reported(table, group, dataset, line), group)
            lines.append(cells)
    return _markdown(header, lines, left=(0, 1))


def _with_counts(table: Table) -> Iterator[tuple[Group, bool]]:
    """Yield the groups, and whether the number of runs goes before it: it is of other arms."""
    before: Optional[Group] = None
    for group in table.groups:
        yield group, before is None or before.arms != group.arms
        before = group


def _cells(ours: Optional[Stat], report: Optional[Stat], group: Group) -> list[str]:
    metric = METRICS[group.metric]
    cells = [_stat(ours, metric.ours, MISSING)]
    if group.report:
        cells += [
            _stat(report, metric.report, NONE),
            _signed(difference(ours, report), metric.ours),
        ]
    return cells


def _stat(stat: Optional[Stat], spec: str, absent: str) -> str:
    if stat is None:
        return absent
    if stat.n == 1:
        return f"{stat.mean:{spec}} (n=1)"
    sd = "" if stat.sd is None else f" ± {stat.sd:{spec.lstrip('+')}}"
    return f"{stat.mean:{spec}}{sd}"


def _signed(value: Optional[Difference], spec: str, *, with_margin: bool = False) -> str:
    if value is None:
        return NONE
    spec = spec.lstrip("+")
    if with_margin and value.margin is not None:
        return f"{value.value:+{spec}} ± {value.margin:{spec}}"
    return f"{value.value:+{spec}}"


def _dataset_label(table: Table, dataset: str) -> str:
    if table.vectors:
        return f"{dataset} ({table.vectors_of(dataset)})"
    return f"{dataset} (not in the report)" if table.number and dataset == STAND_IN else dataset


def _markdown(header: Sequence[str], lines: Iterable[Sequence[str]], left: Sequence[int]) -> str:
    rule = ["---" if column in left else "--:" for column in range(len(header))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (header, rule, *lines))


def fill(page: str, blocks: Mapping[str, str], path: Path) -> str:
    """Put blocks between their markers, in place of what is there.

    page (str): The text of the page.
    blocks (Mapping[str, str]): The Markdown for each name.
    path (Path): The file, for the messages.

    Raises ValueError unless every block has its two markers once, and every marker a block.
    """
    marked = re.findall(r"<!-- (?:begin|end): (.+?) -->", page)
    unknown = set(marked) - set(blocks)
    if unknown:
        raise ValueError(
            f"{path} has markers of unknown tables: {', '.join(sorted(unknown))}. Remove them, or "
            f"take one of: {', '.join(blocks)}."
        )
    for name, block in blocks.items():
        begin, end = f"<!-- begin: {name} -->", f"<!-- end: {name} -->"
        head, *rest = page.split(begin)
        _, *tail = rest[0].split(end) if rest else [""]
        if len(rest) != 1 or len(tail) != 1 or end in head:
            raise ValueError(
                f"{path} must have the line '{begin}' once and '{end}' once below it. Add them "
                "where the table belongs."
            )
        page = f"{head}{begin}\n\n{block}\n\n{end}{tail[0]}"
    return page


def collate(folder: Path, corpora: Path, report: Path, output: Path) -> Results:
    """Make all tables of the page, and the figures beside it.

    folder (Path): The results of runs, as `read_results` reads them.
    corpora (Path): The statistics of corpora, as `read_corpora` reads them.
    report (Path): The report's tables as data.
    output (Path): The page, with two markers for each table. Figures go to figures/ beside it.

    Nothing is written if anything of it cannot be made.
    """
    from plots import make_figures

    if not output.is_file():
        raise FileNotFoundError(f"There is no page {output}. Write it, with a marker a table.")
    results = load(folder, report)
    blocks = {"summary": render_summary(results)}
    blocks |= {name: render_table(results, table) for name, table in TABLES.items()}
    for name, lines in corpus_tables(read_corpora(corpora), read_report(report)).items():
        blocks[name] = _markdown(lines[0], lines[1:], left=(0,))
    page = fill(output.read_text(encoding="utf8"), blocks, output)
    for name, data in make_figures(results).items():
        write_bytes(output.parent / "figures" / name, data)
    write_bytes(output, page.encode("utf8"))
    return results


def collate_cli(
    folder: Annotated[Path, typer.Argument(metavar="RESULTS", help="Folder of results")] = RESULTS,
    corpora: Annotated[Path, typer.Option(help="Folder of statistics of corpora")] = CORPORA,
    report: Annotated[Path, typer.Option(help="The report's tables as JSON")] = REPORT,
    output: Annotated[
        Path, typer.Option(help="Page whose tables are replaced; figures go to figures/ beside it")
    ] = PAGE,
) -> None:
    """Make all tables and figures of the results, beside the report's numbers.

    What was not run is shown as missing.

    DOCS: docs/results.md
    """
    try:
        results = collate(folder, corpora, report, output)
    except ImportError as error:
        advice = "Install what is needed: python -m pip install -e '.[plots]'"
        msg.fail("Could not make the results", f"{error}. {advice}", exits=1)
    except (OSError, ValueError) as error:
        msg.fail("Could not make the results", str(error), exits=1)
    msg.good(f"Put the tables of {len(results.runs)} runs into {output}")
    msg.text("Figure 7 is not made: it compares fastText's vectors, which were not run.")


if __name__ == "__main__":
    typer.run(collate_cli)
