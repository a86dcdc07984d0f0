"""Measure how much faster several workers apply a pipeline to shards than one does."""

import random
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Annotated, NamedTuple, Optional

import spacy
import typer
from spacy.tokens import Doc
from wasabi import msg

from benchmarks.common.options import Quick, Repeats
from benchmarks.common.pipelines import make_examples, update_step
from benchmarks.common.results import machine_facts
from benchmarks.common.tables import print_table
from benchmarks.common.text import Text, load_text, take_batches, take_tokens
from benchmarks.common.timing import Ratio, Step, list_times, ratio, time_rounds, words_per_second
from spacy_multihash.apply.run import Plan, apply_on
from spacy_multihash.apply.shard import ENDINGS, Application, Shard
from spacy_multihash.cluster.source import source_of
from spacy_multihash.cluster.workers import Workers, open_workers
from spacy_multihash.common.files import write_json


class Settings(NamedTuple):
    """The number of shards and their tokens, and the steps of training."""

    shards: int
    tokens: int
    steps: int


# Of the files that are written. Probabilities, which only JSON lines ask for, are not measured.
FORMAT = "spacy"
FULL, QUICK = Settings(8, 20_000, 50), Settings(4, 200, 2)


@dataclass(frozen=True)
class Speed:
    """Some workers beside one.

    workers: How many.
    tokens_per_second: The median of all rounds.
    ratio: The time of one worker divided by theirs.
    times_ms: The time of each round.
    """

    workers: int
    tokens_per_second: float
    ratio: Ratio
    times_ms: list[float]


def measure(
    text: Text, numbers: Sequence[int], settings: Settings, rounds: int, folder: Path
) -> list[Speed]:
    """Time all shards on each number of workers, in turns. The workers are started before.

    numbers (Sequence[int]): The numbers of workers, 1 among them.
    folder (Path): An empty folder.
    """
    take = partial(take_tokens, size=settings.tokens)
    batches = take_batches(text.docs, take, settings.shards)
    write_pipeline(folder / "model", text.lang, batches, settings.steps)
    model = folder / "model"
    application = Application(source_of(spacy.load, model, None), FORMAT, None)
    shards = [
        Shard(write_texts(folder / f"{i}.txt", docs), folder / f"{i}{ENDINGS[FORMAT]}")
        for i, docs in enumerate(batches)
    ]
    plan = Plan(application, shards, 0)
    with ExitStack() as stack:
        opened = {str(number): stack.enter_context(open_workers(number)) for number in numbers}
        steps = {name: apply_step(workers, plan) for name, workers in opened.items()}
        times = time_rounds(steps, rounds=rounds, rng=random.Random(0))
    tokens = sum(len(doc) for docs in batches for doc in docs)
    listed = list_times(times)
    return [
        Speed(
            number,
            words_per_second([tokens], times[str(number)]),
            ratio(times["1"], times[str(number)]),
            listed[str(number)],
        )
        for number in numbers
    ]


def write_pipeline(
    path: Path, lang: str, batches: Sequence[Sequence[Doc]], training_steps: int
) -> None:
    """Train a batch_ner for a moment, and write it."""
    nlp = spacy.blank(lang)
    nlp.add_pipe("batch_ner")
    nlp.initialize(partial(make_examples, nlp, batches[0]))
    update = update_step(nlp, [docs[:30] for docs in batches])
    for i in range(training_steps):
        update(i)()
    nlp.to_disk(path)


def write_texts(path: Path, docs: Sequence[Doc]) -> Path:
    """Write the texts of docs, one a line, and return the path."""
    lines = (" ".join(doc.text.split()) for doc in docs)
    path.write_text("".join(f"{line}\n" for line in lines), "utf8")
    return path


def apply_step(workers: Workers, plan: Plan) -> Step:
    """Make a step that writes all shards anew."""
    return lambda i: partial(apply_on, workers, plan)


def table_rows(speeds: Sequence[Speed]) -> list[tuple[str, ...]]:
    """Make the rows of the table."""
    return [
        (str(item.workers), f"{item.tokens_per_second:,.0f}", str(item.ratio)) for item in speeds
    ]


def apply_cli(
    workers: Annotated[
        Optional[list[int]], typer.Option(help="Number of workers beside 1. Can be repeated", min=2)
    ] = None,
    quick: Quick = False,
    repeats: Repeats = None,
    output: Annotated[Optional[Path], typer.Option(help="JSON file of the results")] = None,
) -> None:
    """Compare `multihash apply` on one worker and on several, on the same shards.

    DOCS: benchmarks/README.md of spacy-multihash
    """
    settings, rounds = QUICK if quick else FULL, repeats or (3 if quick else 20)
    text = load_text()
    with TemporaryDirectory() as folder:
        speeds = measure(text, [1, *(workers or [2])], settings, rounds, Path(folder))
    msg.text("The ratio: the time of one worker divided by that of several. A median, with its")
    msg.text("95 % interval.")
    print_table(("workers", "tokens a second", "ratio"), table_rows(speeds), "rrr")
    if output is not None:
        facts: Mapping[str, object] = {
            "text": text.name,
            "rounds": rounds,
            "format": FORMAT,
            **settings._asdict(),
        }
        results = [asdict(item) for item in speeds]
        write_json(output, {"machine": machine_facts(), "settings": facts, "results": results})
        msg.good("Wrote the times", output)


if __name__ == "__main__":
    typer.run(apply_cli)
