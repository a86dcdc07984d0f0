"""How candidates for a recipe stand: what they gain over a base, and how long they train."""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass
from math import sqrt
from pathlib import Path
from statistics import fmean, stdev
from typing import Any, Optional

from wasabi import msg

from experiments.arms.recipe import BASE, JOIN
from experiments.arms.tasks import HASH_EMBED
from experiments.runs.files import is_done, read_result, results_path
from experiments.runs.grid import SEEDS, Run
from experiments.runs.machine import machine_of, same_training
from experiments.runs.scores import DEV

HALVING = Path("results") / "halving.json"
NONE = "–"
# Results by data set and seed.
Results = Mapping[tuple[str, int], Mapping[str, Any]]


@dataclass(frozen=True)
class Rung:
    """The runs of each candidate that is left.

    datasets (tuple[str, ...]): The data sets.
    seeds (tuple[int, ...]): The seeds on each of them.
    """

    datasets: tuple[str, ...]
    seeds: tuple[int, ...]

    def runs(self, arm: str) -> list[Run]:
        """List the runs of a candidate."""
        return [Run(dataset, arm, seed=seed) for seed in self.seeds for dataset in self.datasets]


@dataclass(frozen=True)
class Standing:
    """How a candidate does.

    arm (str): The candidate.
    gains (Mapping[str, float]): Its mean F1 minus that of the base, on each data set.
    gain (float): The mean of the gains.
    error (Optional[float]): Its standard error, of pairs of runs with the same data set and seed.
    runs (int): How many of its runs are compared.
    time (Optional[float]): Its CPU time of training divided by that of the report's settings: the
        mean of the data sets on which both are known.
    """

    arm: str
    gains: Mapping[str, float]
    gain: float
    error: Optional[float]
    runs: int
    time: Optional[float]


def rank(arms: Iterable[str], base: str, rung: Rung, split: str = DEV) -> list[Standing]:
    """Rank candidates by their gain over the base, the best first.

    arms (Iterable[str]): The candidates.
    base (str): What they are compared with. Runs that it lacks are not compared.
    split (str): The split that is scored.

    Raises ValueError if a candidate has no run that the base has as well.
    """
    of_base = _read(rung.runs(base))
    report = _read(Rung(rung.datasets, SEEDS).runs(HASH_EMBED))
    standings = []
    for arm in arms:
        own = _read(rung.runs(arm))
        gains: dict[str, list[float]] = {}
        for dataset, seed in own.keys() & of_base.keys():
            gain = _f1(own[dataset, seed], split) - _f1(of_base[dataset, seed], split)
            gains.setdefault(dataset, []).append(gain)
        if not gains:
            raise ValueError(
                f"{arm} and {base} have no run of the same data set and seed. Run them: python -m "
                f"experiments run-one {rung.runs(base)[0].name}"
            )
        means = {name: fmean(gains[name]) for name in rung.datasets if name in gains}
        pairs = [gain for of_dataset in gains.values() for gain in of_dataset]
        error = stdev(pairs) / sqrt(len(pairs)) if len(pairs) > 1 else None
        gain, time = fmean(means.values()), _time(own, report)
        standings.append(Standing(arm, means, gain, error, len(pairs), time))
    return sorted(standings, key=lambda standing: -standing.gain)


def _read(runs: Iterable[Run]) -> Results:
    return {(run.dataset, run.seed): read_result(results_path(run)) for run in runs if is_done(run)}


def _f1(result: Mapping[str, Any], split: str) -> float:
    return float(result[split]["all"]["f"] or 0.0)


def _time(own: Results, report: Results) -> Optional[float]:
    """Divide the CPU time of training by that of the report's settings, where both are known.

    Runs are compared by the rule of the result tables: the same CPU and the same optimizer.
    """
    shares = []
    for dataset in dict.fromkeys(dataset for dataset, _ in own):
        ours, theirs = ([of[key] for key in of if key[0] == dataset] for of in (own, report))
        if ours and theirs and same_training(map(machine_of, (*ours, *theirs))):
            shares.append(_cpu_seconds(ours) / _cpu_seconds(theirs))
    return fmean(shares) if shares else None


def _cpu_seconds(results: Sequence[Mapping[str, Any]]) -> float:
    return fmean(result["train_cpu_seconds"] for result in results)


def show(standings: Sequence[Standing], rung: Rung, base: str) -> None:
    """Print standings as a table."""
    rows = [
        (
            standing.arm.removeprefix(f"{BASE}{JOIN}"),
            *(_signed(standing.gains.get(dataset)) for dataset in rung.datasets),
            _signed(standing.gain),
            NONE if standing.error is None else f"{standing.error:.3f}",
            NONE if standing.time is None else f"{standing.time:.2f}",
        )
        for standing in standings
    ]
    header = ("candidate", *rung.datasets, "mean", "error", "time")
    aligns = ("l", *("r" for _ in header[1:]))
    msg.table(rows, header=header, divider=True, aligns=aligns, max_col=80)
    msg.text(f"F1 minus that of {base}, the mean's standard error, and CPU time of training")
    msg.text("divided by that of the report's settings")


def _signed(gain: Optional[float]) -> str:
    return NONE if gain is None else f"{gain:+.3f}"


def as_json(standings: Sequence[Standing], rung: Rung, **values: Any) -> dict[str, Any]:  # noqa: ANN401 (JSON)
    """Make standings writable, with what they are of."""
    return {**asdict(rung), **values, "standings": [asdict(standing) for standing in standings]}
