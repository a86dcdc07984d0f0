"""Measure spaCy's layers and ours side by side, on the same weights: time, and share of the limit.

The limit is the time of the bare matrix products of the encoder, by numpy, into memory that is
there already: what no implementation of the same function by the same BLAS can beat by much.
"""

import random
from collections.abc import Callable, Collection, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path
from typing import Annotated, NamedTuple, Optional, TypedDict

import numpy
import spacy
import typer
from spacy.language import Language
from spacy.tokens import Doc
from spacy.util import load_config, load_model_from_config
from thinc.api import fix_random_seed
from wasabi import msg

from benchmarks.common.bars import Bar, Panel, draw_panels
from benchmarks.common.command import run_benchmark
from benchmarks.common.layers import (
    ATTRS,
    OURS,
    SPACY,
    check_same_vectors,
    our_layers,
    predict_step,
    random_gradients,
    spacy_layers,
    training_step,
)
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
from benchmarks.common.paths import ROOT, SHARED
from benchmarks.common.pipelines import (
    accelerate,
    keep_a_core_busy,
    make_examples,
    pipe_step,
    text_step,
    update_step,
)
from benchmarks.common.results import Results, machine_facts, measure_missing
from benchmarks.common.tables import judge, print_table, show_ratio
from benchmarks.common.text import (
    Text,
    count_tokens,
    count_types,
    describe_text,
    load_text,
    merge_docs,
    take_batches,
    take_docs,
    take_tokens,
)
from benchmarks.common.timing import (
    ALL,
    ONE,
    Step,
    Times,
    limit_threads,
    list_times,
    ratio,
    time_rounds,
    words_per_second,
)

CONFIG = ROOT / "configs" / "ablation" / "spacy_multi_hash_embed.cfg"
TRAINED = SHARED / "pipelines" / "en_core_web_md-3.7.1"
TWEETS = SHARED / "datasets" / "wnut17" / "emerging.dev.conll"

LAYERS = [
    f"{layer}-{step}" for layer in ("embed", "encoder", "tok2vec") for step in ("predict", "train")
]
PIPELINES = ["pipeline-predict", "pipeline-train"]
# The same while another process keeps a core busy, and in two processes.
LOADED, N_PROCESS = "-loaded", "-n_process=2"
HARD = ["pipeline-predict" + LOADED, "pipeline-train" + LOADED, "pipeline-predict" + N_PROCESS]
MD = "en_core_web_md"
NAMES = [*LAYERS, *PIPELINES, *HARD, MD]
LIMIT = "bare products"

HEADER = (
    *("layer or pipeline", "width", "docs", "threads", "spaCy, tokens/s", "ours, tokens/s"),
    *("spaCy's time / ours", "target", "spaCy: limit's share", "ours: limit's share", "target"),
)


class Target(NamedTuple):
    """What a measurement is to reach, at width 96 and with short sentences."""

    what: str
    threads: Collection[str]
    of: str
    least: float


COLORS = {
    ONE: "#c6dbef",
    ALL: "#6baed6",
    SPACY: "#d9d9d9",
    OURS: "#6baed6",
}

# Our targets.
TARGETS = [
    Target("embed-predict", [ONE, ALL], "ratio", 4.0),
    Target("encoder-predict", [ONE], "share", 0.65),
    Target("tok2vec-predict", [ONE], "ratio", 2.5),
    Target("tok2vec-predict", [ALL], "ratio", 4.0),
    Target("tok2vec-train", [ONE], "ratio", 2.5),
    Target("pipeline-predict", [ONE, ALL], "ratio", 2.3),
    Target("pipeline-train", [ONE, ALL], "ratio", 2.0),
    Target(MD, [ONE, ALL], "ratio", 1.4),
]


@dataclass(frozen=True)
class Settings:
    """How large everything is.

    widths: The first is measured in full, the other for the layers alone.
    depth: Layers of the encoder.
    repeats: Rounds of a measurement.
    docs, long_docs: Docs of a batch that is predicted, short and long.
    words: Words of a training batch, and of a long doc, at least.
    batches: How many batches the rounds take in turn.
    """

    widths: tuple[int, int] = (96, 256)
    depth: int = 8
    repeats: int = 20
    docs: int = 256
    long_docs: int = 16
    words: int = 1000
    batches: int = 4


QUICK = Settings((16, 24), depth=2, repeats=3, docs=8, long_docs=2, words=60, batches=2)


class Measurement(NamedTuple):
    """One thing to measure."""

    what: str
    width: int
    text: str
    threads: str

    @property
    def name(self) -> str:
        """Name it in the results."""
        return f"{self.what}/width{self.width}/{self.text}/{self.threads.replace(' ', '-')}"


class Work(NamedTuple):
    """What a measurement times, and the tokens of the batches that the rounds take in turn."""

    steps: dict[str, Step]
    tokens: list[int]


class Record(TypedDict):
    """A measurement in the results; `ratio` is spaCy's time by ours, a share the limit's by one."""

    what: str
    width: int
    text: str
    threads: str
    num_threads: int
    tokens: list[int]
    times_ms: dict[str, list[float]]
    tokens_per_second: dict[str, float]
    ratio: dict[str, float]
    share: dict[str, dict[str, float]]


def speed(text: Text, settings: Settings, results: Results[Record], only: Sequence[str]) -> None:
    """Measure what the results lack.

    text (Text): The text, of which the batches are taken.
    settings (Settings): The sizes.
    results (Results[Record]): Where each measurement is written when it is done.
    only (Sequence[str]): Names of LAYERS, PIPELINES and MD to measure; none: all.
    """
    cases = {case.name: case for case in plan(settings, only)}
    measure_missing(results, cases, lambda case: measure(case, text, settings))


def plan(settings: Settings, only: Sequence[str]) -> list[Measurement]:
    """List the measurements.

    Raises ValueError for a name that is none of ours.
    """
    check_only(only, NAMES)
    narrow, wide = settings.widths
    groups = [(NAMES, narrow, "short"), (LAYERS, wide, "short"), (LAYERS, narrow, "long")]
    return [
        Measurement(what, width, text, threads)
        for whats, width, text in groups
        for what in whats
        if (not only or what in only) and (what != MD or has_md())
        for threads in ([ALL] if what in HARD else [ONE, ALL])
    ]


def has_md() -> bool:
    """Say whether the trained pipeline and its text are there."""
    return TRAINED.is_dir() and TWEETS.is_file()


def measure(measurement: Measurement, text: Text, settings: Settings) -> Record:
    """Time both arms, and the limit where it is known."""
    fix_random_seed(0)
    if measurement.what == MD:
        work = make_md_work(settings)
    elif measurement.what.startswith("pipeline"):
        work = make_pipeline_work(measurement, text, settings)
    else:
        work = make_layer_work(measurement, text, settings)
    threads = limit_threads(1 if measurement.threads == ONE else None)
    load = keep_a_core_busy() if measurement.what.endswith(LOADED) else nullcontext()
    with threads as num_threads, load:
        times = time_rounds(work.steps, rounds=settings.repeats, rng=random.Random(0))
    return summarise(measurement, num_threads, work.tokens, times)


def summarise(
    measurement: Measurement, num_threads: int, tokens: Sequence[int], times: Times
) -> Record:
    """Make the ratios of a measurement, round by round."""
    arms = (SPACY, OURS)
    shares = {arm: asdict(ratio(times[LIMIT], times[arm])) for arm in arms if LIMIT in times}
    return Record(
        what=measurement.what,
        width=measurement.width,
        text=measurement.text,
        threads=measurement.threads,
        num_threads=num_threads,
        tokens=list(tokens),
        times_ms=list_times(times),
        tokens_per_second={arm: round(words_per_second(tokens, times[arm])) for arm in arms},
        ratio=asdict(ratio(times[SPACY], times[OURS])),
        share=shares,
    )


def make_batches(
    docs: Sequence[Doc], *, long: bool, train: bool, settings: Settings
) -> list[list[Doc]]:
    """Take batches one after the other, from the start again when the text is at its end."""
    docs = merge_docs(docs, settings.words) if long else list(docs)
    size = settings.long_docs if long else settings.docs
    take = partial(take_tokens, size=settings.words) if train else partial(take_docs, size=size)
    return take_batches(docs, take, settings.batches)


def make_layer_work(measurement: Measurement, text: Text, settings: Settings) -> Work:
    """Set up an embedding, an encoder or both; ours has the weights of spaCy's."""
    layer, train = measurement.what.split("-")[0], measurement.what.endswith("train")
    batches = make_batches(
        text.docs, long=measurement.text == "long", train=train, settings=settings
    )
    theirs = spacy_layers(measurement.width, depth=settings.depth, sample=text.docs[:10])
    arms = {SPACY: theirs[layer], OURS: our_layers(theirs)[layer]}
    inputs: list[list] = [*batches]
    if layer == "encoder":
        inputs = [theirs["embed"].predict(batch) for batch in batches]
    check_same_vectors(arms.values(), inputs[0])
    tokens = [count_tokens(batch) for batch in batches]
    if train:
        gradients = [random_gradients(batch, measurement.width) for batch in batches]
        return Work({a: training_step(m, inputs, gradients) for a, m in arms.items()}, tokens)
    steps = {arm: predict_step(model, inputs) for arm, model in arms.items()}
    if layer != "embed":
        types = [count_types(batch) for batch in batches] if layer == "tok2vec" else []
        steps[LIMIT] = bare_products(measurement.width, settings.depth, tokens, types)
    return Work(steps, tokens)


def bare_products(width: int, depth: int, tokens: Sequence[int], types: Sequence[int]) -> Step:
    """Multiply matrices as large as those of the layers, and nothing else.

    tokens (Sequence[int]): Rows of the encoder's products, of each batch.
    types (Sequence[int]): Rows of the embedding's, which embeds each type once, or none.
    """
    rows = max(*tokens, *types, 0)
    nI = max(3, len(ATTRS)) * width
    X, out = numpy.random.rand(2, rows * nI).astype("float32")
    W = numpy.random.rand(nI * 3 * width).astype("float32")

    def product(rows: int, nI: int) -> None:
        A, B = X[: rows * nI].reshape(rows, nI), W[: nI * 3 * width].reshape(nI, 3 * width)
        numpy.matmul(A, B, out=out[: rows * 3 * width].reshape(rows, 3 * width))

    def run(batch: int) -> None:
        if types:
            product(types[batch], len(ATTRS) * width)
        for _ in range(depth):
            product(tokens[batch], 3 * width)

    return lambda i: partial(run, i % len(tokens))


def make_pipeline_work(measurement: Measurement, text: Text, settings: Settings) -> Work:
    """Set up tok2vec and ner, with spaCy's parser in both arms and equal initial weights."""
    train = measurement.what.startswith("pipeline-train")
    n_process = 2 if measurement.what.endswith(N_PROCESS) else 1
    batches = make_batches(text.docs, long=False, train=train, settings=settings)
    overrides = {
        "nlp.lang": text.lang,
        "components.tok2vec.model.encode.width": measurement.width,
        "components.tok2vec.model.encode.depth": settings.depth,
    }
    pipelines: dict[str, Language] = {}
    for arm in (SPACY, OURS):
        fix_random_seed(0)
        nlp = load_model_from_config(load_config(CONFIG, overrides=overrides))
        nlp.initialize(partial(make_examples, nlp, text.docs))
        pipelines[arm] = nlp
    accelerate(pipelines[OURS])
    make_step: Callable[[Language, Sequence[Sequence[Doc]]], Step]
    make_step = update_step if train else partial(pipe_step, n_process=n_process)
    steps = {arm: make_step(nlp, batches) for arm, nlp in pipelines.items()}
    return Work(steps, [count_tokens(batch) for batch in batches])


def make_md_work(settings: Settings) -> Work:
    """Set up spaCy's trained English pipeline, from text to annotation, before and after."""
    pipelines = {SPACY: spacy.load(TRAINED), OURS: spacy.load(TRAINED)}
    accelerate(pipelines[OURS])
    blocks = TWEETS.read_text("utf8").replace("\n\t\n", "\n\n").strip().split("\n\n")
    texts = [" ".join(row.split("\t")[0] for row in block.split("\n")) for block in blocks]
    starts = range(0, len(texts) - settings.docs, settings.docs)
    batches = [texts[start : start + settings.docs] for start in starts[: settings.batches]]
    tokenizer = pipelines[SPACY].tokenizer
    tokens = [sum(len(tokenizer(text)) for text in batch) for batch in batches]
    return Work({arm: text_step(nlp, batches) for arm, nlp in pipelines.items()}, tokens)


def find_target(record: Record, of: str) -> Optional[float]:
    """Find the target of a record, if it has one."""
    if (record["width"], record["text"]) != (96, "short"):
        return None
    here = [t for t in TARGETS if t.what == record["what"] and record["threads"] in t.threads]
    return next((target.least for target in here if target.of == of), None)


def table_rows(records: Mapping[str, Record]) -> list[tuple[str, ...]]:
    """Make the rows of the table."""
    rows = []
    for record in records.values():
        cells = [record["what"], str(record["width"]), record["text"], record["threads"]]
        cells += [f"{record['tokens_per_second'][arm]:,.0f}" for arm in (SPACY, OURS)]
        cells += [show_ratio(record["ratio"]), judge(record["ratio"], find_target(record, "ratio"))]
        share = record["share"]
        cells += [show_ratio(share.get(arm)) for arm in (SPACY, OURS)]
        rows.append((*cells, judge(share[OURS], find_target(record, "share")) if share else ""))
    return rows


def draw(path: Path, records: Mapping[str, Record], title: str) -> None:
    """Draw the ratios and the shares of the limit as bars, with their intervals."""
    panels: dict[str, list[Bar]] = {}
    shares: list[Bar] = []
    for r in records.values():
        group = panels.setdefault(f"width {r['width']}, {r['text']} docs", [])
        group.append(Bar(r["what"], r["threads"], r["ratio"], find_target(r, "ratio")))
        label = f"{r['what']}, {r['width']}, {r['text']}, {r['threads']}"
        targets = {SPACY: None, OURS: find_target(r, "share")}
        shares += [Bar(label, arm, share, targets[arm]) for arm, share in r["share"].items()]
    drawn = [
        Panel(name, "spaCy's time / ours (above 1: faster)", bars) for name, bars in panels.items()
    ]
    if shares:
        by = "the bare matrix products' time / the layer's"
        drawn.append(Panel("share of the machine's limit", by, shares))
    draw_panels(path, drawn, COLORS, title, size=(13, 4.5))


def speed_cli(
    quick: Quick = False,
    only: Annotated[Optional[list[str]], only_option(NAMES)] = None,
    repeats: Repeats = None,
    output: Annotated[Optional[Path], output_option("speed")] = None,
    plot: Plot = None,
    fresh: Fresh = False,
) -> None:
    """Compare spaCy's layers and pipelines with ours on the same weights, and draw the ratios.

    A run that was stopped goes on where it was when it is started again.

    DOCS: benchmarks/README.md of spacy-multihash
    """
    settings = QUICK if quick else Settings()
    settings = replace(settings, repeats=repeats or settings.repeats)
    text = load_text()
    machine = machine_facts()
    facts = {"machine": machine, "text": describe_text(text), "settings": asdict(settings)}
    if not has_md():
        msg.warn(f"{MD} is skipped: {TRAINED} or {TWEETS} is not there")
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
