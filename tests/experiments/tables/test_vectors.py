"""The tables of static vectors: models that were changed after their training are lines as well."""

from pathlib import Path

import pytest

from experiments.arms.vectors import VECTOR_ARMS
from experiments.runs.grid import Run
from experiments.tables.markdown import needed_runs
from experiments.tables.table import arm_and_step
from experiments.tables.vectors import VECTOR_TABLES
from tests.experiments.tables.test_markdown import rows_of
from tests.helpers.results import REPORT, prf, write_result

pytest.importorskip("pandas", reason="pandas is not installed: pip install -e '.[plots]'")
pytest.importorskip("scipy", reason="scipy is not installed: pip install -e '.[plots]'")

from experiments.tables.markdown import render_table
from experiments.tables.statistics import load_results


def scores(f: float) -> dict[str, object]:
    return {"all": prf(f), "seen": prf(None), "unseen": prf(f / 2)}


def write_runs(folder: Path, arm: str, f: float, after: dict[str, float]) -> None:
    for seed in (0, 1, 2):
        found = {
            step: {split: scores(value + 0.01 * seed) for split in ("dev", "test")}
            for step, value in after.items()
        }
        write_result(folder, Run("wnut17", arm, seed=seed), f + 0.01 * seed, after=found)


def test_a_line_after_training_has_its_own_scores(tmp_path: Path) -> None:
    write_runs(tmp_path, "vectors_ard", 0.3, {"prune_5": 0.28, "prune_10": 0.2})
    write_runs(tmp_path, "vectors_min_freq_5", 0.25, {})
    text = render_table(load_results(tmp_path, REPORT), VECTOR_TABLES["vectors-sizes"])
    shown = {line: rows_of(text, "wnut17", line)[0][2:6] for line in ("ARD", "min_freq 5")}
    assert shown["ARD"] == ["3", "0.310 ± 0.010", "0.310 ± 0.010", "0.155 ± 0.005"]
    assert shown["min_freq 5"][:2] == ["3", "0.260 ± 0.010"]
    pruned = "ARD, pruned to min_freq 5"
    assert rows_of(text, "wnut17", pruned)[0][2:4] == ["3", "0.290 ± 0.010"]
    (conclusion,) = rows_of(text, "wnut17", f"test: {pruned} – min_freq 5")
    assert conclusion[2].startswith("+0.030 ±") and conclusion[-1] == "higher"
    missing = "ARD, pruned to min_freq 10"
    assert rows_of(text, "wnut17", missing)[0][3] == "0.210 ± 0.010"


def test_scores_after_training_are_missing_without_them(tmp_path: Path) -> None:
    write_runs(tmp_path, "vectors_noise", 0.3, {"noise_5": 0.2})
    text = render_table(load_results(tmp_path, REPORT), VECTOR_TABLES["vectors-noise"])
    for percent, score in ((5, "0.210 ± 0.010"), (10, "missing")):
        line = f"trained with noise, {percent} % changed"
        assert rows_of(text, "wnut17", line)[0][3] == score


def test_lines_after_training_need_no_runs_of_their_own() -> None:
    assert arm_and_step("arm+step") == ("arm", "step")
    assert (arm_and_step("arm"), arm_and_step(None)) == (("arm", ""), ("", ""))
    needed = needed_runs(VECTOR_TABLES["vectors-foreign"])
    assert needed == {
        f"{dataset}/vectors_{arm}/no-vectors/seed{seed}"
        for dataset in ("conll-es", "conll-nl")
        for arm in ("shape", "shape_alone")
        for seed in (0, 1, 2)
    }


def test_every_evaluation_after_training_is_a_line() -> None:
    shown = {
        arm_and_step(name)
        for table in VECTOR_TABLES.values()
        for group in table.groups
        for name in group.arms.values()
    }
    for name, arm in VECTOR_ARMS.items():
        assert (name, "") in shown or name.startswith("vectors_shape")
        assert {(name, step) for step in arm.after} <= shown


def test_conclusions_compare_lines_of_their_table() -> None:
    for table in VECTOR_TABLES.values():
        for comparison in table.comparisons:
            assert comparison.second is not None
            for group, line in (comparison.first, comparison.second):
                assert line in group.arms, comparison.label
        labels = [comparison.label for comparison in table.comparisons]
        assert len(set(labels)) == len(labels), table.name


def test_the_modes_are_compared_with_each_other() -> None:
    for name, others in (("vectors-tables", True), ("vectors-tables-tweets", False)):
        labels = {one.label for one in VECTOR_TABLES[name].comparisons}
        for mode in ("concat", "linear", "scalar"):
            assert f"test: all, mme – all, {mode}" in labels
        assert ("test: the table of another language – no table" in labels) == others
        assert "test: no table – the table of the language" not in labels


def test_rounded_tables_are_compared_with_the_untouched_one(tmp_path: Path) -> None:
    write_runs(tmp_path, "vectors_own", 0.3, {"quantize_pq": 0.28})
    table = VECTOR_TABLES["vectors-transforms-tweets"]
    text = render_table(load_results(tmp_path, REPORT), table)
    (conclusion,) = rows_of(text, "wnut17", "test: quantize, pq – untouched")
    assert conclusion[2].startswith("-0.020 ±")


def test_centring_is_a_line_where_it_is_tried() -> None:
    lines = {name: [*VECTOR_TABLES[name].groups[0].arms] for name in VECTOR_TABLES}
    assert "centre" in lines["vectors-transforms-tweets"]
    assert "centre" not in lines["vectors-transforms"]
    assert VECTOR_TABLES["vectors-transforms-tweets"].datasets == ("wnut17",)
