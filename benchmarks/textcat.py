"""Measure text classifiers beside each other, in training and in prediction."""

import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import asdict
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, Any, NamedTuple, Optional, TypedDict

import typer
from spacy.language import Language
from spacy.tokens import Doc
from spacy.training import Example
from spacy.util import load_config, load_model_from_config, registry
from thinc.api import fix_random_seed

from benchmarks.common.bars import PAPER
from benchmarks.common.command import run_benchmark
from benchmarks.common.figures import BLUE, GREEN, PURPLE, new_figure
from benchmarks.common.layers import count_parameters
from benchmarks.common.options import Fresh, Plot, Quick, Repeats, choose_output, output_option
from benchmarks.common.paths import ROOT
from benchmarks.common.pipelines import make_docs
from benchmarks.common.results import Results, machine_facts, measure_missing
from benchmarks.common.tables import print_table, show_ratio
from benchmarks.common.text import (
    count_tokens,
    describe_text,
    read_text,
    run_experiments,
    take_batches,
    take_docs,
)
from benchmarks.common.timing import (
    Step,
    limit_threads,
    list_times,
    ratio,
    time_rounds,
    words_per_second,
)
from spacy_multihash.embed.find import component_models

BASE = "hash_embed"
# The names of the configs in configs/textcat.
ARMS = (BASE, "hashing_trick", "hashing_trick_equal", "bow", "cnn", "deep")
UPDATE, PREDICT, ALONE = "update", "predict", "predict one by one"
COLORS = {UPDATE: BLUE, PREDICT: GREEN, ALONE: PURPLE}
MARKERS = {UPDATE: "o", PREDICT: "s", ALONE: "^"}
AG_NEWS = ROOT / "corpus" / "ag-news"
HEADER = ("step", "model", "parameters", "words/s", f"time / {BASE}")


class Settings(NamedTuple):
    """The sizes of everything.

    docs: The number of docs in a batch.
    batches: The number of batches that the rounds take in turn.
    dictionary: The split in which the deep model counts its n-grams.
    model: Settings to replace, in the models that have them.
    """

    docs: int = 256
    batches: int = 8
    dictionary: str = "train"
    model: Mapping[str, int] = {}


FULL = Settings()
QUICK = Settings(8, 2, "dev", {"rows": 1000, "importance_rows": 10_000, "length": 4096})


class Record(TypedDict):
    """One step of all models in the results.

    ratio: The time of each model divided by that of BASE.
    """

    words: list[int]
    parameters: dict[str, int]
    times_ms: dict[str, list[float]]
    words_per_second: dict[str, float]
    ratio: dict[str, dict[str, float]]


@contextmanager
def open_corpus() -> Iterator[tuple[str, Path]]:
    """Yield the name and folder of AG News if it was converted, otherwise of generated topics."""
    if all((AG_NEWS / f"{split}.spacy").is_file() for split in ("train", "dev")):
        yield "AG News", AG_NEWS
        return
    with TemporaryDirectory() as folder:
        run_experiments("make-topics", folder)
        yield "generated topics (python -m experiments make-topics)", Path(folder)


def textcat(
    folder: Path, docs: Sequence[Doc], settings: Settings, rounds: int, results: Results[Record]
) -> None:
    """Measure the steps that the results lack, and write each one when it is done."""
    if set(COLORS) <= set(results.records):
        return
    batches = take_batches(docs, partial(take_docs, size=settings.docs), settings.batches)
    pipelines = {arm: build(arm, folder, batches[0], settings) for arm in ARMS}
    steps = {step: step for step in COLORS}
    measure_missing(results, steps, lambda step: measure(step, pipelines, batches, rounds))


def build(arm: str, folder: Path, docs: Sequence[Doc], settings: Settings) -> Language:
    """Build the pipeline of a config, and initialize it with the labels of some docs."""
    config = load_config(ROOT / "configs" / "textcat" / f"{arm}.cfg")
    config["paths"]["train"] = str(folder / f"{settings.dictionary}.spacy")
    model = config["components"]["textcat"]["model"]
    changed = {key: value for key, value in settings.model.items() if model.get(key) is not None}
    model.update(changed)
    fix_random_seed(0)
    nlp = load_model_from_config(config, auto_fill=False)
    nlp.initialize(lambda: make_examples(nlp, docs))
    return nlp


def make_examples(nlp: Language, docs: Sequence[Doc]) -> list[Example]:
    """Make examples for a pipeline from the words and labels of docs of another vocab."""
    return [
        Example.from_dict(made, {"cats": doc.cats})
        for made, doc in zip(make_docs(nlp, docs), docs, strict=True)
    ]


def measure(
    step: str, pipelines: Mapping[str, Language], batches: Sequence[Sequence[Doc]], rounds: int
) -> Record:
    """Time a step of all models in turns, on one thread."""
    make_step = {UPDATE: update_step, PREDICT: predict_step, ALONE: alone_step}[step]
    steps = {arm: make_step(nlp, batches) for arm, nlp in pipelines.items()}
    with limit_threads(1):
        times = time_rounds(steps, rounds=rounds, rng=random.Random(0))
    parameters = {
        arm: count_parameters(*component_models(nlp).values()) for arm, nlp in pipelines.items()
    }
    words = [count_tokens(batches[i % len(batches)]) for i in range(rounds)]
    return Record(
        words=words,
        parameters=parameters,
        times_ms=list_times(times),
        words_per_second={arm: words_per_second(words, each) for arm, each in times.items()},
        ratio={arm: asdict(ratio(each, times[BASE])) for arm, each in times.items()},
    )


def update_step(nlp: Language, batches: Sequence[Sequence[Doc]]) -> Step:
    """Make training steps on the batches in turn, as the config says."""
    config = nlp.config.interpolate()["training"]
    optimizer = registry.resolve({"optimizer": config["optimizer"]})["optimizer"]

    def prepare(i: int) -> Callable[[], object]:
        examples = make_examples(nlp, batches[i % len(batches)])
        return partial(nlp.update, examples, drop=config["dropout"], sgd=optimizer)

    return prepare


def predict_step(nlp: Language, batches: Sequence[Sequence[Doc]]) -> Step:
    """Make predictions of the batches in turn, without a tokenizer."""
    predict = nlp.get_pipe("textcat").predict  # type: ignore[attr-defined]
    made = [make_docs(nlp, batch) for batch in batches]
    return lambda i: partial(predict, made[i % len(made)])


def alone_step(nlp: Language, batches: Sequence[Sequence[Doc]]) -> Step:
    """Make predictions of the docs one by one, as a service does."""
    predict = nlp.get_pipe("textcat").predict  # type: ignore[attr-defined]
    made = [make_docs(nlp, batch) for batch in batches]

    def predict_each(docs: Sequence[Doc]) -> None:
        for doc in docs:
            predict([doc])

    return lambda i: partial(predict_each, made[i % len(made)])


def table_rows(records: Mapping[str, Record]) -> list[tuple[str, ...]]:
    """Make the rows of the table."""
    return [
        (
            step,
            arm,
            f"{record['parameters'][arm]:,}",
            f"{record['words_per_second'][arm]:,.0f}",
            show_ratio(record["ratio"][arm]),
        )
        for step, record in records.items()
        for arm in ARMS
    ]


def draw(path: Path, records: Mapping[str, Record]) -> None:
    """Draw the ratios as points on a logarithmic scale, with their intervals."""
    with new_figure(path, "Time of text classifiers in training and in prediction", 4.4) as figure:
        ax = figure.subplots()
        ax.set_xscale("log")
        for i, (step, record) in enumerate(records.items()):
            for line, arm in enumerate(ARMS):
                low, median, high = (record["ratio"][arm][key] for key in ("low", "median", "high"))
                y = line + 0.3 * (i - (len(records) - 1) / 2)
                error = [[median - low], [high - median]]
                label = None if line else step
                marker, color = MARKERS[step], COLORS[step]
                ax.errorbar(median, y, xerr=error, fmt=marker, color=color, capsize=2, label=label)
                place: Any = {"textcoords": "offset points", "va": "center"}
                ax.annotate(f"{median:.2f}", (high, y), (5, 0), size=8, bbox=PAPER, **place)
        ax.axvline(1, color="black", linewidth=1, zorder=0)
        ax.margins(x=0.1)
        ax.set_yticks(range(len(ARMS)), [arm_label(arm, records) for arm in ARMS])
        ax.tick_params(axis="y", length=0)
        ax.invert_yaxis()
        ax.grid(visible=False, axis="y")
        ax.grid(visible=True, axis="x")
        ax.xaxis.set_major_formatter("{x:g}")
        ax.set_xlabel(f"time divided by that of {BASE} (logarithmic scale; above 1: slower)")
        figure.legend(loc="outside lower center", ncols=len(records))


def arm_label(arm: str, records: Mapping[str, Record]) -> str:
    """Return the name of a model with its number of parameters."""
    record = next(iter(records.values()))
    return f"{arm}\n{record['parameters'][arm] / 1e6:.2g} M parameters"


def textcat_cli(
    quick: Quick = False,
    repeats: Repeats = None,
    output: Annotated[Optional[Path], output_option("textcat")] = None,
    plot: Plot = None,
    fresh: Fresh = False,
) -> None:
    """Measure our text classifiers beside spaCy's, as configs/textcat builds them.

    A stopped run continues where it was when it is started again.

    DOCS: benchmarks/README.md of spacy-multihash
    """
    settings, rounds = QUICK if quick else FULL, repeats or (3 if quick else 40)
    with open_corpus() as (name, folder):
        text = read_text(folder / "dev.spacy", f"{name}, dev", "en")
        facts = {"machine": machine_facts(), "text": describe_text(text), "rounds": rounds}
        facts["settings"] = settings._asdict()
        run_benchmark(
            choose_output(output, "textcat", quick=quick),
            plot,
            facts,
            fresh=fresh,
            measure=partial(textcat, folder, text.docs, settings, rounds),
            show=lambda records: print_table(HEADER, table_rows(records), "llrrr"),
            draw=draw,
        )


if __name__ == "__main__":
    typer.run(textcat_cli)
