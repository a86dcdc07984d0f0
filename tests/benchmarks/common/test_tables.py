from typing import Optional

import pytest

from benchmarks.common.tables import judge, show_ratio

RATIO = {"low": 1.9, "median": 2.0, "high": 2.126}


def test_ratios_are_shown_with_their_intervals() -> None:
    assert show_ratio(RATIO) == "2.00 (1.90-2.13)"
    assert show_ratio(None) == ""


@pytest.mark.parametrize("least, shown", [(2.0, "2.0 met"), (2.1, "2.1 missed"), (None, "")])
def test_a_target_is_met_by_the_median(least: Optional[float], shown: str) -> None:
    assert judge(RATIO, least) == shown
