"""What tables declare: arms, runs, facts of their lines, and the report's numbers."""

import re

from experiments.arms.tasks import CRF, TASKS
from experiments.runs.grid import Run, run_config
from experiments.runs.plan import make_grid
from experiments.tables.markdown import needed_runs
from experiments.tables.report import OURS
from experiments.tables.results_page import TABLES
from experiments.tables.statistics import Results, Stat, read_report, report_stats
from experiments.tables.table import DATASETS, STAND_IN, arm_and_step
from tests.helpers.results import ALL_TABLES, REPORT


def test_declared_arms_are_those_of_the_task() -> None:
    for table in ALL_TABLES:
        names = {name for group in table.groups for name in group.arms.values() if name}
        arms = {arm_and_step(name)[0] for name in names}
        for dataset in table.datasets:
            assert arms <= set(TASKS[dataset].arms), (table.name, dataset)


def test_every_run_that_a_table_needs_is_in_the_grid() -> None:
    planned = {run.name for run in make_grid()}
    for table in ALL_TABLES:
        assert needed_runs(table) <= planned, table.name


def test_comparisons_of_a_table_have_labels_of_their_own() -> None:
    for table in ALL_TABLES:
        labels = [comparison.label for comparison in table.comparisons]
        assert len({*labels}) == len(labels), table.name


def test_facts_of_a_table_are_of_its_lines() -> None:
    for table in ALL_TABLES:
        for column in table.facts.values():
            assert set(column) <= set(table.groups[0].arms), table.name


def test_arms_of_a_table_of_seeds_are_what_its_lines_and_titles_say() -> None:
    for name in ("dead-seed", "table-13", "table-14", "hashes-of-test"):
        for group in TABLES[name].groups:
            assert group.title.endswith(("our seeds", "spaCy's seeds"))
            for line, arm in group.arms.items():
                config = run_config(Run(STAND_IN, arm or ""))
                embed = config["components"]["tok2vec"]["model"]["embed"]
                hashes, rows = map(int, re.findall(r"\d+", f"{line} 5000")[:2])
                assert (embed["num_hashes"], embed["rows"][0]) == (hashes, rows), arm
                theirs = [8, 9, 10, 11] if group.title.endswith("spaCy's seeds") else None
                assert embed["seeds"] == theirs, arm


def test_report_has_every_number_that_is_declared() -> None:
    report = report_stats(read_report(REPORT))
    results = Results(frozenset(), {}, report)
    for table in TABLES.values():
        for group in table.groups:
            found = {
                results.reported(table, group, dataset, line) is not None
                for dataset in table.datasets
                for line in group.arms
                if dataset in DATASETS and line != OURS
            }
            assert found <= {group.report}, (table.name, group.header)
    assert report["9", "anem", "MultiEmbed", "all", "r"] == Stat(0.36, 0.03, 3)
    assert report["12", "conll-nl", "MultiEmbed", "unseen", "f"] == Stat(0.73, 0.03, 3)
    assert report["15", "wnut17", "MultiEmbed min_freq=5", "all", "f"] == Stat(0.23, None, 3)
    assert report["2", "conll-nl", "ORTH", "seen", "error_increase"] == Stat(160, None, 3)


def test_runs_of_a_crf_count_once() -> None:
    needed = needed_runs(TABLES["other-taggers"])
    assert len([name for name in needed if f"/{CRF}/" in name]) == 7
    assert len(needed) == 7 + 3 * 7 * 3
