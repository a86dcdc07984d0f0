"""Means and differences of runs, each with its 95 % interval."""

import operator
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, Optional

import numpy

from experiments.arms import CRF
from experiments.results import RESULTS, read_counts, read_runs
from spacy_multihash.corpus.intervals import SAMPLES, draw, f1

if TYPE_CHECKING:
    import pandas

CONFIDENCE = 0.95
PERCENTILES = (2.5, 97.5)
F = "f"
Array = numpy.ndarray


class Estimate(NamedTuple):
    """A mean with its interval, over n seeds. An unknown interval is None.

    over_sentences (bool): Whether the interval is over sentences and seeds, not only over seeds.
    """

    mean: float
    low: Optional[float]
    high: Optional[float]
    n: int
    over_sentences: bool = False


class Cell(NamedTuple):
    """A score of an arm on a data set.

    arm, vectors, after (str): As in the table of runs.
    score (str): The column of the score.
    """

    dataset: str
    arm: str
    score: str
    vectors: str = ""
    after: str = ""


@dataclass
class Runs:
    """The results of all runs.

    frame (pandas.DataFrame): The table of runs.
    counts (dict[str, Array]): The counts of sentences, as `read_counts` returns them.
    """

    frame: "pandas.DataFrame"
    counts: dict[str, Array]
    _draws: dict[int, Array] = field(default_factory=dict)
    _groups: dict[tuple[str, ...], "pandas.DataFrame"] = field(default_factory=dict)

    @classmethod
    def read(cls, folder: Path = RESULTS) -> "Runs":
        """Read the results in a folder."""
        return cls(read_runs(folder), read_counts(folder))

    def __post_init__(self) -> None:
        """Group the runs by all but their seeds."""
        keys = ["dataset", "arm", "vectors", "after"]
        for key, group in self.frame.groupby(keys):
            self._groups[key] = group.set_index("seed")

    def values(self, cell: Cell) -> dict[int, float]:
        """Return scores by seed."""
        group = self._groups.get((cell.dataset, cell.arm, cell.vectors, cell.after))
        return {} if group is None else group[cell.score].dropna().to_dict()

    def pairs(self, one: Cell, other: Cell) -> list[tuple[int, int]]:
        """Return the seeds of the runs to compare. A CRF is the same with every seed."""
        first, second = self.values(one), self.values(other)
        if other.arm == CRF:
            return [(seed, of_crf) for seed in sorted(first) for of_crf in list(second)[:1]]
        if one.arm == CRF:
            return [(of_crf, seed) for seed in sorted(second) for of_crf in list(first)[:1]]
        return [(seed, seed) for seed in sorted(first.keys() & second.keys())]

    def mean(self, cell: Cell) -> Optional[Estimate]:
        """Return the mean of a score over seeds, with Student's interval, or None without runs."""
        values = list(self.values(cell).values())
        return student_interval(values) if values else None

    def difference(
        self,
        one: Cell,
        other: Cell,
        operation: Callable[[Array, Array], Array] = operator.sub,
    ) -> Optional[Estimate]:
        """Return the mean difference of two scores over the seeds with both scores, or None.

        If the runs have counts of sentences, the interval is a paired bootstrap over the sentences
        of the set, and over seeds. Otherwise it's Student's interval over seeds.

        operation (Callable): The operation on both scores.
        """
        first, second, pairs = self.values(one), self.values(other), self.pairs(one, other)
        if not pairs:
            return None
        scores = numpy.array([(first[a], second[b]) for a, b in pairs]).T
        values = operation(*scores)
        resampled = self.resample(one, other, operation)
        if resampled is None:
            return student_interval(values)
        low, high = numpy.percentile(resampled, PERCENTILES)
        return Estimate(float(numpy.mean(values)), float(low), float(high), len(pairs), True)

    def mean_gain(self, one: Cell, other: Cell) -> Optional[float]:
        """Return the mean difference over the seeds with both scores, or None."""
        first, second, pairs = self.values(one), self.values(other), self.pairs(one, other)
        return float(numpy.mean([first[a] - second[b] for a, b in pairs])) if pairs else None

    def gains(self, cells: Sequence[Sequence[tuple[Cell, Cell]]]) -> list[float]:
        """Return the mean difference on each data set that has all its pairs of cells."""
        complete = [of_set for of_set in cells if all(self.pairs(*pair) for pair in of_set)]
        by_set = [[self.mean_gain(*pair) or 0.0 for pair in of_set] for of_set in complete]
        return [float(numpy.mean(of_set)) for of_set in by_set]

    def pooled(self, cells: Sequence[Sequence[tuple[Cell, Cell]]]) -> Optional[Estimate]:
        """Return the mean of differences over data sets, or None if any set lacks runs.

        Data sets are a sample with equal weights, so the interval is Student's over data sets. In a
        random-effects analysis with equal weights, that's the interval of Hartung and Knapp, which
        holds for few data sets (IntHout, Ioannidis & Borm 2014).

        cells (Sequence): For each data set, its pairs of cells, to average their differences.
        """
        gains = self.gains(cells)
        if not gains or len(gains) < len(cells):
            return None
        n = min(len(self.pairs(*pair)) for of_set in cells for pair in of_set)
        return student_interval(gains)._replace(n=n, over_sentences=True)

    def resample(
        self, one: Cell, other: Cell, operation: Callable[[Array, Array], Array]
    ) -> Optional[Array]:
        """Resample sentences and seeds, and return the mean difference in each resample.

        Shape: (resamples,). None if a run has no counts of sentences.
        """
        differences = []
        for seed, other_seed in self.pairs(one, other):
            a, b = self._scores(one, seed), self._scores(other, other_seed)
            if a is None or b is None:
                return None
            differences.append(operation(a, b))
        by_seed = numpy.stack(differences)  # (seeds, resamples)
        drawn = numpy.random.default_rng(len(by_seed)).integers(len(by_seed), size=by_seed.shape)
        return numpy.take_along_axis(by_seed, drawn, axis=0).mean(axis=0)

    def _scores(self, cell: Cell, seed: int) -> Optional[Array]:
        """Return the F1 of a run in each resample of sentences, or None without counts."""
        split, *part, metric = cell.score.split("_")
        stem = f"{cell.dataset}/{split}/{part[0] if part else 'all'}"
        names = self.counts.get(f"{stem}/runs", numpy.array([]))
        (index,) = numpy.nonzero(names == f"{cell.arm}/{cell.vectors}/{seed}")
        if metric != F or cell.after or not len(index):
            return None
        counts, gold = self.counts[f"{stem}/counts"][:, :, index[0]], self.counts[f"{stem}/gold"]
        right, spurious = counts.astype("f")
        columns = numpy.stack([right, spurious, gold - right], axis=1)
        # Sums of whole numbers below 2^24 are exact in float32.
        return f1((self._draw(len(gold)) @ columns.astype("f")).astype("d"))

    def _draw(self, sentences: int) -> Array:
        if sentences not in self._draws:
            generator = numpy.random.default_rng(0)
            self._draws[sentences] = draw(sentences, SAMPLES, generator).astype("f")
        return self._draws[sentences]


def student_interval(values: Sequence[float] | Array) -> Estimate:
    """Return the mean with Student's interval, or without it for a single value."""
    from scipy import stats  # of the extra plots, as pandas

    mean, n = float(numpy.mean(values)), len(values)
    if n == 1:
        return Estimate(mean, None, None, n)
    error = float(stats.sem(values))
    if error == 0:
        return Estimate(mean, mean, mean, n)
    low, high = stats.t.interval(CONFIDENCE, n - 1, loc=mean, scale=error)
    return Estimate(mean, float(low), float(high), n)


def error_increase(f: Array, base: Array) -> Array:
    """Return by how many percent the error, 1 - F1, exceeds the error of a base."""
    return 100 * ((1 - f) / (1 - base) - 1)
