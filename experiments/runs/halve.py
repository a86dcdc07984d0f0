"""Choose among candidates by successive halving, on dev sets alone.

All candidates are trained on a few data sets with one seed. The better half goes on to more data
sets and seeds, and so on (Jamieson and Talwalkar 2016). A candidate counts by the mean difference
of its F1 on dev from that of the base, over the runs that both have: data sets are not of equal
difficulty. The test sets are not looked at.
"""

import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from statistics import mean
from typing import Annotated, Optional

import typer
from wasabi import msg

from experiments.arms.recipe import BASE, RECIPE
from experiments.runs.files import RESULTS, is_done, read_result
from experiments.runs.grid import Run, lacks
from experiments.runs.pool import open_executor, run_with_progress
from spacy_multihash.inspection.halving import better_half


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


RUNGS = (
    Rung(("turku-one", "wnut17"), (0,)),
    Rung(("turku-one", "wnut17", "conll-es", "anem"), (0,)),
    Rung(("turku-one", "wnut17", "conll-es", "anem", "conll-nl", "archaeo"), (0, 1)),
    Rung(("turku-one", "wnut17", "conll-es", "anem", "conll-nl", "archaeo"), (0, 1, 2)),
)


@dataclass(frozen=True)
class Standing:
    """How a candidate does.

    arm (str): The candidate.
    gain (float): Its mean F1 on dev, less that of the base.
    runs (int): How many of its runs are compared.
    """

    arm: str
    gain: float
    runs: int


def rank(arms: Sequence[str], base: str, rung: Rung, results: Path = RESULTS) -> list[Standing]:
    """Rank candidates by their gain over the base, the best first.

    arms (Sequence[str]): The candidates, which have all their runs of the rung, as the base has.
    """
    known = [_dev(run, results) for run in rung.runs(base)]
    standings = []
    for arm in arms:
        found = [_dev(run, results) for run in rung.runs(arm)]
        gain = mean(f - of_base for f, of_base in zip(found, known, strict=True))
        standings.append(Standing(arm, gain, len(found)))
    return sorted(standings, key=lambda standing: -standing.gain)


def halve_cli(
    workers: Annotated[int, typer.Option(min=1, help="Number of runs at once")] = (
        os.cpu_count() or 1
    ),
    budget: Annotated[
        Optional[float], typer.Option(min=0, help="Minutes for all runs of a round")
    ] = None,
    rounds: Annotated[
        int, typer.Option(min=1, max=len(RUNGS), help="Rounds, each with half of the candidates")
    ] = len(RUNGS),
) -> None:
    """Choose a recipe among candidates, by successive halving on dev sets.

    Runs that are done are not run again, so the command goes on where it was interrupted.

    DOCS: docs/results.md
    """
    arms = list(RECIPE)
    try:
        for number, rung in enumerate(RUNGS[:rounds], start=1):
            missing = [run for arm in arms for run in rung.runs(arm) if not is_done(run)]
            for what in sorted(set(filter(None, map(lacks, missing)))):
                raise ValueError(f"Round {number} needs {what}")
            with open_executor(workers, None) as executor:
                errors, skipped = run_with_progress(missing, executor, workers, budget, False)
            if errors or skipped:
                left = f"{len(errors)} failed, {skipped} did not fit the budget"
                raise ValueError("\n".join([f"Round {number} is not complete: {left}", *errors]))
            standings = rank(arms, BASE, rung)
            rows = [(s.arm, f"{s.gain:+.3f}", str(s.runs)) for s in standings]
            header = ("candidate", "F1 on dev, minus the base", "runs")
            msg.divider(f"Round {number}: {len(arms)} candidates")
            msg.table(rows, header=header, divider=True, aligns=("l", "r", "r"))
            arms = better_half([standing.arm for standing in standings], BASE)
    except (OSError, ValueError) as error:
        msg.fail("Could not choose a recipe", str(error), exits=1)


def _dev(run: Run, results: Path) -> float:
    scores = read_result(results / f"{run.name}.json")["dev"]["all"]
    return float(scores["f"] or 0.0)
