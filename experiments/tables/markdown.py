"""The tables of results as Markdown: numbers, missing runs and conclusions."""

from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from textwrap import fill
from typing import Optional

from experiments.runs.grid import seeds_of
from experiments.tables.bootstrap import Interval
from experiments.tables.conclusions import Conclusion, conclude_all
from experiments.tables.differences import Difference, difference
from experiments.tables.results_page import TABLES
from experiments.tables.statistics import Results, Stat, number_key
from experiments.tables.table import METRICS, STAND_IN, Comparison, Group, Table, arm_and_step
from experiments.tables.verdicts import DIFFERS, MACHINES, MISSING, NOISE, RULE, SAME, VERDICTS

NONE = "–"
UNRECORDED, MIXED, DISPUTED, OF_THESE, MISSES = "†", "◊", "‡", "§", "¶"
UNRECORDED_NOTE = f"{UNRECORDED} with runs that have no record of machine and code."
MIXED_NOTE = f"{MIXED} with runs of different code: a module has changed between them."
DISPUTED_NOTE = f"{DISPUTED} the paired interval would decide otherwise."
OF_THESE_NOTE = f"{OF_THESE} the interval over sentences holds 0."
MISSES_NOTE = (
    f"{MISSES} the report's difference is outside our interval, widened by its rounding, and by "
    "its deviations where it prints them."
)
INTERVALS = ("ours, 95 % interval", "paired, 95 %", "sentences, 95 %")


def needed_runs(table: Table) -> set[str]:
    """Return the names of the runs that a table is made of."""
    lines = {name for group in table.groups for name in group.arms.values() if name}
    arms = {arm_and_step(name)[0] for name in lines}
    return {
        f"{dataset}/{arm}/{table.vectors_of(dataset)}/seed{seed}"
        for dataset in table.datasets
        for arm in arms
        for seed in seeds_of(dataset, arm)
    }


def render_table(results: Results, table: Table) -> str:
    """Render a table and its conclusions as Markdown."""
    number = f"Table {table.number}. " if table.number else ""
    needed = needed_runs(table)
    count = f"{len(needed & results.runs)} of {len(needed)} runs."
    parts = [f"**{number}{table.title}.** {count} {table.note}".rstrip()]
    present = [dataset for dataset in table.datasets if _has_numbers(results, table, dataset)]
    if present:
        parts.append(_numbers_table(results, table, present))
    marks = {UNRECORDED: UNRECORDED_NOTE, MIXED: MIXED_NOTE}
    if notes := [note for mark, note in marks.items() if mark in parts[-1]]:
        parts.append("\n".join(notes))
    if absent := [dataset for dataset in table.datasets if dataset not in present]:
        parts.append(f"Numbers of {', '.join(absent)} are missing.")
    conclusions = list(conclude_all(results, table))
    if conclusions:
        counts = _count_verdicts(found.verdict for *_, found in conclusions)
        compared = [line for line in conclusions if line[-1].verdict not in (MISSING, MACHINES)]
        body = _conclusions_table(table, compared)
        parts.append(
            f"<details>\n<summary>Conclusions: {counts}</summary>\n\n{body}\n\n</details>"
            if compared
            else f"Conclusions: {counts}."
        )
    return "\n\n".join(parts)


def _has_numbers(results: Results, table: Table, dataset: str) -> bool:
    return any(
        results.ours(table, group, dataset, line) for group in table.groups for line in group.arms
    )


def _conclusions_table(table: Table, lines: Sequence[tuple[str, Comparison, Conclusion]]) -> str:
    report = ["report"] if any(group.report for group in table.groups) else []
    header = ("data set", "comparison", *INTERVALS, *report, "verdict")
    body = []
    for dataset, comparison, found in lines:
        metric = METRICS[comparison.first[0].metric]
        differences = (found.ours, found.paired)
        cells = [
            _dataset_label(table, dataset),
            comparison.label,
            *(signed(value, metric.ours, with_margin=True) for value in differences),
            _interval(found.sentences, metric.ours),
            *([signed(found.report, metric.report)] if report else []),
            marked(found),
        ]
        body.append(cells)
    return with_note(markdown(header, body, left=(0, 1, len(header) - 1)))


def marked(found: Conclusion) -> str:
    """Return a verdict, with marks of what the verdict alone does not say."""
    marks = {
        DISPUTED: found.disputed,
        OF_THESE: found.of_these_sentences,
        MISSES: found.misses_report,
    }
    return " ".join([found.verdict, *(mark for mark, is_so in marks.items() if is_so)])


def with_note(body: str) -> str:
    """Add a note on the marks of a table, if it has some."""
    notes = {DISPUTED: DISPUTED_NOTE, OF_THESE: OF_THESE_NOTE, MISSES: MISSES_NOTE}
    found = "\n".join(note for mark, note in notes.items() if mark in body)
    return f"{body}\n\n{found}" if found else body


def _interval(interval: Optional[Interval], spec: str) -> str:
    spec = spec.lstrip("+")
    return NONE if interval is None else f"{interval.low:+{spec}} to {interval.high:+{spec}}"


def render_summary(results: Results) -> str:
    """Render the rule of the verdicts, and the counts of runs and verdicts of each table."""
    needed = {table.name: needed_runs(table) for table in TABLES.values()}
    every = set().union(*needed.values())
    lines = []
    for table in TABLES.values():
        outcomes = (found.verdict for *_, found in conclude_all(results, table))
        runs = f"{len(needed[table.name] & results.runs)} of {len(needed[table.name])}"
        title = f"{table.number} " if table.number else ""
        lines.append((title + table.title, runs, _count_verdicts(outcomes)))
    body = markdown(("table", "runs", "conclusions"), lines, left=(0, 2))
    have = len(every & results.runs)
    share = f"Of the {len(every)} runs that the tables of this page need, {have} have results."
    return f"{share}\n\n{RULE}\n{body}"


def render_agreement(results: Results) -> str:
    """Say in three sentences how many differences have the report's ordering."""
    found = [
        one
        for table in TABLES.values()
        for *_, one in conclude_all(results, table)
        if one.report and one.verdict in (SAME, NOISE, DIFFERS)
    ]
    counts = Counter(one.verdict for one in found)
    missed = [one for one in found if one.misses_report]
    of_verdict = Counter(one.verdict for one in missed)
    alone = sum(one.report is not None and one.report.margin is None for one in missed)
    lines = (
        f"Of {len(found)} differences that the report has too, and of which we have several seeds, "
        f"{counts[SAME]} have its ordering, {counts[NOISE]} are within noise, and the ordering of "
        f"{counts[DIFFERS]} is another.",
        f"Of these three groups, {of_verdict[SAME]}, {of_verdict[NOISE]} and "
        f"{of_verdict[DIFFERS]} have the report's number outside our interval ({MISSES}).",
        f"For {alone} of these {len(missed)}, the report prints no deviations, so that its own "
        "noise is left out.",
    )
    return fill(" ".join(lines), 100)


def _count_verdicts(outcomes: Iterable[str]) -> str:
    counts = Counter(outcomes)
    return ", ".join(f"{counts[name]} {name}" for name in VERDICTS if counts[name]) or NONE


def _numbers_table(results: Results, table: Table, datasets: Sequence[str]) -> str:
    header, lines = ["data set", table.lines, *table.facts], []
    for group, counted in _with_counts(table):
        report = ["report", "difference"] if group.report else []
        header += [*(["n"] if counted else []), group.header, *report]
    for dataset in datasets:
        for line in table.groups[0].arms:
            facts = [column.get(line, NONE) for column in table.facts.values()]
            cells = [_dataset_label(table, dataset), line, *facts]
            n = 0
            for group, counted in _with_counts(table):
                ours = results.ours(table, group, dataset, line)
                if counted:
                    n = ours.n if ours else 0
                    cells.append(f"{n}{_marks(results, table, group, dataset, line)}")
                cells += _cells(ours, results.reported(table, group, dataset, line), group, n)
            lines.append(cells)
    return markdown(header, lines, left=(0, 1))


def _marks(results: Results, table: Table, group: Group, dataset: str, line: str) -> str:
    """Return marks if some runs have no record, or other code than others."""
    runs = results.facts_of(number_key(table, group, dataset, line))
    unrecorded = "" if all(run.recorded for run in runs.values()) else UNRECORDED
    mixed = MIXED if len({run.code for run in runs.values() if run.recorded}) > 1 else ""
    return unrecorded + mixed


def _with_counts(table: Table) -> Iterator[tuple[Group, bool]]:
    """Yield each group, and whether the number of runs goes before it, as its arms are new."""
    before: Optional[Group] = None
    for group in table.groups:
        yield group, before is None or before.arms != group.arms
        before = group


def _cells(ours: Optional[Stat], report: Optional[Stat], group: Group, n: int) -> list[str]:
    """Return our number, with its own n if that is another than n, and those of the report."""
    metric = METRICS[group.metric]
    cells = [_stat(ours, metric.ours, MISSING)]
    if ours and ours.n not in (1, n):  # a single run is marked already
        cells[0] += f" (n={ours.n})"
    if group.report:
        cells += [
            _stat(report, metric.report, NONE),
            signed(difference(ours, report), metric.ours),
        ]
    return cells


def _stat(stat: Optional[Stat], spec: str, absent: str) -> str:
    if stat is None:
        return absent
    if stat.n == 1:
        return f"{stat.mean:{spec}} (n=1)"
    sd = "" if stat.sd is None else f" ± {stat.sd:{spec.lstrip('+')}}"
    return f"{stat.mean:{spec}}{sd}"


def signed(value: Optional[Difference], spec: str, *, with_margin: bool = False) -> str:
    """Format a difference with its sign, and with its margin if that is known."""
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


def markdown(header: Sequence[str], lines: Iterable[Sequence[str]], left: Sequence[int]) -> str:
    """Format a table as Markdown. The columns in `left` are aligned left, the others right."""
    rule = ["---" if column in left else "--:" for column in range(len(header))]
    return "\n".join(f"| {' | '.join(cells)} |" for cells in (header, rule, *lines))
