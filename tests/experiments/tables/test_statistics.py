"""The numbers of runs and of the report: what is read, what is refused, and what is concluded."""

from math import sqrt
from pathlib import Path
from typing import Any, Optional

import pytest
import srsly
from hypothesis import given
from hypothesis import strategies as st

from experiments.arms.tasks import HASH_EMBED
from experiments.runs.grid import Run
from tests.helpers.results import REPORT, write_result, write_results

pytest.importorskip("pandas", reason="pandas is not installed: pip install -e '.[plots]'")
pytest.importorskip("scipy", reason="scipy is not installed: pip install -e '.[plots]'")

from experiments.tables.differences import Difference, difference
from experiments.tables.statistics import (
    FACTORS,
    NUMBER,
    Stat,
    load_results,
    read_report,
    read_results,
    summarise,
)
from experiments.tables.verdicts import verdict


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


def test_results_with_numbers_that_are_no_longer_shown_are_read(tmp_path: Path) -> None:
    speeds = {"words_per_second": 9e5, "train_words_per_second": 2e5}
    write_result(tmp_path, Run("ag-news", "hash_embed"), 0.9, **speeds)
    metrics = set(read_results(tmp_path)["metric"])
    assert metrics == {"accuracy", "macro_f", "train_cpu_seconds", "parameters", "model_mb"}


def test_missing_folder_is_an_error(tmp_path: Path) -> None:
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
    with pytest.raises(ValueError, match=r"seed0\.json holds no JSON .*Delete it and run it again"):
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
        ValueError, match=r"seed0\.json is not a complete result: .*Delete it and run"
    ):
        read_results(tmp_path)


def test_a_candidate_for_a_recipe_may_lack_test(tmp_path: Path) -> None:
    for arm in ("norm", "recipe-slices"):
        path = write_result(tmp_path, Run("anem", arm), 0.5)
        result = srsly.read_json(path)
        del result["test"]
        srsly.write_json(path, result)
    with pytest.raises(ValueError, match=r"norm.*seed0\.json is not a complete result: .*'test'"):
        read_results(tmp_path)
    (tmp_path / Run("anem", "norm").name).with_suffix(".json").unlink()
    assert set(read_results(tmp_path)["split"]) == {"dev", ""}


def test_a_file_that_says_another_run_is_refused(tmp_path: Path) -> None:
    write_result(tmp_path, Run("anem", "norm"), 0.5, seed=1)
    with pytest.raises(
        ValueError, match=r"names the run anem/norm/no-vectors/seed1, but its path names "
    ):
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
        ValueError,
        match=r"run anem/norm/no-vectors/seed0, as .*seed0\.json does, but its path names ",
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
