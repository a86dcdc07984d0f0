"""What is concluded from two numbers: their difference, its intervals, and the verdict."""

from collections.abc import Iterator
from dataclasses import dataclass, replace
from typing import Optional

from experiments.arms.tasks import CRF, HASH_EMBED
from experiments.runs.counts import name_counts
from experiments.runs.machine import same_cpu, same_training
from experiments.tables.bootstrap import Interval, error_increase, more_increase
from experiments.tables.differences import Difference, difference, mean_difference, paired
from experiments.tables.statistics import FACTORS, NUMBER, Results, Stat, number_key
from experiments.tables.table import INCREASE, METRICS, SECONDS, Comparison, Group, Table
from experiments.tables.verdicts import HIGHER, LOWER, MACHINES, NOISE, verdict

# The data set, arm and vectors of a number, then its split, part and metric.
Key = tuple[str, ...]
ARM = FACTORS.index("arm")
PART = len(FACTORS) + NUMBER.index("part")
NOTHING = Stat(0.0, 0.0, 1)
TINY = 1e-9  # what a sum of floats may be off
# Two numbers, either of which may be missing.
PairT = tuple[Optional[Stat], Optional[Stat]]


@dataclass(frozen=True)
class Conclusion:
    """A comparison of two numbers.

    ours, report (Optional[Difference]): The differences with the interval of Welch's test, or None
        where a number is missing.
    paired (Optional[Difference]): The mean difference of runs with the same seed.
    sentences (Optional[Interval]): The interval over sentences, or None without their counts.
    verdict (str): One of `VERDICTS`.
    apart (Optional[Difference]): Our difference minus the report's, with the interval of both. It
        is that of ours alone where the report has no deviations. Its rounding is added.
    """

    ours: Optional[Difference]
    report: Optional[Difference]
    paired: Optional[Difference]
    sentences: Optional[Interval]
    verdict: str
    apart: Optional[Difference] = None

    @property
    def misses_report(self) -> bool:
        """Whether the report's difference is outside of the interval of `apart`."""
        return self.apart is not None and not _is_noise(self.apart)

    @property
    def disputed(self) -> bool:
        """Whether the paired interval would decide otherwise."""
        if self.ours is None or self.ours.margin is None or self.paired is None:
            return False
        return _is_noise(self.ours) != _is_noise(self.paired)

    @property
    def in_words(self) -> str:
        """The verdict, and which intervals would decide otherwise."""
        is_noise = self.verdict == NOISE
        sign = HIGHER if self.paired is not None and self.paired.value > 0 else LOWER
        parts = {
            f"but {sign} seed by seed": self.disputed and is_noise,
            "not seed by seed": self.disputed and not is_noise,
            "not over sentences": self.of_these_sentences,
        }
        return ", ".join([self.verdict, *(part for part, is_so in parts.items() if is_so)])

    @property
    def of_these_sentences(self) -> bool:
        """Whether it is larger than noise, while the interval over sentences holds 0."""
        if self.ours is None or self.ours.margin is None or self.sentences is None:
            return False
        return not _is_noise(self.ours) and self.sentences.low <= 0 <= self.sentences.high


def conclude(results: Results, table: Table, dataset: str, comparison: Comparison) -> Conclusion:
    """Compare two numbers of a table, and their difference with the report's."""
    first, second = (
        NOTHING if side is None else results.reported(table, side[0], dataset, side[1])
        for side in (comparison.first, comparison.second)
    )
    found = compare(
        results,
        number_key(table, *_place(comparison.first, dataset)),
        comparison.second and number_key(table, *_place(comparison.second, dataset)),
        difference(first, second),
    )
    if found.ours is None or found.ours.margin is None:
        return found
    one, other = (
        NOTHING if side is None else results.ours(table, side[0], dataset, side[1])
        for side in (comparison.first, comparison.second)
    )
    rounded = 1 if comparison.second is None else 2
    rounding = rounded * METRICS[comparison.first[0].metric].tie / 2
    apart = _apart((one, other), (first, second), found.ours.margin, rounding)
    return replace(found, apart=apart)


def conclude_all(results: Results, table: Table) -> Iterator[tuple[str, Comparison, Conclusion]]:
    """Yield each data set, comparison and conclusion of a table."""
    for dataset in table.datasets:
        for comparison in table.comparisons:
            yield dataset, comparison, conclude(results, table, dataset, comparison)


def _apart(ours: PairT, report: PairT, margin: float, rounding: float) -> Optional[Difference]:
    """Return our difference minus the report's, or None if a number is missing.

    ours, report (PairT): The numbers that are compared.
    margin (float): The margin of our difference.
    rounding (float): By how much rounded numbers of the report may be off together.
    """
    # The mean of two differences is half of their sum, and so is its interval.
    half = mean_difference([ours, report[::-1]])
    if half is None:
        return None
    of_both = margin if half.margin is None else 2 * half.margin
    return Difference(2 * half.value, of_both + rounding + TINY)


def compare(
    results: Results, first: Key, second: Optional[Key], report: Optional[Difference] = None
) -> Conclusion:
    """Compare two of our numbers.

    first (Key): The key of a number in `results.stats`.
    second (Optional[Key]): The key of another one of the same metric. Without it, the first number
        is a difference already.
    report (Optional[Difference]): The report's difference, if it has one.
    """
    metric = METRICS[first[-1]]
    ours = difference(
        results.stats.get(first), NOTHING if second is None else results.stats.get(second)
    )
    if ours is None:
        return Conclusion(None, report, None, None, verdict(None, report, metric.tie))
    if metric.timed:
        runs = [run for key in (first, second) if key for run in results.facts_of(key).values()]
        are_comparable = same_training if first[-1] == SECONDS else same_cpu
        if not are_comparable([run.machine for run in runs]):
            return Conclusion(None, report, None, None, MACHINES)
    return Conclusion(
        ours,
        report,
        paired(_paired_differences(results, first, second)),
        _sentences(results, first, second) if metric.counted else None,
        verdict(ours, report, metric.tie),
    )


def _place(side: tuple[Group, str], dataset: str) -> tuple[Group, str, str]:
    group, line = side
    return group, dataset, line


def _paired_differences(results: Results, first: Key, second: Optional[Key]) -> list[float]:
    ones = results.values.get(first, {})
    if second is None:
        return list(ones.values())
    others = results.values.get(second, {})
    if CRF in (first[ARM], second[ARM]):
        return []
    return [ones[seed] - others[seed] for seed in sorted(ones.keys() & others.keys())]


def _sentences(results: Results, first: Key, second: Optional[Key]) -> Optional[Interval]:
    """Return the interval over sentences of runs with the same seed. A CRF has every seed.

    Increases of the error are those over the error of MultiHashEmbed.
    """
    if first[-1] == INCREASE:
        base = (*first[:ARM], HASH_EMBED, *first[ARM + 1 :])
        keys = [first, base] if second is None else [first, second, base]
        seeds = set.intersection(*(set(results.values.get(key, {})) for key in keys if key != base))
        return results.bootstrap.interval(
            [tuple(_counts_key(key, seed) for key in keys) for seed in sorted(seeds)],
            error_increase if second is None else more_increase,
        )
    assert second is not None  # only an increase is a difference already
    ones, others = (
        {seed: _counts_key(key, seed) for seed in results.facts_of(key)} for key in (first, second)
    )
    if first[ARM] == CRF:
        ones = dict.fromkeys(others, next(iter(ones.values())))
    if second[ARM] == CRF:
        others = dict.fromkeys(ones, next(iter(others.values())))
    return results.bootstrap.interval(
        [(ones[seed], others[seed]) for seed in ones if seed in others]
    )


def _counts_key(key: Key, seed: int) -> Key:
    """Return the key of the counts of a run that a number is of."""
    return (*key[: len(FACTORS)], str(seed), name_counts(key[len(FACTORS)], key[PART]))


def _is_noise(found: Difference) -> bool:
    return found.margin is not None and abs(found.value) <= found.margin
