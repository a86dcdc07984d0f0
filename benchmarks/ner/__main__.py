"""The command: python -m benchmarks.ner."""

from collections.abc import Sequence
from dataclasses import asdict, replace
from functools import cache, partial
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
from benchmarks.common.text import Text, describe_text, load_text
from benchmarks.ner.cases import MD, PARTS, QUICK, Settings, plan
from benchmarks.ner.measure import Record, measure
from benchmarks.ner.plot import draw
from benchmarks.ner.subjects import make_subject
from benchmarks.ner.table import show
from benchmarks.ner.targets import PYTHON

NAME = f"ner-{PYTHON}"


def ner(text: Text, settings: Settings, results: Results[Record], only: Sequence[str]) -> None:
    """Measure the cases that the results lack, and write each when it is done.

    text (Text): The text from which the batches are taken.
    settings (Settings): The sizes.
    results (Results[Record]): The results, to which each case is added.
    only (Sequence[str]): The parts to measure. None of them means all.

    Raises ValueError for an unknown part, and if batch_ner does not do what spaCy's ner does.
    """
    subject_of = cache(partial(make_subject, text, settings))
    cases = {case.name: case for case in plan(settings, only)}
    measure_missing(results, cases, lambda case: measure(case, settings, subject_of))


def ner_cli(
    quick: Quick = False,
    only: Annotated[Optional[list[str]], only_option(PARTS)] = None,
    repeats: Repeats = None,
    output: Annotated[Optional[Path], output_option(NAME)] = None,
    plot: Plot = None,
    fresh: Fresh = False,
) -> None:
    """Compare batch_ner with spaCy's ner, given the vectors of tokens, in one thread.

    A stopped run continues where it was when it is started again.

    DOCS: benchmarks/README.md of spacy-multihash
    """
    settings = QUICK if quick else Settings()
    settings = replace(settings, repeats=repeats or settings.repeats)
    text, machine = load_text(), machine_facts()
    facts = {"machine": machine, "text": describe_text(text), "settings": asdict(settings)}
    if not has_md():
        msg.warn(f"{MD} is skipped: {TRAINED} or {TWEETS} does not exist")
    title = f"{machine['cpu']}, one thread, Python {PYTHON}; {text.name}"
    run_benchmark(
        choose_output(output, NAME, quick=quick),
        plot,
        facts,
        fresh=fresh,
        measure=lambda results: ner(text, settings, results, only or []),
        show=show,
        draw=partial(draw, title=title),
    )


if __name__ == "__main__":
    typer.run(ner_cli)
