"""The tables as Markdown: numbers, verdicts, and what is missing."""

import re
from math import sqrt
from pathlib import Path
from statistics import stdev
from typing import Any

import numpy
import pytest
import srsly

from experiments.arms.tasks import CRF, HASH_EMBED, REGULARIZED
from experiments.runs.counts import pack
from experiments.runs.grid import Run
from experiments.tables.dilated import DILATED_TABLES
from experiments.tables.recipe import recipe_tables
from experiments.tables.results_page import TABLES
from experiments.tables.table import STAND_IN
from tests.helpers.paths import ROOT
from tests.helpers.results import ALL_TABLES, REPORT, write_result, write_results

pytest.importorskip("pandas", reason="pandas is not installed: pip install -e '.[plots]'")
pytest.importorskip("scipy", reason="scipy is not installed: pip install -e '.[plots]'")

from experiments.tables.conclusions import conclude
from experiments.tables.gains import render_gains
from experiments.tables.markdown import (
    marked,
    render_agreement,
    render_summary,
    render_table,
)
from experiments.tables.statistics import load_results
from experiments.tables.weighted import TEXTS, WEIGHTED_TABLES, with_speeds

MULTI_EMBED = "multi_embed"


def rows_of(markdown: str, *cells: str) -> list[list[str]]:
    """Return the lines of Markdown tables that begin with some cells."""
    lines = [line.strip("| ").split(" | ") for line in markdown.splitlines() if line[:1] == "|"]
    return [line for line in lines if tuple(line[: len(cells)]) == cells]


def test_table_shows_ours_beside_the_report_s_and_what_is_missing(tmp_path: Path) -> None:
    write_results(tmp_path, "conll-es", HASH_EMBED, [0.76, 0.78, 0.77])
    write_results(tmp_path, "conll-es", MULTI_EMBED, [0.70])
    write_results(tmp_path, "anem", HASH_EMBED, [0.50])
    text = render_table(load_results(tmp_path, REPORT), TABLES["table-9"])
    assert text.startswith("**Table 9. Test, no vectors, default rows.** 5 of 42 runs.")
    (hash_embed,) = rows_of(text, "conll-es", "MultiHashEmbed")
    assert hash_embed[2:6] == ["3", "0.770 ± 0.010", "0.77 ± 0.01", "+0.000"]
    (multi,) = rows_of(text, "conll-es", "MultiEmbed")
    assert multi[2:6] == ["1", "0.700 (n=1)", "0.77 ± 0.01", "-0.070"]
    (missing,) = rows_of(text, "anem", "MultiEmbed")
    assert missing[2:6] == ["0", "missing", "0.56 ± 0.02", "–"]
    assert rows_of(text, "conll-nl") == []
    absent = "conll-nl, wnut17, archaeo, ontonotes, turku-one"
    assert f"\n\nNumbers of {absent} are missing.\n\n" in text
    (conclusion,) = rows_of(text, "conll-es", "MultiHashEmbed – MultiEmbed")
    assert conclusion[2:] == ["+0.070", "–", "–", "+0.00", "one seed"]


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
    assert rows_of(text, "wnut17", "MultiHashEmbed – MultiEmbed")[0][-1] == "differs ¶"
    assert "Conclusions: 1 same ordering, 1 differs, 5 missing" in text
    assert not rows_of(text, "archaeo", "MultiHashEmbed – MultiEmbed")  # missing ones are counted
    other = render_table(results, TABLES["other-taggers"])
    (crf,) = rows_of(other, "anem", "test: CRF – MultiHashEmbed")
    margin = 4.303 * 0.01 / sqrt(3)
    assert crf[2:] == [f"-0.060 ± {margin:.3f}", "–", "–", "lower"]  # of ours only


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
    benchmark = srsly.read_json(ROOT / "benchmarks" / "results" / "textcat.json")
    table = with_speeds(WEIGHTED_TABLES[TEXTS], benchmark)
    text = render_table(load_results(tmp_path, REPORT), table)
    assert "trained on all of AG News" in text and "not comparable" in text
    (line,) = rows_of(text, "ag-news", "hash embedding")
    speed = benchmark["results"]["update"]["words_per_second"]["hash_embed"]
    assert line[2:7] == ["0.924", "40 M", f"{speed:,.0f}", "3", "0.906 ± 0.001"]
    assert line[9:] == ["4,000,084 ± 0", "5.0 ± 0.0", "100 ± 0"]
    conclusions = [
        rows_of(text, "ag-news", f"{split}: hashing trick – hash embedding")[0]
        for split in ("dev", "test")
    ]
    for conclusion in conclusions:
        assert conclusion[2].startswith("-0.005 ± ") and conclusion[-1] == "lower"


def test_seeds_of_the_dead_seed_table_are_not_mixed_up(tmp_path: Path) -> None:
    lines = {"k=1, 5000 rows": "hashes_1", "k=2, 1000 rows": "hashes_2_rows_1000"}
    for arm in lines.values():
        write_results(tmp_path, STAND_IN, arm, [0.70, 0.71, 0.72])
        write_results(tmp_path, STAND_IN, f"spacy_seeds_{arm}", [0.60, 0.61])
    text = render_table(load_results(tmp_path, REPORT), TABLES["dead-seed"])
    (header,) = rows_of(text, "data set", "hashes, rows")
    assert header[2:] == [
        *("n", "dev, our seeds, F1", "n", "dev, spaCy's seeds, F1"),
        *("n", "test, our seeds, F1", "n", "test, spaCy's seeds, F1"),
    ]
    for line in lines:
        (found,) = rows_of(text, STAND_IN, line)
        assert found[2:] == ["3", "0.710 ± 0.010", "2", "0.605 ± 0.007"] * 2
        for split in ("dev", "test"):
            (found,) = rows_of(text, STAND_IN, f"{split}, {line}: our seeds – spaCy's")
            assert found[2].startswith("+0.105 ± ") and found[-1] == "higher"


def test_runs_without_a_record_are_marked(tmp_path: Path) -> None:
    write_results(tmp_path, "conll-es", HASH_EMBED, [0.76, 0.78])
    text = render_table(load_results(tmp_path, REPORT), TABLES["table-9"])
    assert "†" not in text
    write_result(tmp_path, Run("conll-es", HASH_EMBED, seed=2), 0.77, record=None)
    text = render_table(load_results(tmp_path, REPORT), TABLES["table-9"])
    assert rows_of(text, "conll-es", "MultiHashEmbed")[0][2] == "3†"
    assert rows_of(text, "conll-es", "MultiEmbed")[0][2] == "0"
    assert text.count("\n\n† with runs that have no record of machine and code.\n\n") == 1


def test_a_number_that_fewer_runs_have_says_so(tmp_path: Path) -> None:
    write_results(tmp_path, "conll-es", HASH_EMBED, [0.76, 0.78, 0.77])
    part = {"p": 0.5, "r": 0.5, "f": None}
    scores = {"all": {"p": 0.5, "r": 0.5, "f": 0.75}, "seen": part, "unseen": part}
    write_result(tmp_path, Run("conll-es", HASH_EMBED, seed=2), 0.77, test=scores)
    text = render_table(load_results(tmp_path, REPORT), DILATED_TABLES["dilated-models"])
    (line,) = rows_of(text, "conll-es", "batch_ner, maxout windows")
    assert line[3:5] == ["3", "0.770 ± 0.010"]
    assert line[5] == "0.763 ± 0.015" and line[7] == "0.385 ± 0.007 (n=2)"


def test_a_crf_measured_once_has_exact_scores_and_no_exact_time(tmp_path: Path) -> None:
    write_results(tmp_path, "conll-es", HASH_EMBED, [0.76, 0.78, 0.77])
    write_result(tmp_path, Run("conll-es", CRF), 0.7, train_cpu_seconds=20.0)
    text = render_table(load_results(tmp_path, REPORT), recipe_tables(None)["recipe"])
    (line,) = rows_of(text, "conll-es", "test: CRF – MultiHashEmbed")
    assert line[2].startswith("-0.070 ± ") and line[-1] == "lower"
    (line,) = rows_of(text, "conll-es", "training, CPU s: CRF – MultiHashEmbed")
    assert (line[2], line[-1]) == ("-80", "one seed")


def test_seeds_of_different_code_are_marked(tmp_path: Path) -> None:
    def text() -> str:
        return render_table(load_results(tmp_path, REPORT), TABLES["table-9"])

    for seed, code in enumerate(("a", "a", "b")):
        assert "◊" not in text()
        record = {"cpu": "a CPU", "code": code, "corpus": {"train": "conll-es"}}
        write_result(tmp_path, Run("conll-es", HASH_EMBED, seed=seed), 0.7, record=record)
    assert rows_of(text(), "conll-es", "MultiHashEmbed")[0][2] == "3◊"
    note = "\n\n◊ with runs of different code: a module has changed between them.\n\n"
    assert text().count(note) == 1
    write_result(tmp_path, Run("conll-es", HASH_EMBED, seed=0), 0.7, record=None)
    assert rows_of(text(), "conll-es", "MultiHashEmbed")[0][2] == "3†◊"


def test_costs_are_compared_on_one_known_machine_only(tmp_path: Path) -> None:
    def conclusions(record: Any) -> tuple[list[list[str]], str]:
        write_result(tmp_path, Run("anem", REGULARIZED, seed=1), 0.6, record=record)
        text = render_table(load_results(tmp_path, REPORT), TABLES["regularized"])
        found = rows_of(text, "anem", "training, CPU s: regularized – MultiHashEmbed")
        return found, text.partition("Conclusions: ")[2].partition("<")[0]

    write_results(tmp_path, "anem", HASH_EMBED, [0.54, 0.55])
    write_results(tmp_path, "anem", REGULARIZED, [0.54])
    (line,), counts = conclusions({"cpu": "a CPU"})
    assert line[2:] == ["+0 ± 0", "+0 ± 0", "–", "within noise"]
    assert "unknown" not in counts
    for record in ({"cpu": "another CPU"}, {"cpu": ""}, None):
        found, counts = conclusions(record)
        assert found == []
        assert counts.endswith(", 1 not comparable, 18 missing")


def test_paired_interval_stands_beside_the_other_and_disagrees(tmp_path: Path) -> None:
    write_results(tmp_path, "anem", HASH_EMBED, [0.50, 0.55, 0.60])
    write_results(tmp_path, "anem", MULTI_EMBED, [0.48, 0.535, 0.58])
    text = render_table(load_results(tmp_path, REPORT), TABLES["table-9"])
    (line,) = rows_of(text, "anem", "MultiHashEmbed – MultiEmbed")
    margin = 4.303 * stdev([0.02, 0.015, 0.02]) / sqrt(3)
    assert line[3:] == [f"+0.018 ± {margin:.3f}", "–", "+0.10", "within noise ‡"]
    assert "‡ the paired interval would decide otherwise." in text
    assert "1 within noise, 6 missing" in text


def test_counts_of_sentences_give_an_interval(tmp_path: Path) -> None:
    for arm, counts in ((HASH_EMBED, [[2, 0, 0]] * 30), (MULTI_EMBED, [[1, 0, 1]] * 30)):
        packed = pack(numpy.array(counts))
        values = {"counts": {"dev": packed, "test": packed}}
        write_result(tmp_path, Run("anem", arm), 0.5, **values)
        write_result(tmp_path, Run("anem", arm, seed=1), 0.5, **values)
    text = render_table(load_results(tmp_path, REPORT), TABLES["table-9"])
    (line,) = rows_of(text, "anem", "MultiHashEmbed – MultiEmbed")
    assert line[4] == "+0.333 to +0.333"
    unseen = render_table(load_results(tmp_path, REPORT), TABLES["table-11"])
    (line,) = rows_of(unseen, "anem", "MultiHashEmbed – MultiEmbed")
    assert line[4] == "–"  # the counts are of all entities
    for arm, counts in ((HASH_EMBED, [[3, 0, 0]] * 30), (MULTI_EMBED, [[1, 0, 2]] * 30)):
        values = {"counts": {"test, unseen": pack(numpy.array(counts))}}
        write_result(tmp_path, Run("anem", arm), 0.5, **values)
        write_result(tmp_path, Run("anem", arm, seed=1), 0.5, **values)
    unseen = render_table(load_results(tmp_path, REPORT), TABLES["table-11"])
    (line,) = rows_of(unseen, "anem", "MultiHashEmbed – MultiEmbed")
    assert line[4] == "+0.500 to +0.500"


def test_differences_that_the_report_has_are_counted(tmp_path: Path) -> None:
    write_results(tmp_path, "anem", HASH_EMBED, [0.50, 0.52])
    write_results(tmp_path, "anem", MULTI_EMBED, [0.40, 0.41])  # the report: +0.10
    write_results(tmp_path, "conll-nl", HASH_EMBED, [0.700, 0.702])
    write_results(tmp_path, "conll-nl", MULTI_EMBED, [0.700, 0.702])
    write_results(tmp_path, "conll-es", HASH_EMBED, [0.7])  # one seed decides nothing
    write_results(tmp_path, "conll-es", MULTI_EMBED, [0.6])
    results = load_results(tmp_path, REPORT)
    by_table = {
        table.name: [
            marked(conclude(results, table, dataset, comparison))
            for dataset in table.datasets
            for comparison in table.comparisons
            if comparison.first[0].report
        ]
        for table in TABLES.values()
    }
    verdicts = [name for names in by_table.values() for name in names]
    same, noise, differ = (
        [name for name in verdicts if name.startswith(start)]
        for start in ("same ordering", "within noise", "differs")
    )
    missed = [sum("¶" in name for name in names) for names in (same, noise, differ)]
    assert same and len(noise) > missed[1] > 0
    text = render_agreement(results)
    assert max(map(len, text.split("\n"))) <= 100
    alone = sum("¶" in name for name in by_table["table-15"])  # which has no deviations
    assert 0 < alone < sum(missed)
    assert text.replace("\n", " ") == (
        f"Of {len(same + noise + differ)} differences that the report has too, and of which we "
        f"have several seeds, {len(same)} have its ordering, {len(noise)} are within noise, and "
        f"the ordering of {len(differ)} is another. Of these three groups, {missed[0]}, "
        f"{missed[1]} and {missed[2]} have the report's number outside our interval (¶). For "
        f"{alone} of these {sum(missed)}, the report prints no deviations, so that its own "
        "noise is left out."
    )
    text = render_table(results, TABLES["table-15"])  # the report: +0.03, without deviations
    (line,) = rows_of(text, "conll-nl", "MultiEmbed min_freq=10 – MultiHashEmbed")
    assert line[-1] == "within noise ¶"
    assert "¶ the report's difference is outside our interval, widened by" in text


def test_runs_without_those_that_they_are_compared_with_give_no_numbers(tmp_path: Path) -> None:
    write_results(tmp_path, "conll-nl", "norm", [0.6, 0.7])
    text = render_table(load_results(tmp_path, REPORT), TABLES["table-2"])
    assert text.splitlines()[0].startswith("**Table 2. ") and " 2 of 15 runs." in text
    assert "\n\nNumbers of conll-nl are missing.\n\n" in text


def test_empty_folder_makes_tables_in_which_all_is_missing(tmp_path: Path) -> None:
    results = load_results(tmp_path, REPORT)
    assert render_summary(results).splitlines()[0].endswith(" need, 0 have results.")
    for table in ALL_TABLES:
        text = render_table(results, table)
        assert " 0 of " in text.splitlines()[0]
        assert "missing" in text
        assert "nan" not in text
