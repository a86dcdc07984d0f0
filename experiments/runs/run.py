"""Run the experiments that have no results yet, several of them at once."""

import os
from collections import Counter
from fnmatch import fnmatch
from typing import Annotated, Optional

import typer
from wasabi import msg

from experiments.runs.grid import lacks
from experiments.runs.plan import make_grid
from experiments.runs.pool import open_executor, run_with_progress
from experiments.runs.state import find_states, runs_to_do


def run_grid_cli(
    only: Annotated[
        Optional[list[str]],
        typer.Argument(help="Patterns of names, such as 'conll-es/*/no-vectors/seed0'"),
    ] = None,
    workers: Annotated[int, typer.Option(min=1, help="Number of runs at once on this machine")] = (
        os.cpu_count() or 1
    ),
    budget: Annotated[
        Optional[float],
        typer.Option(
            min=0, help="Minutes for all runs: a run starts only if it is expected to fit"
        ),
    ] = None,
    dask: Annotated[
        Optional[str], typer.Option(help="Address of a Dask scheduler, for several machines")
    ] = None,
    renew: Annotated[
        bool,
        typer.Option("--renew", help="Also unrecorded results, and those of older code or corpora"),
    ] = False,
    unrecorded: Annotated[
        bool,
        typer.Option(
            "--unrecorded", help="Also results that do not say of which machine and code they are"
        ),
    ] = False,
    list_only: Annotated[
        bool, typer.Option("--list", help="List the runs with their states and exit")
    ] = False,
) -> None:
    """Run the experiments that have no results yet, each in its own process with one thread.

    A run is done when its results are in results/runs/. You can interrupt the command at any time
    and start it again: unfinished runs start anew. With --renew or --unrecorded, older results stay
    until the new ones are complete.

    DOCS: docs/results.md
    """
    try:
        only = only or ["*"]
        grid = [run for run in make_grid() if any(fnmatch(run.name, p) for p in only)]
        if not grid:
            raise ValueError(f"No run matches {' or '.join(only)}. List the names with --list.")
        if list_only:
            for run, state in find_states(grid).items():
                typer.echo(state.of(run))
            return
        missing = runs_to_do(grid, renew=renew, unrecorded=unrecorded)
        needs = Counter(filter(None, map(lacks, missing)))
        for what, count in needs.items():
            msg.warn(f"{count} runs are left out: they need {what}")
        ready = [run for run in missing if not lacks(run)]
        with open_executor(workers, dask) as executor:
            errors, skipped = run_with_progress(
                ready, executor, workers, budget, renew or unrecorded
            )
    except (OSError, ValueError) as error:
        msg.fail("Could not run the experiments", str(error), exits=1)
    done = len(ready) - len(errors) - skipped
    msg.info(f"{done} runs done, {skipped} did not fit the budget, {len(errors)} failed")
    if errors:
        msg.fail(f"{len(errors)} runs failed", "\n".join(errors), exits=1)
