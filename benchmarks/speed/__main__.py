"""The command: python -m benchmarks.speed."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import partial
from pathlib import Path
from typing import Annotated, Optional

import typer
from wasabi import msg

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
from benchmarks.common.paths import TRAINED, TWEETS, has_md
from benchmarks.common.results import Results, machine_facts, measure_missing
from benchmarks.common.tables import print_table
from benchmarks.common.text import Text, describe_text, load_text
from benchmarks.speed.cases import MD, NAMES, QUICK, Settings, plan
from benchmarks.speed.measure import Record, measure
from benchmarks.speed.plot import draw
from benchmarks.speed.table import HEADER, table_rows


def speed(text: Text, settings: Settings, results: Results[Record], only: Sequence[str]) -> None:
    """Measure the cases that the results lack, and write each when it is done.

    text (Text): The text from which the batches are taken.
    settings (Settings): The sizes.
    results (Results[Record]): The results, to which each case is added.
    only (Sequence[str]): The names to measure, of NAMES. None of them means all.

    Raises ValueError for an unknown name.
    """
    cases = {case.name: case for case in plan(settings, only)}
    measure_missing(results, cases, lambda case: measure(case, text, settings))


def speed_cli(
    quick: Quick = False,
    only: Annotated[Optional[list[str]], only_option(NAMES)] = None,
    repeats: Repeats = None,
    output: Annotated[Optional[Path], output_option("speed")] = None,
    plot: Plot = None,
    fresh: Fresh = False,
) -> None:
    """Compare the times of spaCy's layers and pipelines with ours, on the same weights.

    A stopped run continues where it was when it is started again.

    DOCS: benchmarks/README.md of spacy-multihash
    """
    settings = QUICK if quick else Settings()
    settings = replace(settings, repeats=repeats or settings.repeats)
    text = load_text()
    machine = machine_facts()
    facts = {"machine": machine, "text": describe_text(text), "settings": asdict(settings)}
    if not has_md():
        msg.warn(f"{MD} is skipped: {TRAINED} or {TWEETS} does not exist")
    title = f"{machine['cpu']}, {machine['cores']} cores; {text.name}"
    run_benchmark(
        choose_output(output, "speed", quick=quick),
        plot,
        facts,
        fresh=fresh,
        measure=lambda results: speed(text, settings, results, only or []),
        show=lambda records: print_table(HEADER, table_rows(records), "lrllrrrrrrr"),
        draw=partial(draw, title=title),
    )


if __name__ == "__main__":
    typer.run(speed_cli)
