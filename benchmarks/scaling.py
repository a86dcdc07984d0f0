"""Measure how the time and the memory of spaCy's layers and ours grow: with what, and how fast."""

import os
import random
import tracemalloc
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import cycle, islice
from pathlib import Path
from typing import Annotated, Optional, TypedDict

import numpy
import typer
from spacy.tokens import Doc
from thinc.api import Model, fix_random_seed
from wasabi import msg

from benchmarks.common.command import run_benchmark
from benchmarks.common.figures import new_figure, save_figure
from benchmarks.common.layers import (
    ATTRS,
    OURS,
    SPACY,
    our_layers,
    predict_step,
    random_gradients,
    spacy_layers,
    training_step,
    with_tok2vec,
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
from benchmarks.common.results import Results, machine_facts, measure_missing
from benchmarks.common.tables import print_table
from benchmarks.common.text import Text, count_types, describe_text, load_text
from benchmarks.common.timing import Step, limit_threads, list_times, time_rounds
from spacy_multihash import build_multi_hash_embed_v1, spacy_seeds

PREDICT = ["embed-predict", "encoder-predict", "tok2vec-predict"]
TRAIN = "tok2vec-train"
COLORS = dict(zip([*PREDICT, TRAIN], ["#1b9e77", "#7570b3", "#d95f02", "#e7298a"], strict=True))
LABELS = {
    "tokens": "tokens of one doc",
    "width": "width",
    "rows": "rows of each table",
    "num_hashes": "number of hashes",
    "vocabulary": "distinct words of the doc",
}
HEADER = (
    *("axis", "value", "layer", "spaCy, ms", "ours, ms"),
    *("spaCy, temporary MB", "ours, temporary MB", "weights, MB"),
)
MILLION = "million"
# Our target, at most: of spaCy's temporary memory, to predict a doc of a million tokens.
MEMORY_TARGET = 0.25


@dataclass(frozen=True)
class Point:
    """What is measured together: one doc, and layers of one size.

    vocabulary: Distinct words, made up; None: the text's own.
    """

    tokens: int = 5000
    width: int = 96
    rows: int = 5000
    num_hashes: int = 4
    vocabulary: Optional[int] = None


@dataclass(frozen=True)
class Settings:
    """The values along each axis, by the field of Point that they are for, and the rest."""

    axes: Mapping[str, Sequence[int]]
    million: int = 1_000_000
    base: Point = Point()
    depth: int = 8
    repeats: int = 5


FULL = Settings(
    {
        "tokens": [1, 10, 100, 1000, 10_000, 100_000],
        "width": [32, 64, 96, 128, 256, 512],
        "rows": [500, 2000, 5000, 20_000, 50_000],
        "num_hashes": [1, 2, 4, 8, 16],
        "vocabulary": [5, 50, 500, 5000],
    }
)
QUICK = Settings(
    {
        "tokens": [1, 1000, 2000],
        "width": [16, 32],
        "rows": [500, 1000],
        "num_hashes": [1, 4],
        "vocabulary": [5, 50],
    },
    million=3000,
    base=Point(tokens=200, width=16, rows=500),
    depth=2,
    repeats=2,
)


class Record(TypedDict):
    """A point in the results.

    times_ms, temporary_bytes: By what was measured, "tok2vec-predict/ours".
    estimated_bytes: In place of both, what would have taken over half of the memory that was free:
        a hundred times the temporary memory for a hundredth of the tokens.
    model_bytes: Weights of the tok2vec layer, by arm.
    """

    axis: str
    value: int
    point: dict[str, Optional[int]]
    types: int
    times_ms: dict[str, list[float]]
    temporary_bytes: dict[str, int]
    estimated_bytes: dict[str, int]
    model_bytes: dict[str, int]


def scaling(text: Text, settings: Settings, results: Results[Record], only: Sequence[str]) -> None:
    """Measure what the results lack, in one thread.

    text (Text): Gives the words of the docs.
    settings (Settings): The sizes.
    results (Results[Record]): Where each point is written when it is done.
    only (Sequence[str]): Axes to measure, or "million"; none: all.

    Raises ValueError for an axis that is none of ours.
    """
    known = [*settings.axes, MILLION]
    check_only(only, known)
    values = {**settings.axes, MILLION: [settings.million]}
    cases = {
        f"{axis}/{value}": (axis, value)
        for axis in known
        for value in values[axis]
        if not only or axis in only
    }
    measure_missing(results, cases, lambda case: measure(*case, text, settings))
    results.write(summary=summarise(results.records))


def measure(axis: str, value: int, text: Text, settings: Settings) -> Record:
    """Measure the memory of each layer, then the times in turns; of a million tokens, once."""
    fix_random_seed(0)
    once = axis == MILLION
    point = replace(settings.base, **{"tokens" if once else axis: value})
    doc = make_doc(text, point)
    arms = build_arms(point, settings.depth, text.docs[:10])
    for layers in arms.values():
        # What stays from the first call on is no temporary memory.
        layers["tok2vec"].predict(text.docs[:1])
    whats = PREDICT if once else [*PREDICT, TRAIN]
    estimated: dict[str, int] = {}
    with limit_threads(1):
        if once:
            part = make_steps(whats, arms, make_doc(text, replace(point, tokens=value // 100)))
            sizes = {name: temporary_bytes(step(0)) * 100 for name, step in part.items()}
            most = available_bytes() // 2
            estimated = {name: size for name, size in sizes.items() if size > most}
        steps = make_steps(whats, arms, doc)
        for name in estimated:
            del steps[name]
        temporary = {name: temporary_bytes(step(0)) for name, step in steps.items()}
        rounds, warm_up = (1, 0) if once else (settings.repeats, 1)
        times = time_rounds(steps, rounds=rounds, rng=random.Random(0), warm_up=warm_up)
    return Record(
        axis=axis,
        value=value,
        point=asdict(point),
        types=count_types([doc]),
        times_ms=list_times(times),
        temporary_bytes=temporary,
        estimated_bytes=estimated,
        model_bytes={arm: model_bytes(layers["tok2vec"]) for arm, layers in arms.items()},
    )


def make_doc(text: Text, point: Point) -> Doc:
    """Make one doc, of the words of the text over and over, or of made up ones."""
    if point.vocabulary is None:
        words = [token.text for doc in text.docs for token in doc]
    else:
        words = [f"{chr(97 + n % 26)}{n}x{n % 997:03}" for n in range(point.vocabulary)]
    return Doc(text.docs[0].vocab, words=list(islice(cycle(words), point.tokens)))


def build_arms(point: Point, depth: int, sample: Sequence[Doc]) -> dict[str, dict[str, Model]]:
    """Build the layers of both arms; spaCy's has 4 hashes and no other number."""
    rows = [point.rows] * len(ATTRS)
    theirs = spacy_layers(point.width, depth=depth, sample=sample, rows=rows)
    ours = our_layers(theirs)
    if point.num_hashes == 4:
        return {SPACY: theirs, OURS: ours}
    seeds = spacy_seeds(len(ATTRS))
    embed = build_multi_hash_embed_v1(point.width, ATTRS, rows, False, point.num_hashes, seeds)
    embed.initialize(X=list(sample))
    return {OURS: with_tok2vec(embed, ours["encoder"])}


def make_steps(
    whats: Sequence[str], arms: Mapping[str, Mapping[str, Model]], doc: Doc
) -> dict[str, Step]:
    """Make what is measured, by its name and the arm's; both encoders get the same vectors."""
    X = arms[OURS]["embed"].predict([doc])
    return {
        f"{what}/{arm}": _make_step(what, layers, doc, X)
        for what in whats
        for arm, layers in arms.items()
    }


def _make_step(what: str, layers: Mapping[str, Model], doc: Doc, X: object) -> Step:
    model = layers[what.split("-")[0]]
    if what != TRAIN:
        return predict_step(model, [X if what.startswith("encoder") else [doc]])
    for node in model.walk():
        for name in node.param_names:
            # Gradients of weights are as large as the weights, and stay: no temporary memory.
            node.inc_grad(name, node.get_param(name) * 0)
    return training_step(model, [[doc]], [random_gradients([doc], model.get_dim("nO"))])


def available_bytes() -> int:
    """Find how much memory is free."""
    if "SC_AVPHYS_PAGES" not in os.sysconf_names:
        # Neither Linux nor like it: as much as most machines have.
        return 8 * 10**9
    return os.sysconf("SC_AVPHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")


def temporary_bytes(run: Callable[[], object]) -> int:
    """Find the largest memory of numpy and Python during a call, beyond input and result.

    In a thread of its own, which finds none of the buffers that earlier calls have left.
    """

    def trace() -> int:
        tracemalloc.start()
        try:
            before = tracemalloc.get_traced_memory()[0]
            result = run()
            return tracemalloc.get_traced_memory()[1] - before - count_bytes(result)
        finally:
            tracemalloc.stop()

    with ThreadPoolExecutor(1) as executor:
        return executor.submit(trace).result()


def count_bytes(result: object) -> int:
    """Add up the arrays in a result."""
    if isinstance(result, (list, tuple)):
        return sum(count_bytes(part) for part in result)
    return result.nbytes if isinstance(result, numpy.ndarray) else 0


def model_bytes(model: Model) -> int:
    """Add up the weights of a model."""
    params = [(node, name) for node in model.walk() for name in node.param_names]
    return sum(node.get_param(name).nbytes for node, name in params)


def summarise(records: Mapping[str, Record]) -> dict[str, dict[str, float]]:
    """Say how cost grows with tokens, and how our memory compares for the longest doc.

    exponent: Slope of log time over log tokens, from 1000 tokens on: 1 is linear.
    memory: Our temporary memory by spaCy's, of "million".
    """
    exponents, memory = {}, {}
    for name in [f"{what}/{arm}" for what in (*PREDICT, TRAIN) for arm in (SPACY, OURS)]:
        long = [
            (record["value"], numpy.median(record["times_ms"][name]))
            for record in records.values()
            if record["axis"] in ("tokens", MILLION) and record["value"] >= 1000
            if name in record["times_ms"]
        ]
        if len(long) > 1:
            tokens, times = numpy.log(long).T
            exponents[name] = round(float(numpy.polyfit(tokens, times, 1)[0]), 3)
    for record in records.values():
        if record["axis"] == MILLION:
            used = {**record["temporary_bytes"], **record["estimated_bytes"]}
            memory = {
                what: round(used[f"{what}/{OURS}"] / used[f"{what}/{SPACY}"], 4) for what in PREDICT
            }
    return {"exponent": exponents, "memory": memory}


def table_rows(records: Mapping[str, Record]) -> list[tuple[str, ...]]:
    """Make the rows of the table."""
    rows = []
    for record in records.values():
        used = {**record["temporary_bytes"], **record["estimated_bytes"]}
        for what in dict.fromkeys(name.split("/")[0] for name in used):
            names = [f"{what}/{arm}" for arm in (SPACY, OURS)]
            times = [record["times_ms"].get(name) for name in names]
            row = [record["axis"], f"{record['value']:,}", what]
            row += ["" if ms is None else f"{numpy.median(ms):,.1f}" for ms in times]
            for name in names:
                sign = "about " if name in record["estimated_bytes"] else ""
                row.append(f"{sign}{used[name] / 1e6:,.1f}" if name in used else "")
            rows.append((*row, f"{record['model_bytes'][OURS] / 1e6:,.1f}"))
    return rows


def show(records: Mapping[str, Record]) -> None:
    """Print the table and the summary."""
    print_table(HEADER, table_rows(records), "lrlrrrrr")
    summary = summarise(records)
    msg.text("Time grows with tokens to the power of:")
    msg.table(summary["exponent"])
    if summary["memory"]:
        msg.text(f"Our temporary memory by spaCy's, longest doc (our target: {MEMORY_TARGET}):")
        msg.table(summary["memory"])


def draw(path: Path, records: Mapping[str, Record], title: str) -> None:
    """Draw time, and memory below it, along each axis."""
    panels: dict[str, list[Record]] = {}
    for record in records.values():
        axis = "tokens" if record["axis"] == MILLION else record["axis"]
        panels.setdefault(axis, []).append(record)
    figure = new_figure(1.5 + 3.5 * len(panels), 8)
    axes = figure.subplots(2, len(panels), squeeze=False, sharey="row", sharex="col")
    for column, (axis, group) in enumerate(panels.items()):
        group = sorted(group, key=lambda record: record["value"])
        above, below = axes[:, column]
        for what in (*PREDICT, TRAIN):
            for arm, style in ((SPACY, "o--"), (OURS, "o-")):
                name = f"{what}/{arm}"
                here = [record for record in group if name in record["times_ms"]]
                line = {"color": COLORS[what], "label": name.replace("/", ", "), "markersize": 4}
                line["markerfacecolor"] = "white" if arm == SPACY else COLORS[what]
                x = [record["value"] for record in here]
                above.plot(x, [numpy.median(r["times_ms"][name]) for r in here], style, **line)
                sizes = [max(r["temporary_bytes"][name], 1) / 1e6 for r in here]
                below.plot(x, sizes, style, **line)
                for record in group:
                    if size := record["estimated_bytes"].get(name):
                        below.plot(record["value"], size / 1e6, "x", color=COLORS[what])
        sizes = [record["model_bytes"][OURS] / 1e6 for record in group]
        x = [record["value"] for record in group]
        below.plot(x, sizes, ":", color="black", label="weights of tok2vec, both")
        for ax in (above, below):
            ax.set(xscale="log", yscale="log")
            ax.set_xticks(x, [f"{value:,}" for value in x], rotation=45, ha="right", fontsize=8)
            ax.minorticks_off()
            ax.grid(alpha=0.3)
        above.set_title(LABELS[axis])
        below.set_xlabel(LABELS[axis])
    axes[1, 0].plot([], [], "x", color="black", label="estimated, does not fit")
    if exponents := summarise(records)["exponent"]:
        slopes = [f"{arm} {exponents[f'tok2vec-predict/{arm}']:.2f}" for arm in (SPACY, OURS)]
        text = f"tok2vec-predict, tokens to the power of:\n{', '.join(slopes)}"
        first = axes[0, list(panels).index("tokens")]
        first.text(0.03, 0.9, text, size=8, transform=first.transAxes)
    axes[0, 0].set_ylabel("time (ms)")
    axes[1, 0].set_ylabel("temporary memory (MB)")
    lines, labels = axes[1, 0].get_legend_handles_labels()
    figure.legend(lines, labels, loc="outside lower center", ncols=5, fontsize=9, frameon=False)
    figure.suptitle(title)
    save_figure(figure, path)


def scaling_cli(
    quick: Quick = False,
    only: Annotated[Optional[list[str]], only_option([*FULL.axes, MILLION])] = None,
    repeats: Repeats = None,
    output: Annotated[Optional[Path], output_option("scaling")] = None,
    plot: Plot = None,
    fresh: Fresh = False,
) -> None:
    """Compare how the cost of spaCy's layers and of ours grows, in one thread, and draw it.

    A run that was stopped goes on where it was when it is started again.

    DOCS: benchmarks/README.md of spacy-multihash
    """
    settings = QUICK if quick else FULL
    settings = replace(settings, repeats=repeats or settings.repeats)
    text, machine = load_text(), machine_facts()
    facts = {"machine": machine, "text": describe_text(text), "settings": asdict(settings)}
    base = asdict(settings.base).items()
    rest = ", ".join(f"{key} {value:,}" for key, value in base if value is not None)
    title = f"{machine['cpu']}, 1 thread; {text.name}; where not varied: {rest}"
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
