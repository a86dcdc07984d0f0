"""Measure the time of embeddings with many features, divided by that with the report's four."""

import random
from collections.abc import Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, Any, NamedTuple, Optional, TypedDict

import typer
from thinc.api import Model, fix_random_seed
from wasabi import msg

from benchmarks.common.bars import Bar, Panel, draw_panels
from benchmarks.common.command import run_benchmark
from benchmarks.common.figures import BLUE, SKY
from benchmarks.common.layers import ATTRS, predict_step, random_gradients, training_step
from benchmarks.common.options import (
    Fresh,
    Plot,
    Quick,
    Repeats,
    check_only,
    choose_output,
    only_option,
    output_option,
)
from benchmarks.common.results import Results, machine_facts, measure_missing
from benchmarks.common.tables import print_table, show_ratio
from benchmarks.common.text import (
    Text,
    count_tokens,
    count_types,
    describe_text,
    load_text,
    take_batches,
    take_docs,
    take_tokens,
)
from benchmarks.common.timing import ALL, ONE, limit_threads, list_times, ratio, time_rounds
from spacy_multihash import build_multi_hash_embed_v1

SLICES = [
    *("ORTH[:1]", "ORTH[:2]", "ORTH[:3]", "ORTH[-2:]", "ORTH[-3:]", "ORTH[-4:]"),
    *("LOWER[:4]", "LOWER[-5:]"),
]
NGRAMS = "LOWER{3,5}"
FOUR = "4 attributes"
# The settings of each embedding.
ARMS: dict[str, dict[str, Any]] = {
    FOUR: {"attrs": ATTRS},
    "8 attributes": {"attrs": [*ATTRS, "ORTH", "LOWER", "IS_TITLE", "IS_DIGIT"]},
    "8 slices": {"attrs": SLICES},
    "4 attributes, 8 slices": {"attrs": [*ATTRS, *SLICES]},
    "4 attributes, n-grams": {"attrs": [*ATTRS, NGRAMS]},
    "4 attributes, mean of n-grams": {"attrs": [*ATTRS, NGRAMS], "reduce": "mean"},
    "4 attributes, n-grams once": {"attrs": [*ATTRS, NGRAMS], "count_repeats": False},
}
COLORS = {ONE: SKY, ALL: BLUE}
STEPS = {"predict": "prediction", "train": "training step"}
WIDTH, ROWS = 96, 2500
# The number of batches that the rounds take in turn.
BATCHES = 4
# Our targets: a prediction takes at most this many times as long as with four attributes.
TARGETS = {"8 slices": 1.6, "4 attributes, n-grams": 3.0, "4 attributes, mean of n-grams": 3.0}
HEADER = ("step", "threads", "features", "time / time of 4", "us per distinct token")


class Case(NamedTuple):
    """A step that is measured with all embeddings.

    step: "predict", or "train" (forward and backward).
    threads: ONE or ALL.
    docs: The number of docs in a batch that is predicted.
    tokens: The least number of tokens in a training batch.
    """

    step: str
    threads: str
    docs: int = 256
    tokens: int = 1000

    @property
    def name(self) -> str:
        """Return the name of the case in the results."""
        return f"{self.step}/{self.threads.replace(' ', '-')}"


class Record(TypedDict):
    """A case in the results.

    types: The distinct tokens of each batch.
    ratio: For each embedding, its time divided by that of the four attributes.
    us_per_type: For each embedding, the median time of a distinct token in microseconds.
    """

    case: dict[str, object]
    num_threads: int
    tokens: list[int]
    types: list[int]
    times_ms: dict[str, list[float]]
    ratio: dict[str, dict[str, float]]
    us_per_type: dict[str, float]


CASES = [Case(step, threads) for threads in (ONE, ALL) for step in STEPS]
QUICK = [case._replace(docs=8, tokens=60) for case in CASES]


def measure(case: Case, text: Text, rounds: int) -> Record:
    """Time all embeddings in turns."""
    take = (
        partial(take_docs, size=case.docs)
        if case.step == "predict"
        else partial(take_tokens, size=case.tokens)
    )
    batches = take_batches(text.docs, take, BATCHES)
    models = {name: build(settings, text) for name, settings in ARMS.items()}
    if case.step == "predict":
        steps = {name: predict_step(model, batches) for name, model in models.items()}
    else:
        gradients = [random_gradients(batch, WIDTH) for batch in batches]
        steps = {name: training_step(m, batches, gradients) for name, m in models.items()}
    with limit_threads(1 if case.threads == ONE else None) as num_threads:
        times = time_rounds(steps, rounds=rounds, rng=random.Random(0))
    types = [count_types(batch) for batch in batches]
    per_type = {
        name: float(sorted(ms / types[i % BATCHES] for i, ms in enumerate(each))[rounds // 2])
        for name, each in times.items()
    }
    return Record(
        case=case._asdict(),
        num_threads=num_threads,
        tokens=[count_tokens(batch) for batch in batches],
        types=types,
        times_ms=list_times(times),
        ratio={name: asdict(ratio(times[name], times[FOUR])) for name in ARMS},
        us_per_type={name: round(1000 * ms, 3) for name, ms in per_type.items()},
    )


def build(settings: Mapping[str, Any], text: Text) -> Model:
    """Build and initialize an embedding."""
    fix_random_seed(0)
    rows = [ROWS] * len(settings["attrs"])
    model = build_multi_hash_embed_v1(
        width=WIDTH, rows=rows, include_static_vectors=False, **settings
    )
    return model.initialize(X=text.docs[:10])


def table_rows(records: Mapping[str, Record]) -> list[tuple[str, ...]]:
    """Make the rows of the table."""
    return [
        (
            STEPS[str(record["case"]["step"])],
            str(record["case"]["threads"]),
            name,
            show_ratio(record["ratio"][name]),
            f"{record['us_per_type'][name]:.2f}",
        )
        for record in records.values()
        for name in record["ratio"]
    ]


def show(records: Mapping[str, Record]) -> None:
    """Print the table and the targets."""
    print_table(HEADER, table_rows(records), "lllrr")
    for name, target in TARGETS.items():
        msg.text(f"Our target for a prediction with {name}: at most {target}")


def draw(path: Path, records: Mapping[str, Record]) -> None:
    """Draw the ratios as bars, with their intervals."""
    panels = []
    for step, words in STEPS.items():
        bars = [
            Bar(name, str(record["case"]["threads"]), values)
            for record in records.values()
            if record["case"]["step"] == step
            for name, values in record["ratio"].items()
            if name != FOUR
        ]
        if bars:
            xlabel = f"time divided by that of {FOUR}\n(above 1: slower)"
            panels.append(Panel(words, xlabel, bars))
    draw_panels(path, panels, COLORS, "What features cost", columns=1)


def features_cli(
    quick: Quick = False,
    only: Annotated[Optional[list[str]], only_option(list(STEPS))] = None,
    repeats: Repeats = None,
    output: Annotated[Optional[Path], output_option("features")] = None,
    plot: Plot = None,
    fresh: Fresh = False,
) -> None:
    """Measure embeddings with 4, 8 and 12 features, and with n-grams of characters.

    A stopped run continues where it was when it is started again.

    DOCS: benchmarks/README.md of spacy-multihash
    """
    text, rounds = load_text(), repeats or (3 if quick else 40)
    facts = {"machine": machine_facts(), "text": describe_text(text), "rounds": rounds}
    run_benchmark(
        choose_output(output, "features", quick=quick),
        plot,
        facts,
        fresh=fresh,
        measure=lambda results: features(
            text, QUICK if quick else CASES, rounds, only or [], results
        ),
        show=show,
        draw=draw,
    )


def features(
    text: Text,
    cases: Sequence[Case],
    rounds: int,
    only: Sequence[str],
    results: Results[Record],
) -> None:
    """Measure the cases that the results lack, and write each one when it is done.

    only (Sequence[str]): The steps to measure. None of them means all.

    Raises ValueError for an unknown step.
    """
    check_only(only, list(STEPS))
    named = {case.name: case for case in cases if not only or case.step in only}
    measure_missing(results, named, lambda case: measure(case, text, rounds))


if __name__ == "__main__":
    typer.run(features_cli)
