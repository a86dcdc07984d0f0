"""The ratios that we aim at."""

from collections.abc import Collection
from typing import NamedTuple, Optional

from benchmarks.common.timing import ALL, ONE
from benchmarks.speed.cases import MD
from benchmarks.speed.measure import Record


class Target(NamedTuple):
    """The least value that cases should reach, at width 96 and with short docs.

    what, threads: The cases.
    of: "ratio" or "share", as in their records.
    least: The value.
    """

    what: str
    threads: Collection[str]
    of: str
    least: float


TARGETS = [
    Target("embed-predict", [ONE, ALL], "ratio", 4.0),
    Target("encoder-predict", [ONE], "share", 0.65),
    Target("tok2vec-predict", [ONE], "ratio", 2.5),
    Target("tok2vec-predict", [ALL], "ratio", 4.0),
    Target("tok2vec-train", [ONE], "ratio", 2.5),
    Target("pipeline-predict", [ONE, ALL], "ratio", 2.4),
    Target("pipeline-train", [ONE, ALL], "ratio", 2.2),
    Target(MD, [ONE, ALL], "ratio", 1.7),
]


def find_target(record: Record, of: str) -> Optional[float]:
    """Return the target of a case, if it has one."""
    if (record["width"], record["text"]) != (96, "short"):
        return None
    here = [t for t in TARGETS if t.what == record["what"] and record["threads"] in t.threads]
    return next((target.least for target in here if target.of == of), None)
