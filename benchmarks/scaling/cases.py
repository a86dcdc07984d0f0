"""What is measured: layers, axes and sizes."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple, Optional

from benchmarks.common.options import check_only

PREDICT = ["embed-predict", "encoder-predict", "tok2vec-predict"]
TRAIN = "tok2vec-train"
MILLION = "million"


@dataclass(frozen=True)
class Point:
    """One doc, and layers of one size.

    tokens: The number of tokens of the doc.
    width: The width of the vectors.
    rows: The number of rows of each table.
    num_hashes: The number of hash functions.
    vocabulary: The number of distinct words, which are made up. None takes the words of the text.
    """

    tokens: int = 5000
    width: int = 96
    rows: int = 5000
    num_hashes: int = 4
    vocabulary: Optional[int] = None


@dataclass(frozen=True)
class Settings:
    """The sizes of everything.

    axes: The values along each axis. An axis is a field of Point.
    million: The number of tokens of the longest doc.
    base: The sizes that do not vary.
    depth: The depth of the encoder.
    repeats: The number of rounds of a case.
    """

    axes: Mapping[str, Sequence[int]]
    million: int = 1_000_000
    base: Point = Point()
    depth: int = 8
    repeats: int = 5


FULL = Settings(
    {
        "tokens": [1, 10, 100, 1000, 10_000, 100_000],
        "width": [32, 64, 96, 128, 256, 512],
        "rows": [500, 2000, 5000, 20_000, 50_000],
        "num_hashes": [1, 2, 4, 8, 16],
        "vocabulary": [5, 50, 500, 5000],
    }
)
QUICK = Settings(
    {
        "tokens": [1, 1000, 2000],
        "width": [16, 32],
        "rows": [500, 1000],
        "num_hashes": [1, 4],
        "vocabulary": [5, 50],
    },
    million=3000,
    base=Point(tokens=200, width=16, rows=500),
    depth=2,
    repeats=2,
)


class Case(NamedTuple):
    """One value along one axis, or the longest doc.

    axis: An axis of Settings.axes, or MILLION.
    value: The value.
    """

    axis: str
    value: int

    @property
    def name(self) -> str:
        """Return the name of the case in the results."""
        return f"{self.axis}/{self.value}"


def plan(settings: Settings, only: Sequence[str]) -> list[Case]:
    """List the cases.

    Raises ValueError for an unknown axis.
    """
    values = {**settings.axes, MILLION: [settings.million]}
    check_only(only, list(values))
    return [Case(axis, n) for axis in values for n in values[axis] if not only or axis in only]
