"""The ratios that we aim at."""

from collections.abc import Sequence
from typing import NamedTuple, Optional

from benchmarks.dilated.cases import CROSS_ENTROPY, DECODING, GREEDY, TRAINING
from benchmarks.dilated.measure import Record


class Target(NamedTuple):
    """The least ratio that an arm should reach."""

    part: str
    arm: str
    labels: Sequence[int]
    least: float


TARGETS = [Target(DECODING, GREEDY, [18], 5.0), Target(TRAINING, CROSS_ENTROPY, [4, 18], 1.5)]


def find_target(record: Record, arm: str) -> Optional[float]:
    """Return the target of an arm, if it has one."""
    found = (
        target.least
        for target in TARGETS
        if (target.part, target.arm) == (record["part"], arm) and record["labels"] in target.labels
    )
    return next(found, None)
