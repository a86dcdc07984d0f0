"""The command: python -m benchmarks.dilated."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Optional

import typer
from thinc.api import prefer_gpu

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
from benchmarks.common.tables import print_table
from benchmarks.common.text import Text, describe_text, load_text
from benchmarks.dilated.cases import PARTS, QUICK, Settings, plan
from benchmarks.dilated.decoding import train_decoders
from benchmarks.dilated.measure import Record, measure
from benchmarks.dilated.plot import draw
from benchmarks.dilated.table import HEADER, table_rows


def dilated(text: Text, settings: Settings, results: Results[Record], only: Sequence[str]) -> None:
    """Measure the cases that the results lack, and write each when it is done.

    text (Text): The text from which the batches are taken.
    settings (Settings): The sizes.
    results (Results[Record]): The results, to which each case is added.
    only (Sequence[str]): The parts to measure. None of them means all.

    Raises ValueError for an unknown part.
    """
    trained = cache(partial(train_decoders, text, settings))
    cases = {case.name: case for case in plan(settings, only)}
    measure_missing(results, cases, lambda case: measure(case, text, settings, trained))


def dilated_cli(
    quick: Quick = False,
    only: Annotated[Optional[list[str]], only_option(PARTS)] = None,
    repeats: Repeats = None,
    output: Annotated[Optional[Path], output_option("dilated")] = None,
    plot: Plot = None,
    fresh: Fresh = False,
) -> None:
    """Compare dilated convolutions and tagger_ner with maxout windows and spaCy's ner.

    Runs on a GPU if there is one. A stopped run continues where it was when it is started again.

    DOCS: benchmarks/README.md of spacy-multihash
    """
    settings = QUICK if quick else Settings()
    settings = replace(settings, repeats=repeats or settings.repeats)
    text, machine = load_text(), machine_facts()
    machine["device"] = "GPU" if prefer_gpu() else "CPU"
    facts = {"machine": machine, "text": describe_text(text), "settings": asdict(settings)}
    title = f"{machine['cpu']}, {machine['device']}; {text.name}"
    run_benchmark(
        choose_output(output, "dilated", quick=quick),
        plot,
        facts,
        fresh=fresh,
        measure=lambda results: dilated(text, settings, results, only or []),
        show=lambda records: print_table(HEADER, table_rows(records), "lllllrrr"),
        draw=partial(draw, title=title),
    )


if __name__ == "__main__":
    typer.run(dilated_cli)
