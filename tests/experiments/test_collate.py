"""The tables of the results: numbers, verdicts, what is missing, and the page they are put into."""

import re
from math import sqrt
from pathlib import Path
from typing import Any, Optional

import pytest
import srsly
from hypothesis import given
from hypothesis import strategies as st

from experiments.arms.tasks import CRF, HASH_EMBED, TASKS
from experiments.runs.grid import Run, make_grid
from experiments.tables.report import OURS, TABLES
from experiments.tables.table import DATASETS
from tests.helpers.paths import ROOT
from tests.helpers.results import REPORT, write_result, write_results

pytest.importorskip("pandas", reason="pandas is not installed: pip install -e '.[plots]'")
pytest.importorskip("scipy", reason="scipy is not installed: pip install -e '.[plots]'")

from experiments import collate
from experiments.tables.gains import render_gains
from experiments.tables.markdown import needed_runs, render_summary, render_table
from experiments.tables.statistics import (
    FACTORS,
    NUMBER,
    Difference,
    Results,
    Stat,
    difference,
    load_results,
    read_report,
    read_results,
    report_stats,
    summarise,
    verdict,
)
from experiments.tables.weighted import WEIGHTED_TABLES

CORPORA = ROOT / "results" / "corpora"
MULTI_EMBED = "multi_embed"


def make_page(path: Path, names: Optional[list[str]] = None) -> Path:
    names = _names() if names is None else names
    blocks = [f"<!-- begin: {name} -->\nold\n<!-- end: {name} -->" for name in names]
    path.write_text("# Results\n\nBefore.\n\n" + "\n\nBetween.\n\n".join(blocks) + "\n\nAfter.\n")
    return path


def make_pages(folder: Path) -> Path:
    """Write all pages, and return that of the report's tables."""
    for name, tables in collate.PAGES.items():
        make_page(folder / name, [*tables, *(["gains"] if name == "weighted-results.md" else [])])
    return make_page(folder / collate.PAGE)


def _names() -> list[str]:
    return ["summary", *TABLES, "table-4", "table-5", "table-6"]


def rows_of(markdown: str, *cells: str) -> list[list[str]]:
    """Return the lines of Markdown tables that begin with some cells."""
    lines = [line.strip("| ").split(" | ") for line in markdown.splitlines() if line[:1] == "|"]
    return [line for line in lines if tuple(line[: len(cells)]) == cells]


ALL_TABLES = [*TABLES.values(), *(table for of in collate.PAGES.values() for table in of.values())]


def test_declared_arms_are_those_of_the_task() -> None:
    for table in ALL_TABLES:
        arms = {arm for group in table.groups for arm in group.arms.values() if arm is not None}
        for dataset in table.datasets:
            assert arms <= set(TASKS[dataset].arms), (table.name, dataset)


def test_every_run_that_a_table_needs_is_in_the_grid() -> None:
    planned = {run.name for run in make_grid()}
    for table in ALL_TABLES:
        assert needed_runs(table) <= planned, table.name


def test_facts_of_a_table_are_of_its_lines() -> None:
    for table in ALL_TABLES:
        for column in table.facts.values():
            assert set(column) <= set(table.groups[0].arms), table.name


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


@given(st.lists(st.floats(0, 1), min_size=1, max_size=5))
def test_mean_and_standard_deviation_are_those_over_seeds(f_scores: list[float]) -> None:
    import pandas as pd

    lines = [
        ("conll-es", "norm", "no-vectors", seed, "dev", "all", "f", f)
        for seed, f in enumerate(f_scores)
    ]
    columns = [*FACTORS, "seed", *NUMBER, "value"]
    (stat,) = summarise(pd.DataFrame(lines, columns=columns)).values()
    n = len(f_scores)
    mean = sum(f_scores) / n
    assert stat.n == n
    assert stat.mean == pytest.approx(mean)
    if n == 1:
        assert stat.sd is None
    else:
        variance = sum((f - mean) ** 2 for f in f_scores) / (n - 1)
        assert stat.sd == pytest.approx(sqrt(variance), abs=1e-7)


def test_increase_of_the_error_is_against_the_same_seed(tmp_path: Path) -> None:
    base, norm = [0.7, 0.8, 0.75], [0.6, 0.7]
    write_results(tmp_path, "conll-nl", HASH_EMBED, base)
    write_results(tmp_path, "conll-nl", "norm", norm)
    stats = dict(load_results(tmp_path, REPORT).stats)
    expected = [100 * ((1 - f) / (1 - b) - 1) for f, b in zip(norm, base, strict=False)]
    key = ("no-vectors", "test", "all", "error_increase")
    found = stats.pop(("conll-nl", "norm", *key))
    assert (found.mean, found.n) == (pytest.approx(sum(expected) / 2), 2)
    assert found.sd == pytest.approx(abs(expected[0] - expected[1]) / sqrt(2))
    assert stats.pop(("conll-nl", HASH_EMBED, *key)).mean == 0.0


def test_increase_of_an_error_of_zero_is_left_out(tmp_path: Path) -> None:
    write_results(tmp_path, "conll-nl", HASH_EMBED, [1.0])
    write_results(tmp_path, "conll-nl", "norm", [0.9])
    stats = load_results(tmp_path, REPORT).stats
    assert ("conll-nl", "norm", "no-vectors", "test", "all", "error_increase") not in stats


@pytest.mark.parametrize(
    ("first", "second", "t"),
    [
        (Stat(0.8, 0.01, 3), Stat(0.7, 0.01, 3), 2.7764),  # 4 degrees of freedom
        (Stat(0.8, 0.01, 3), Stat(0.7, 1e-9, 3), 4.3027),  # 2: one of them decides
        (Stat(0.8, 0.01, 3), Stat(0.7, 0.0, 1), 4.3027),
        (Stat(0.8, 1e-9, 3), Stat(0.7, 0.02, 2), 12.706),  # 1
        (Stat(0.8, 0.0, 1), Stat(0.7, 0.0, 1), 0.0),  # any: the margin is none
    ],
)
def test_margin_is_that_of_welch_s_test(first: Stat, second: Stat, t: float) -> None:
    found = difference(first, second)
    assert found is not None and first.sd is not None and second.sd is not None
    error = sqrt(first.sd**2 / first.n + second.sd**2 / second.n)
    assert found.margin == pytest.approx(t * error, rel=1e-4)


def test_difference_has_the_interval_of_two_means() -> None:
    found = difference(Stat(0.8, 0.01, 3), Stat(0.7, 0.02, 2))
    assert found is not None
    assert found.value == pytest.approx(0.1)
    assert difference(Stat(0.8, None, 1), Stat(0.7, 0.02, 2)) == Difference(found.value, None)
    assert difference(None, Stat(0.7, 0.02, 2)) is None


@pytest.mark.parametrize(
    ("ours", "report", "expected"),
    [
        (None, 0.02, "missing"),
        ((0.03, None), 0.02, "one seed"),
        ((0.03, 0.03), 0.02, "within noise"),
        ((-0.03, 0.032), 0.02, "within noise"),
        ((0.0, 0.0), 0.02, "within noise"),
        ((0.03, 0.01), 0.02, "same ordering"),
        ((-0.03, 0.01), -0.02, "same ordering"),
        ((-0.03, 0.01), 0.02, "differs"),
        ((0.009, 0.001), 0.0, "same ordering"),
        ((0.01, 0.001), 0.0, "differs"),
        ((0.03, 0.01), None, "higher"),
        ((-0.03, 0.01), None, "lower"),
    ],
)
def test_verdict_follows_the_rule(
    ours: Optional[tuple[float, Optional[float]]], report: Optional[float], expected: str
) -> None:
    printed = None if report is None else Difference(report, None)
    assert verdict(None if ours is None else Difference(*ours), printed, tie=0.01) == expected


def test_table_shows_ours_beside_the_report_s_and_what_is_missing(tmp_path: Path) -> None:
    write_results(tmp_path, "conll-es", HASH_EMBED, [0.76, 0.78, 0.77])
    write_results(tmp_path, "conll-es", MULTI_EMBED, [0.70])
    text = render_table(load_results(tmp_path, REPORT), TABLES["table-9"])
    assert text.startswith("**Table 9. Test, no vectors, default rows.** 4 of 42 runs.")
    (hash_embed,) = rows_of(text, "conll-es", "MultiHashEmbed")
    assert hash_embed[2:6] == ["3", "0.770 ± 0.010", "0.77 ± 0.01", "+0.000"]
    (multi,) = rows_of(text, "conll-es", "MultiEmbed")
    assert multi[2:6] == ["1", "0.700 (n=1)", "0.77 ± 0.01", "-0.070"]
    (missing,) = rows_of(text, "anem", "MultiEmbed")
    assert missing[2:6] == ["0", "missing", "0.56 ± 0.02", "–"]
    (conclusion,) = rows_of(text, "conll-es", "MultiHashEmbed – MultiEmbed")
    assert conclusion[2:] == ["+0.070", "+0.00", "one seed"]


def test_stand_in_is_never_beside_the_report_s_numbers(tmp_path: Path) -> None:
    write_results(tmp_path, "turku-one", HASH_EMBED, [0.7, 0.8])
    text = render_table(load_results(tmp_path, REPORT), TABLES["table-9"])
    (line,) = rows_of(text, "turku-one (not in the report)", "MultiHashEmbed")
    assert line[4:6] == ["–", "–"]


def test_vectors_are_named_beside_the_data_set(tmp_path: Path) -> None:
    write_result(tmp_path, Run("conll-es", HASH_EMBED, "es_e5_words"), 0.8)
    text = render_table(load_results(tmp_path, REPORT), TABLES["table-7"])
    assert rows_of(text, "conll-es (es_e5_words)", "MultiHashEmbed")[0][3] == "0.800 (n=1)"


def test_conclusions_follow_the_numbers_of_the_tables(tmp_path: Path) -> None:
    write_results(tmp_path, "anem", HASH_EMBED, [0.54, 0.55, 0.56])
    write_results(tmp_path, "anem", MULTI_EMBED, [0.43, 0.44, 0.45])
    write_results(tmp_path, "wnut17", HASH_EMBED, [0.20, 0.21, 0.22])
    write_results(tmp_path, "wnut17", MULTI_EMBED, [0.10, 0.11, 0.12])
    write_results(tmp_path, "anem", CRF, [0.49])
    results = load_results(tmp_path, REPORT)
    text = render_table(results, TABLES["table-9"])
    assert rows_of(text, "anem", "MultiHashEmbed – MultiEmbed")[0][-1] == "same ordering"
    assert rows_of(text, "wnut17", "MultiHashEmbed – MultiEmbed")[0][-1] == "differs"
    assert "Conclusions: 1 same ordering, 1 differs, 5 missing" in text
    assert not rows_of(text, "archaeo", "MultiHashEmbed – MultiEmbed")  # missing ones are counted
    other = render_table(results, TABLES["other-taggers"])
    (crf,) = rows_of(other, "anem", "test: CRF – MultiHashEmbed")
    assert crf[2:] == [f"-0.060 ± {4.303 * 0.01 / sqrt(3):.3f}", "lower"]  # of ours only


def test_weighted_models_are_compared_at_each_budget(tmp_path: Path) -> None:
    write_results(tmp_path, "wnut17", HASH_EMBED, [0.20, 0.21, 0.22])
    write_results(tmp_path, "wnut17", "weighted", [0.20, 0.21, 0.22])
    write_results(tmp_path, "wnut17", "budget_1_percent", [0.10, 0.11, 0.12])
    write_results(tmp_path, "wnut17", "budget_1_percent_hashes_2", [0.15, 0.16, 0.17])
    write_results(tmp_path, "wnut17", "weighted_budget_1_percent", [0.15, 0.16, 0.17])
    write_results(tmp_path, "wnut17", "weighted_near_zero_budget_1_percent", [0.20, 0.21, 0.22])
    text = render_table(load_results(tmp_path, REPORT), WEIGHTED_TABLES["budgets"])
    assert " 18 of 72 runs. " in text.splitlines()[0]
    assert "[results.md](results.md#" in text.splitlines()[0]
    zero, one = (f"MultiWeightedHashEmbed, importance starts {at}" for at in ("near zero", "at 1"))
    for embedding, parameters, f in (
        ("MultiHashEmbed", "12,000", 0.11),
        ("MultiHashEmbed, two hashes", "12,000", 0.16),
        (one, "11,716", 0.16),
        (zero, "11,716", 0.21),
    ):
        (line,) = rows_of(text, "wnut17", f"1 %: {embedding}")
        assert line[2:] == [parameters, "3", *[f"{f:.3f} ± 0.010"] * 2]
    for split in ("dev", "test"):
        for comparison, value, outcome in (
            (f"100 %: {one} – MultiHashEmbed", "+0.000", "within noise"),
            (f"1 %: {one} – MultiHashEmbed", "+0.050", "higher"),
            (f"1 %: {one} – MultiHashEmbed, two hashes", "+0.000", "within noise"),
            (f"1 %: {zero} – MultiHashEmbed", "+0.100", "higher"),
            (f"1 %: {zero} – MultiHashEmbed, two hashes", "+0.050", "higher"),
        ):
            (found,) = rows_of(text, "wnut17", f"{split}, {comparison}")
            assert found[2].split(" ± ")[0] == value and found[-1] == outcome, comparison
        assert not rows_of(text, "wnut17", f"{split}, 100 %: {one} – MultiHashEmbed, two hashes")


def test_gains_are_those_of_the_budgets_in_short(tmp_path: Path) -> None:
    write_results(tmp_path, "wnut17", HASH_EMBED, [0.20, 0.21, 0.22])
    write_results(tmp_path, "wnut17", "weighted_near_zero", [0.30, 0.31, 0.32])
    write_results(tmp_path, "conll-es", "budget_10_percent", [0.70])
    write_results(tmp_path, "conll-es", "weighted_near_zero_budget_10_percent", [0.69])
    text = render_gains(load_results(tmp_path, REPORT))
    (whole,) = rows_of(text, "100 %")
    assert all(re.fullmatch(r"\+0.100 ± 0.02\d, higher", cell) for cell in whole[1:3])
    assert whole[3:] == ["missing"] * 2
    (tenth,) = rows_of(text, "10 %")
    assert tenth[1:] == ["missing"] * 2 + ["-0.010, one seed"] * 2


def test_classifiers_stand_beside_the_paper_s_numbers(tmp_path: Path) -> None:
    write_results(tmp_path, "ag-news", "hash_embed", [0.905, 0.906, 0.907])
    write_results(tmp_path, "ag-news", "hashing_trick", [0.900, 0.901, 0.902])
    text = render_table(load_results(tmp_path, REPORT), WEIGHTED_TABLES["text-classification"])
    assert "trained on all of AG News" in text and "not comparable" in text
    (line,) = rows_of(text, "ag-news", "hash embedding")
    benchmark = srsly.read_json(ROOT / "benchmarks" / "results" / "textcat.json")
    speed = benchmark["results"]["update"]["words_per_second"]["hash_embed"]
    assert line[2:7] == ["0.924", "40 M", f"{speed:,.0f}", "3", "0.906 ± 0.001"]
    assert line[9:] == ["4,000,084 ± 0", "5.0 ± 0.0", "100 ± 0"]
    conclusions = [
        rows_of(text, "ag-news", f"{split}: hashing trick – hash embedding")[0]
        for split in ("dev", "test")
    ]
    for conclusion in conclusions:
        assert conclusion[2].startswith("-0.005 ± ") and conclusion[-1] == "lower"


def test_results_with_numbers_that_are_no_longer_shown_are_read(tmp_path: Path) -> None:
    speeds = {"words_per_second": 9e5, "train_words_per_second": 2e5}
    write_result(tmp_path, Run("ag-news", "hash_embed"), 0.9, **speeds)
    metrics = set(read_results(tmp_path)["metric"])
    assert metrics == {"accuracy", "macro_f", "train_cpu_seconds", "parameters", "model_mb"}


def test_runs_of_a_crf_count_once() -> None:
    needed = needed_runs(TABLES["other-taggers"])
    assert len([name for name in needed if f"/{CRF}/" in name]) == 7
    assert len(needed) == 7 + 3 * 7 * 3


def test_empty_folder_makes_tables_in_which_all_is_missing(tmp_path: Path) -> None:
    results = load_results(tmp_path, REPORT)
    assert render_summary(results).startswith("0 of ")
    for table in ALL_TABLES:
        text = render_table(results, table)
        assert " 0 of " in text.splitlines()[0]
        assert "missing" in text
        assert "nan" not in text


def test_page_is_rebuilt_between_its_markers_with_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    # the figures have tests of their own
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    for page in ("report", "weighted", "dilated"):
        figures: Any = lambda _, name=page: {f"{name}.png": name.encode()}  # noqa: E731
        monkeypatch.setattr(f"experiments.figures.{page}.make_figures", figures)
    write_results(tmp_path / "runs", "conll-es", HASH_EMBED, [0.76, 0.78])
    page = make_pages(tmp_path)
    others = [tmp_path / name for name in collate.PAGES]
    written = []
    for _ in range(2):
        collate.collate_cli(tmp_path / "runs", CORPORA, REPORT, tmp_path)
        figures = sorted((tmp_path / "figures").iterdir())
        written.append([path.read_bytes() for path in (page, *others, *figures)])
    assert written[0] == written[1]
    text = page.read_text("utf8")
    outside = re.sub(r"(?s)<!-- begin: (\S+) -->.*?<!-- end: \1 -->", "", text).split()
    assert outside == ["#", "Results", "Before.", *["Between."] * (len(TABLES) + 3), "After."]
    assert "old" not in text.split() and "**Table 9. " in text
    weighted, dilated = (path.read_text("utf8") for path in others)
    assert "**Text classification, part of AG News.** 0 of " in weighted
    assert "(the paper's Table 1).** 2 of " in dilated
    assert "Put the tables of 2 runs into" in capsys.readouterr().out


@pytest.mark.parametrize(
    ("before", "after", "message"),
    [
        ("<!-- end: table-9 -->", "", r"must have the line '<!-- begin: table-9 -->' once"),
        ("<!-- begin: table-9 -->", "", r"must have the line '<!-- begin: table-9 -->' once"),
        (
            "<!-- begin: table-9 -->",
            "<!-- begin: table-9 -->" * 2,
            "'<!-- begin: table-9 -->' once",
        ),
        ("<!-- end: table-9 -->", "<!-- end: table-9 -->" * 2, "'<!-- end: table-9 -->' once"),
        ("Before.", "<!-- begin: table-99 -->", "markers of unknown tables: table-99. Remove"),
    ],
)
def test_page_with_wrong_markers_is_refused_and_left(
    tmp_path: Path, before: str, after: str, message: str
) -> None:
    page = make_pages(tmp_path)
    text = page.read_text("utf8").replace(before, after)
    page.write_text(text)
    (tmp_path / "runs").mkdir()
    with pytest.raises(ValueError, match=message):
        collate.collate(tmp_path / "runs", CORPORA, REPORT, tmp_path)
    assert page.read_text("utf8") == text
    for other in collate.PAGES:
        assert "old" in (tmp_path / other).read_text("utf8").split()
    assert not (tmp_path / "figures").exists()


def test_missing_page_or_folder_is_an_error(tmp_path: Path) -> None:
    for name in (collate.PAGE, *collate.PAGES):
        make_pages(tmp_path)
        (tmp_path / name).unlink()
        with pytest.raises(FileNotFoundError, match=rf"There is no page .*{name}\. Write it"):
            collate.collate(tmp_path, CORPORA, REPORT, tmp_path)
    with pytest.raises(
        FileNotFoundError, match=r"no folder .*runs\. Run: python -m experiments run-grid"
    ):
        read_results(tmp_path / "runs")


def test_results_of_another_format_are_refused(tmp_path: Path) -> None:
    write_result(tmp_path, Run("anem", "norm"), 0.5, format=2)
    with pytest.raises(
        ValueError, match=r"seed0\.json holds results in format 2, but this version"
    ):
        read_results(tmp_path)


def test_half_a_file_is_refused(tmp_path: Path) -> None:
    path = write_result(tmp_path, Run("anem", "norm"), 0.5)
    path.write_text(path.read_text("utf8")[:100])
    with pytest.raises(
        ValueError, match=r"seed0\.json holds no JSON .*Delete it, and run it again"
    ):
        read_results(tmp_path)


@pytest.mark.parametrize(
    "values",
    [
        {"dev": {}, "test": None},
        {"dev": {"all": {"p": 1}}},
        {"model_bytes": None},
        {"words_per_second": "fast"},
    ],
)
def test_incomplete_results_are_refused(tmp_path: Path, values: dict[str, Any]) -> None:
    write_result(tmp_path, Run("anem", "norm"), 0.5, **values)
    with pytest.raises(
        ValueError, match=r"seed0\.json is no complete result, .*Delete it, and run"
    ):
        read_results(tmp_path)


def test_a_file_that_says_another_run_is_refused(tmp_path: Path) -> None:
    write_result(tmp_path, Run("anem", "norm"), 0.5, seed=1)
    with pytest.raises(ValueError, match=r"is the run anem/norm/no-vectors/seed1; its path says "):
        read_results(tmp_path)


def test_results_of_another_config_are_refused(tmp_path: Path) -> None:
    write_result(tmp_path, Run("anem", "norm"), 0.5, config_hash="0" * 32)
    with pytest.raises(
        ValueError,
        match=r"seed0\.json was made with another config .*: python -m experiments run-one",
    ):
        read_results(tmp_path)


def test_two_files_of_one_run_are_refused(tmp_path: Path) -> None:
    path = write_result(tmp_path, Run("anem", "norm"), 0.5)
    path.with_name("seed00.json").write_bytes(path.read_bytes())
    with pytest.raises(
        ValueError, match=r"run anem/norm/no-vectors/seed0, as .*seed0\.json does; its path says "
    ):
        read_results(tmp_path)


@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("anem/multi/no-vectors/seed0", r"seed0\.json: Unknown arm 'multi' on anem\. Choose"),
        ("conll-xx/norm/no-vectors/seed0", r"seed0\.json: Unknown data set 'conll-xx'\. Choose"),
    ],
)
def test_a_run_of_no_experiment_is_refused(tmp_path: Path, name: str, message: str) -> None:
    path = write_result(tmp_path, Run("anem", "norm"), 0.5)
    dataset, arm, *_ = name.split("/")
    target = tmp_path / f"{name}.json"
    target.parent.mkdir(parents=True)
    srsly.write_json(target, {**srsly.read_json(path), "dataset": dataset, "arm": arm})
    path.unlink()
    with pytest.raises(ValueError, match=message):
        read_results(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", r"report\.json holds no tables as JSON .*Restore it"),
        ("[]", r"report\.json holds no tables as JSON .*Restore it"),
        ('{"2 x": {}}', r"report\.json has no Table 1\. Restore it"),
    ],
)
def test_damaged_numbers_of_the_report_are_refused(tmp_path: Path, text: str, message: str) -> None:
    path = tmp_path / "report.json"
    path.write_text(text)
    with pytest.raises(ValueError, match=message):
        read_report(path)


def test_command_says_what_is_wrong(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(SystemExit, match="1"):
        collate.collate_cli(tmp_path, CORPORA, REPORT, tmp_path)
    assert "There is no page" in capsys.readouterr().out
