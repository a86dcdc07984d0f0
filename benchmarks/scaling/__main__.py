"""The command: python -m benchmarks.scaling."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Optional

import typer

from benchmarks.common.command import run_benchmark
from benchmarks.common.options import (
    Fresh,
    Plot,
    Quick,
    Repeats,
    choose_output,
    only_option,
    output_option,
)
from benchmarks.common.results import Results, machine_facts, measure_missing
from benchmarks.common.text import Text, describe_text, load_text
from benchmarks.scaling.cases import FULL, MILLION, QUICK, Settings, plan
from benchmarks.scaling.measure import Record, measure
from benchmarks.scaling.plot import LABELS, draw
from benchmarks.scaling.summary import summarise
from benchmarks.scaling.table import show


def scaling(text: Text, settings: Settings, results: Results[Record], only: Sequence[str]) -> None:
    """Measure the cases that the results lack in one thread, and write each when it is done.

    text (Text): The text whose words the docs have.
    settings (Settings): The sizes.
    results (Results[Record]): The results, to which each case is added.
    only (Sequence[str]): The axes to measure, MILLION among them. None of them means all.

    Raises ValueError for an unknown axis.
    """
    cases = {case.name: case for case in plan(settings, only)}
    measure_missing(results, cases, lambda case: measure(case, text, settings))
    results.write(summary=summarise(results.records))


def scaling_cli(
    quick: Quick = False,
    only: Annotated[Optional[list[str]], only_option([*FULL.axes, MILLION])] = None,
    repeats: Repeats = None,
    output: Annotated[Optional[Path], output_option("scaling")] = None,
    plot: Plot = None,
    fresh: Fresh = False,
) -> None:
    """Compare how the time and the memory of spaCy's layers and ours grow, in one thread.

    A stopped run continues where it was when it is started again.

    DOCS: benchmarks/README.md of spacy-multihash
    """
    settings = QUICK if quick else FULL
    settings = replace(settings, repeats=repeats or settings.repeats)
    text, machine = load_text(), machine_facts()
    facts = {"machine": machine, "text": describe_text(text), "settings": asdict(settings)}
    base = asdict(settings.base).items()
    rest = ", ".join(f"{LABELS[key]} {value:,}" for key, value in base if value is not None)
    title = f"{machine['cpu']}, 1 thread; {text.name}.\nWhere not varied: {rest}."
    run_benchmark(
        choose_output(output, "scaling", quick=quick),
        plot,
        facts,
        fresh=fresh,
        measure=lambda results: scaling(text, settings, results, only or []),
        show=show,
        draw=partial(draw, title=title),
    )


if __name__ == "__main__":
    typer.run(scaling_cli)
