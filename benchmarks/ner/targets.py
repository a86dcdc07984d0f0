"""The ratios that we aim at, by Python's version, since spaCy's wheels differ."""

import sys
from collections.abc import Collection, Mapping
from typing import NamedTuple, Optional

from benchmarks.ner.cases import PREDICT, UPDATE, Docs, Settings
from benchmarks.ner.measure import Record

PYTHON = f"{sys.version_info.major}.{sys.version_info.minor}"
SENTENCES, ALONE = Docs(Settings.sentences).text, Settings.alone.text


class Target(NamedTuple):
    """The least ratio that a part should reach.

    part, text, labels: The cases.
    least: The ratio, by Python's version.
    """

    part: str
    text: str
    labels: Collection[int]
    least: Mapping[str, float]


TARGETS = [
    Target(PREDICT, SENTENCES, [18], {"3.11": 20.0, "3.13": 2.0}),
    Target(PREDICT, SENTENCES, [4], {"3.11": 8.0, "3.13": 2.0}),
    Target(PREDICT, ALONE, [4, 18], {"3.11": 1.5, "3.13": 1.0}),
    Target(UPDATE, Docs(0).text, [4], {"3.11": 5.0, "3.13": 3.0}),
]


def find_target(record: Record, python: str = PYTHON) -> Optional[float]:
    """Return the target of our arm, if it has one."""
    case = record["part"], record["text"]
    found = (t for t in TARGETS if (t.part, t.text) == case and record["labels"] in t.labels)
    return next((target.least.get(python) for target in found), None)
