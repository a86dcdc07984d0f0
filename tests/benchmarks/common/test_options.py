from pathlib import Path

import pytest

from benchmarks.common.options import check_only, choose_output
from benchmarks.common.paths import RESULTS


def test_results_have_the_name_of_the_benchmark_unless_another_is_given() -> None:
    assert choose_output(None, "speed", quick=False) == RESULTS / "speed.json"
    assert choose_output(None, "speed", quick=True) == RESULTS / "speed-quick.json"
    assert choose_output(Path("x.json"), "speed", quick=True) == Path("x.json")


def test_unknown_parts_are_refused_by_name() -> None:
    check_only([], ["a", "b"])
    check_only(["b"], ["a", "b"])
    with pytest.raises(ValueError, match="--only takes a, b, was given c, d"):
        check_only(["d", "b", "c"], ["a", "b"])
