"""Measure the time of MultiWeightedHashEmbed, divided by that of MultiHashEmbed."""

import random
from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Annotated, NamedTuple, Optional, TypedDict

import numpy
import typer
from spacy.tokens import Doc
from thinc.api import Adam, Model, Ops, Optimizer, fix_random_seed
from thinc.types import FloatsXd
from wasabi import msg

from benchmarks.common.bars import Bar, Panel, draw_panels
from benchmarks.common.command import run_benchmark
from benchmarks.common.figures import BLUE, SKY
from benchmarks.common.layers import (
    ATTRS,
    ROWS,
    check_same_vectors,
    predict_step,
    random_gradients,
    training_step,
)
from benchmarks.common.options import Fresh, Plot, Quick, Repeats, choose_output, output_option
from benchmarks.common.results import Results, machine_facts, measure_missing
from benchmarks.common.tables import print_table, show_ratio
from benchmarks.common.text import Text, describe_text, load_text, take_batches, take_tokens
from benchmarks.common.timing import (
    ALL,
    ONE,
    Step,
    limit_threads,
    list_times,
    ratio,
    time_rounds,
)
from spacy_multihash import build_multi_hash_embed_v1, build_multi_weighted_hash_embed_v1
from spacy_multihash.embed.attributes import attr_id

UNWEIGHTED, WEIGHTED = "MultiHashEmbed", "MultiWeightedHashEmbed"
COLORS = {ONE: SKY, ALL: BLUE}
# The words for steps in the plot.
STEPS = {
    "train": "training step",
    "update": "training step with Adam",
    "predict": "prediction",
    "tables": "training step of the tables alone",
}
# The number of batches that the rounds take in turn.
BATCHES = 4
# Our target: a training step with k = 2 takes at most this many times as long.
TARGET = 1.3
HEADER = ("step", "tokens", "width", "hashes", "rows", "threads", "weighted / unweighted time")


class Case(NamedTuple):
    """One embedding, and the step that is measured.

    step: "predict", "train" (forward and backward), "update" (and the optimizer), or "tables"
        (forward and backward through the tables of all attributes alone, without the mix).
    tokens: The least number of tokens in a batch.
    width: The width of the vectors.
    num_hashes: The number of hash functions.
    rows: The number of component vectors of each attribute, as a multiple of the default.
    threads: ONE or ALL.
    """

    step: str
    tokens: int = 1000
    width: int = 96
    num_hashes: int = 2
    rows: float = 1.0
    threads: str = ONE

    @property
    def name(self) -> str:
        """Return the name of the case in the results."""
        sizes = f"tokens{self.tokens}/width{self.width}/hashes{self.num_hashes}/rows{self.rows:g}"
        return f"{self.step}/{sizes}/{self.threads.replace(' ', '-')}"


class Record(TypedDict):
    """A case in the results.

    ratio: The weighted time divided by the unweighted time.
    """

    case: dict[str, object]
    num_threads: int
    times_ms: dict[str, list[float]]
    ratio: dict[str, float]


CASES = [
    *(Case(step, threads=t) for t in (ONE, ALL) for step in ("train", "update", "predict")),
    Case("tables"),
    *(Case("train", tokens=n) for n in (100, 4000, 16000)),
    *(Case("train", num_hashes=k) for k in (1, 4, 8)),
    *(Case("train", width=w) for w in (64, 256)),
    *(Case("update", rows=r) for r in (0.1, 4.0)),
]
QUICK = [
    Case(step, tokens=60, width=16, rows=0.1) for step in ("train", "update", "predict", "tables")
]


def weighted(text: Text, cases: Sequence[Case], rounds: int, results: Results[Record]) -> None:
    """Measure the cases that the results lack, and write each one when it is done."""
    named = {case.name: case for case in cases}
    measure_missing(results, named, lambda case: measure(case, text, rounds))


def measure(case: Case, text: Text, rounds: int) -> Record:
    """Time both embeddings in turns."""
    fix_random_seed(0)
    batches = take_batches(text.docs, partial(take_tokens, size=case.tokens), BATCHES)
    steps = {name: make_step(model, case, batches) for name, model in build(case, batches).items()}
    with limit_threads(1 if case.threads == ONE else None) as num_threads:
        times = time_rounds(steps, rounds=rounds, rng=random.Random(0))
    return Record(
        case=case._asdict(),
        num_threads=num_threads,
        times_ms=list_times(times),
        ratio=asdict(ratio(times[WEIGHTED], times[UNWEIGHTED])),
    )


def build(case: Case, batches: Sequence[Sequence[Doc]]) -> dict[str, Model]:
    """Build both embeddings with the same initial weights, and importance of 1."""
    rows = [max(round(n * case.rows), 1) for n in ROWS]
    models = {}
    for name, build_embed in (
        (UNWEIGHTED, build_multi_hash_embed_v1),
        (WEIGHTED, partial(build_multi_weighted_hash_embed_v1, importance_init=ones_init)),
    ):
        fix_random_seed(0)
        model = build_embed(case.width, ATTRS, rows, False, case.num_hashes)
        models[name] = model.initialize(X=list(batches[0]))
    check_same_vectors(models.values(), batches[0])
    return models


def ones_init(ops: Ops, shape: tuple[int, ...]) -> FloatsXd:
    """Give each symbol an importance of 1."""
    return ops.alloc_f(shape) + 1


def make_step(model: Model, case: Case, batches: Sequence[Sequence[Doc]]) -> Step:
    """Make the step of a case."""
    if case.step == "predict":
        return predict_step(model, batches)
    if case.step == "tables":
        (tables,) = (node for node in model.walk() if node.name == "multi_embed")
        ids = [distinct_ids(batch) for batch in batches]
        gradients = [numpy.random.uniform(-1, 1, tables.predict(X).shape) for X in ids]
        return training_step(tables, ids, [d.astype("float32") for d in gradients])
    train = training_step(model, batches, [random_gradients(b, case.width) for b in batches])
    if case.step == "train":
        return train
    optimizer = Adam(0.001)

    def prepare(i: int) -> Callable[[], object]:
        return partial(update, model, train(i), optimizer)

    return prepare


def update(model: Model, forward_backward: Callable[[], object], optimizer: Optimizer) -> None:
    """Go forward and backward, and let the optimizer change the weights."""
    forward_backward()
    model.finish_update(optimizer)


def distinct_ids(docs: Sequence[Doc]) -> numpy.ndarray:
    """List the distinct tokens of a batch, (U, A) uint64."""
    ids = [doc.to_array([attr_id(attr) for attr in ATTRS]) for doc in docs]
    return numpy.unique(numpy.concatenate(ids), axis=0)


def table_rows(records: Mapping[str, Record]) -> list[tuple[str, ...]]:
    """Make the rows of the table."""
    rows = []
    for record in records.values():
        case = Case(**record["case"])  # type: ignore[arg-type]
        cells = (case.step, f"{case.tokens:,}", case.width, case.num_hashes, case.rows)
        rows.append((*map(str, cells), case.threads, show_ratio(record["ratio"])))
    return rows


def show(records: Mapping[str, Record]) -> None:
    """Print the table and the target."""
    print_table(HEADER, table_rows(records), "lrrrrlr")
    msg.text(f"Our target for a training step with 2 hashes: at most {TARGET}")


def draw(path: Path, records: Mapping[str, Record]) -> None:
    """Draw the ratios as bars, with their intervals."""
    bars = []
    for record in records.values():
        case = Case(**record["case"])  # type: ignore[arg-type]
        hashes = f"{case.num_hashes} hash{'es' * (case.num_hashes > 1)}"
        sizes = f"{case.tokens:,} tokens, width {case.width}, {hashes}, {case.rows:g} x the rows"
        bars.append(Bar(f"{STEPS[case.step]},\n{sizes}", case.threads, record["ratio"]))
    xlabel = f"time of {WEIGHTED} divided by\nthat of {UNWEIGHTED} (above 1: slower)"
    title = "What importance parameters cost, by step and size"
    draw_panels(path, [Panel("", xlabel, bars)], COLORS, title, columns=1)


def weighted_cli(
    quick: Quick = False,
    repeats: Repeats = None,
    output: Annotated[Optional[Path], output_option("weighted")] = None,
    plot: Plot = None,
    fresh: Fresh = False,
) -> None:
    """Measure MultiWeightedHashEmbed beside MultiHashEmbed, on the same weights.

    A stopped run continues where it was when it is started again.

    DOCS: benchmarks/README.md of spacy-multihash
    """
    text, rounds = load_text(), repeats or (3 if quick else 40)
    facts = {"machine": machine_facts(), "text": describe_text(text), "rounds": rounds}
    run_benchmark(
        choose_output(output, "weighted", quick=quick),
        plot,
        facts,
        fresh=fresh,
        measure=lambda results: weighted(text, QUICK if quick else CASES, rounds, results),
        show=show,
        draw=draw,
    )


if __name__ == "__main__":
    typer.run(weighted_cli)
