"""Choose a recipe among candidates by successive halving, on dev sets alone.

First each option is tried alone: with one seed, on two data sets that are cheap and vary little.
The best of them is then tried with those of other kinds, with another seed. The better half of
these goes on to more data sets, and the better half of these to all data sets and seeds (Jamieson
and Talwalkar 2016). A candidate counts by the mean difference of its F1 on dev from that of the
base, over the runs that both have: data sets are not of equal difficulty. The test sets are not
looked at until one is chosen.
"""

import os
import shutil
from collections.abc import Callable, Iterable, Sequence
from contextlib import suppress
from typing import Annotated, Any, Optional

import typer
from tqdm import tqdm
from wasabi import msg

from experiments.arms.recipe import BASE, JOIN, RECIPE, make_products
from experiments.arms.tasks import HASH_EMBED
from experiments.runs.files import is_done, read_json
from experiments.runs.grid import SEEDS, Run, lacks
from experiments.runs.one import locked, score_test
from experiments.runs.pool import open_executor, run_with_progress
from experiments.runs.scores import TEST
from experiments.runs.standings import HALVING, Rung, Standing, as_json, rank, show
from experiments.runs.state import DONE, MISSING, find_states, runs_to_do
from experiments.runs.training import MODEL
from experiments.runs.vector_files import VECTOR_SETS, VECTORS
from spacy_multihash.common.files import write_json
from spacy_multihash.inspection.halving import best_of, better_half

# The options alone.
SINGLES = Rung(("conll-es", "anem"), (0,))
# The best options and their products, with another seed than the one by which they were taken.
CHEAP = (*SINGLES.datasets, "wnut17")
ALL = (*CHEAP, "turku-one", "conll-nl", "archaeo")
PRODUCTS = (Rung(CHEAP, (1,)), Rung((*CHEAP, "turku-one"), (1,)), Rung(ALL, SEEDS))
ROUNDS = (SINGLES, *PRODUCTS)
# Candidates that train longer than this many times the report's settings do not go on.
MOST_TIME = 1.5
# By the seeds of the report's and the regularized settings, the mean difference of 18 pairs has a
# standard error of about 0.004, most of it from tweets. A candidate wins if it gains two of these.
MARGIN = 0.008

# A function that trains runs, and returns errors.
Train = Callable[[Sequence[Run]], list[str]]


def choose(train: Train, rounds: int = len(ROUNDS)) -> dict[str, Any]:
    """Choose a recipe, and return what is known after each round, and the winner or None.

    The same is shown, and written to results/halving.json. What the file has of test stays if the
    same candidate wins. A candidate that cannot be trained is
    named and left out. The models of those that do not go on are deleted.

    train (Train): Trains the runs of a round, unless they have results.
    rounds (int): How many rounds to go.

    Raises ValueError if the base cannot be trained.
    """
    arms, known, winner = list(RECIPE), list[dict[str, Any]](), None
    former = read_json(HALVING, "choose again") if HALVING.is_file() else {}
    for number, rung in enumerate(ROUNDS[:rounds], start=1):
        msg.divider(f"Round {number}: {len(arms)} candidates")
        for error in train([run for arm in arms for run in rung.runs(arm)]):
            msg.warn("A run failed", error)
        trained = [arm for arm in arms if all(map(is_done, rung.runs(arm)))]
        if BASE not in trained:
            raise ValueError(f"Round {number} needs the runs of the base, {BASE}, which failed")
        failed = [arm for arm in arms if arm not in trained]
        if failed:
            msg.warn(f"Left out, since they lack results: {', '.join(failed)}")
        standings = rank(trained, BASE, rung)
        show(standings, rung, BASE)
        known.append(as_json(standings, rung, failed=failed))
        if rung is ROUNDS[-1]:
            winner = best_of({s.arm: s.gain for s in _affordable(standings)}, BASE, MARGIN)
        else:
            left = _go_on(standings, rung)
            _forget(arm for arm in arms if arm not in left)
            arms = left
        if arms == [BASE]:
            winner = BASE
        is_scored = bool(winner) and former.get("winner") == winner and "test" in former
        tested = {"test": former["test"]} if is_scored else {}
        write_json(HALVING, {"rounds": known, "winner": winner, **tested})
        if winner:
            break
    return {"rounds": known, "winner": winner}


def _affordable(standings: Sequence[Standing]) -> list[Standing]:
    """List the base and the candidates that do not train too long, as far as that is known."""
    return [s for s in standings if s.arm == BASE or s.time is None or s.time <= MOST_TIME]


def _go_on(standings: Sequence[Standing], rung: Rung) -> list[str]:
    """List the candidates of the next round: the best options and their products, or half of them.

    standings (Sequence[Standing]): The candidates of a round, the best first.
    """
    able = _affordable(standings)
    if rung is not SINGLES:
        return better_half([standing.arm for standing in able], BASE)
    gains = {standing.arm.removeprefix(f"{BASE}{JOIN}"): standing.gain for standing in able}
    times = {s.arm.removeprefix(f"{BASE}{JOIN}"): s.time for s in able if s.time is not None}
    of_base = times.pop(BASE, 1.0)
    shares = {name: time / of_base for name, time in times.items()}
    return [BASE, *make_products(gains, shares, most_time=MOST_TIME / of_base)]


def _forget(arms: Iterable[str]) -> None:
    """Delete the models of candidates, but for those that others work on. Their results stay."""
    for run in {run for arm in arms for rung in ROUNDS for run in rung.runs(arm)}:
        if run.folder.is_dir():
            with suppress(ValueError), locked(run):
                shutil.rmtree(run.folder / MODEL, ignore_errors=True)


def compare_on_test(winner: str, train: Train) -> list[Standing]:
    """Score the base and the chosen recipe on test, and rank them with the report's settings.

    Scores that are known are not made again. If the base was left alone before the last round, its
    runs are trained first.
    """
    rung = ROUNDS[-1]
    arms = list(dict.fromkeys([winner, BASE]))
    runs = [run for arm in arms for run in rung.runs(arm)]
    if train(runs):
        raise ValueError("Not all runs could be trained, so that none is scored on test")
    for run in tqdm(runs, unit="run"):
        score_test(run)
    missing = sum(not is_done(run) for run in rung.runs(HASH_EMBED))
    if missing:
        msg.warn(
            f"{missing} runs of the report's settings have no results, and are not compared",
            f"Make them: python -m experiments run-grid '*/{HASH_EMBED}/no-vectors/*'",
        )
    return rank([*arms, HASH_EMBED], HASH_EMBED, rung, TEST)


def score_with_vectors(winner: str, train: Train) -> None:
    """Train the chosen recipe with static vectors as well, and score it on test.

    Vectors that are not there are named, and the runs that need them are left out.
    """
    every = [
        Run(dataset, winner, VECTORS[dataset], seed) for seed in SEEDS for dataset in VECTOR_SETS
    ]
    for what in sorted(set(filter(None, map(lacks, every)))):
        msg.warn("Not trained with vectors everywhere", f"The runs need {what}")
    runs = [run for run in every if not lacks(run)]
    if train(runs):
        raise ValueError("Not all runs with vectors could be trained, so that none is scored")
    for run in tqdm(runs, unit="run"):
        score_test(run)


def halve_cli(
    workers: Annotated[int, typer.Option(min=1, help="Number of runs at once")] = (
        os.cpu_count() or 1
    ),
    budget: Annotated[
        Optional[float], typer.Option(min=0, help="Minutes for all runs of a round")
    ] = None,
    rounds: Annotated[
        int,
        typer.Option(min=1, max=len(ROUNDS), help="Rounds: options alone, then the best of them"),
    ] = len(ROUNDS),
    renew: Annotated[
        bool,
        typer.Option("--renew", help="Also unrecorded results, and those of older code or corpora"),
    ] = False,
    test: Annotated[
        bool,
        typer.Option(
            "--test",
            help="At the end score what is chosen on test, also with vectors, and the base",
        ),
    ] = False,
) -> None:
    """Choose a recipe among candidates, by successive halving on dev sets.

    Runs that are done are not run again, so the command goes on where it was interrupted. The
    standings are written to results/halving.json.

    DOCS: docs/recipe-results.md
    """

    def train(runs: Sequence[Run]) -> list[str]:
        missing = runs_to_do(runs, renew=renew)
        if needs := sorted(set(filter(None, map(lacks, missing)))):
            raise ValueError(f"The runs need {', and '.join(needs)}")
        with open_executor(workers, None) as executor:
            errors, skipped = run_with_progress(missing, executor, workers, budget, renew)
        if skipped:
            raise ValueError(f"{skipped} runs did not fit the budget. Start the command again.")
        _warn_of_older_code(runs)
        return errors

    try:
        known = choose(train, rounds)
        winner = known["winner"]
        if winner:
            msg.good(f"Chosen by dev: {winner}")
        if test and not winner:
            raise ValueError("A recipe is scored on test once it is chosen: leave out --rounds")
        if test:
            standings = compare_on_test(winner, train)
            msg.divider("On test")
            show(standings, ROUNDS[-1], HASH_EMBED)
            write_json(HALVING, {**known, "test": as_json(standings, ROUNDS[-1])})
            score_with_vectors(winner, train)
    except (OSError, ValueError) as error:
        msg.fail("Could not choose a recipe", str(error), exits=1)


def _warn_of_older_code(runs: Sequence[Run]) -> None:
    states = [state.name for state in find_states(runs).values()]
    older = sum(state not in (DONE, MISSING) for state in states)
    if older:
        msg.warn(
            f"{older} of {len(runs)} results are of older code, or do not say of which",
            "Make them again: python -m experiments halve --renew",
        )
