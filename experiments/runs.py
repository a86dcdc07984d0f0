"""Train and score runs: a single run, or all that are missing."""

import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import datetime, timezone
from multiprocessing.connection import wait
from multiprocessing.process import BaseProcess
from pathlib import Path
from types import FrameType
from typing import Any, Optional

import spacy
import srsly
from spacy.cli.train import train as spacy_train
from spacy.language import Language
from spacy.scorer import Scorer
from spacy.training import Corpus, Example
from thinc.api import Config

from experiments.arms import CRF, configure, find_arm, language
from experiments.crf import predict_crf, train_crf
from experiments.results import (
    KEYS,
    OWN,
    SPLITS,
    Counts,
    add_run,
    column,
    entity_counts,
    label_counts,
    read_rows,
)
from spacy_multihash.corpus.evaluation import (
    annotate,
    known_entities,
    masked_parts,
    predict,
    score,
    score_parts,
)
from spacy_multihash.corpus.read import read_docs
from spacy_multihash.inspection.tables import model_size
from spacy_multihash.pipelines.measure import cpu_name
from spacy_multihash.tables.find import component_models

TRAINING = Path("training")
MODEL = "model-best"
CRF_MODEL = "model.crfsuite"
LOG = "log.jsonl"
DEV, TEST = SPLITS


@dataclass(frozen=True)
class Run:
    """A training run.

    corpus (Path): The folder of train.spacy, dev.spacy and test.spacy. Its name is the data set's.
    arm (str): The name of the arm, as for `find_arm`.
    seed (int): The seed of weights and batches.
    vectors (str): The path or the package of static vectors, or "".
    lang (str): The code of the language, or "" for the data set's or else the config's language.
    name (str): Another name for an arm with overrides.
    overrides (Mapping[str, Any]): Settings to change in the arm, by dotted path.
    """

    corpus: Path
    arm: str
    seed: int = 0
    vectors: str = ""
    lang: str = ""
    name: str = ""
    overrides: Mapping[str, Any] = field(default_factory=dict)

    @property
    def key(self) -> dict[str, Any]:
        """The values that identify the run in the table of runs, in the order of KEYS."""
        return {
            "dataset": self.corpus.name,
            "arm": self.name or self.arm.removesuffix(".cfg").replace("/", "-"),
            "vectors": Path(self.vectors).name,
            "seed": self.seed,
            "after": "",
        }

    @property
    def folder(self) -> Path:
        """The folder of the run's config, log and model."""
        key = self.key
        return (
            TRAINING
            / key["dataset"]
            / key["arm"]
            / (key["vectors"] or "no-vectors")
            / str(self.seed)
        )

    def file(self, split: str) -> Path:
        """Return the file of a split."""
        return self.corpus / f"{split}.spacy"


def rows_of_runs(results: Path = OWN) -> dict[tuple[str, ...], dict[str, str]]:
    """Return the rows of runs by the values of their keys."""
    return {tuple(row[name] for name in KEYS): row for row in read_rows(results)}


def is_done(row: Optional[Mapping[str, str]], *, test: bool) -> bool:
    """Return whether a run is complete.

    test (bool): Whether it needs test scores.
    """
    return row is not None and not (test and not (row["test_f"] or row["test_accuracy"]))


def find_row(run: Run, results: Path = OWN) -> Optional[dict[str, str]]:
    """Return the row of a run in the results, or None."""
    return rows_of_runs(results).get(tuple(map(str, run.key.values())))


def train_and_score(
    run: Run, *, test: bool = True, results: Path = OWN, again: bool = False
) -> dict[str, Any]:
    """Train a run, score it and add it to the results, and return its row.

    A run with results isn't trained again. If only its test scores are missing, its model is scored
    on test.

    test (bool): Whether to score test besides dev.
    again (bool): Whether to train a run that has results, and replace them.

    Raises ValueError for an unknown arm, or if the gold entities differ from earlier runs.
    Raises FileNotFoundError if the corpus is missing, or the model of an earlier run.
    """
    row = None if again else find_row(run, results)
    if row is not None and is_done(row, test=test):
        return dict(row)
    for split in ("train", *(SPLITS if test else SPLITS[:1])):
        if not run.file(split).is_file():
            raise FileNotFoundError(f"There is no file {run.file(split)}.")
    if row is None:
        new, splits = (_train_crf if run.arm == CRF else _train)(run), SPLITS if test else (DEV,)
    else:
        new, splits = dict(row), (TEST,)
    counts: dict[tuple[str, str], Counts] = {}
    nlp = _load(run)
    for split in splits:
        scores, of_split = _score(run, nlp, split)
        new |= scores
        counts |= {(split, part): array for part, array in of_split.items()}
    add_run(new, counts, results)
    return new


def _load(run: Run) -> Language:
    model = run.folder / MODEL
    if run.arm == CRF:
        return spacy.blank(run.lang or language(run.corpus.name) or "xx")
    if not model.is_dir():
        raise FileNotFoundError(
            f"There is no model {model} to score on test. To train it: python -m experiments run "
            "with --again."
        )
    return spacy.load(model)


def run_config(run: Run) -> Config:
    """Make the config of a run."""
    arm = find_arm(run.arm)
    arm = replace(arm, overrides={**arm.overrides, **run.overrides})
    return configure(arm, run.corpus, run.seed, run.vectors, run.lang)


def _facts(run: Run, seconds: float, cpu_seconds: float) -> dict[str, Any]:
    return {
        **run.key,
        "seconds": seconds,
        "cpu_seconds": cpu_seconds,
        "cpu": cpu_name(),
        "threads": int(os.environ.get("OPENBLAS_NUM_THREADS", 0)) or os.cpu_count(),
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "commit": commit(),
    }


def commit() -> str:
    """Return the commit that is checked out, or "" outside of a repository."""
    command = ["git", "rev-parse", "--short=12", "HEAD"]
    try:
        return subprocess.run(command, capture_output=True, text=True).stdout.strip()
    except OSError:
        return ""


def _train(run: Run) -> dict[str, Any]:
    config = run_config(run)
    config["training"]["logger"] = {
        "@loggers": "spacy.ConsoleLogger.v3",
        "progress_bar": None,
        "console_output": True,
        "output_file": str(run.folder / LOG),
    }
    shutil.rmtree(run.folder, ignore_errors=True)  # from an interrupted training
    run.folder.mkdir(parents=True)
    config.to_disk(run.folder / "config.cfg", interpolate=False)
    start, cpu_start = time.perf_counter(), time.process_time()
    spacy_train(run.folder / "config.cfg", run.folder)
    facts = _facts(run, time.perf_counter() - start, time.process_time() - cpu_start)
    shutil.rmtree(run.folder / "model-last")
    model = run.folder / MODEL
    size = model_size(*component_models(spacy.load(model)).values())
    log = list(srsly.read_jsonl(run.folder / LOG))
    return facts | {
        "steps": log[-1]["step"],
        # spaCy keeps the last of several equally good models
        "best_step": max(log, key=lambda line: (line["score"], line["step"]))["step"],
        "parameters": size and size.parameters,
        "bytes": sum(path.stat().st_size for path in model.rglob("*") if path.is_file()),
    }


def _train_crf(run: Run) -> dict[str, Any]:
    docs = read_docs(run.file("train"), spacy.blank(language(run.corpus.name) or "xx").vocab)
    path = run.folder / CRF_MODEL
    training = train_crf(docs, path)
    return _facts(run, training.seconds, training.cpu_seconds) | {
        "parameters": training.features,
        "bytes": path.stat().st_size,
    }


def _score(run: Run, nlp: Language, split: str) -> tuple[dict[str, Any], dict[str, Counts]]:
    """Score a model on a split: its scores by column, and the counts of sentences by part."""
    golds = read_docs(run.file(split), nlp.vocab)
    examples = list(Corpus(run.file(split)).make_examples(nlp, golds))
    has_labels = any(example.reference.cats for example in examples)
    start = time.process_time()
    if run.arm == CRF:
        docs = predict_crf(run.folder / CRF_MODEL, (example.reference for example in examples))
        for example, doc in zip(examples, docs, strict=True):
            example.predicted = doc
    else:
        (annotate if has_labels else predict)(nlp, examples)
    speed = sum(len(e.x) for e in examples) / (time.process_time() - start)
    if has_labels:
        return _label_scores(split, examples)
    known = known_entities(read_docs(run.file("train"), nlp.vocab))
    parts = {"all": score(examples), **score_parts(examples, known)}
    scores: dict[str, Any] = {
        column(split, metric, part): getattr(of_part, metric)
        for part, of_part in parts.items()
        for metric in "prf"
    }
    masked = {"all": examples, **masked_parts(examples, known)}
    counts = {part: entity_counts(of_part) for part, of_part in masked.items()}
    return scores | {"words_per_second": speed}, counts


def _label_scores(
    split: str, examples: Sequence[Example]
) -> tuple[dict[str, Any], dict[str, Counts]]:
    labels = sorted({label for example in examples for label in example.reference.cats})
    found: Any = Scorer.score_cats(examples, "cats", labels=labels, multi_label=False)
    # A wrong label is one false positive and one false negative, so micro F1 is the accuracy.
    scores = {"accuracy": found["cats_micro_f"], "macro_f": found["cats_macro_f"]}
    counts = label_counts([(example.predicted, example.reference) for example in examples])
    return {column(split, name): value for name, value in scores.items()}, {"all": counts}


# --- all that are missing


def missing(runs: Iterable[Run], *, test: bool, results: Path = OWN) -> list[Run]:
    """Return the runs that have no results yet."""
    rows = rows_of_runs(results)
    return [
        run for run in runs if not is_done(rows.get(tuple(map(str, run.key.values()))), test=test)
    ]


def run_grid(
    runs: Sequence[Run],
    workers: int = 1,
    *,
    test: bool = True,
    results: Path = OWN,
    minutes: float = float("inf"),
) -> Iterator[tuple[Run, str]]:
    """Train and score each run in a process. Yield each finished run with its error or "".

    A SIGTERM ends them all.

    workers (int): How many runs to run at once.
    minutes (float): How long to start new runs.
    """
    latest_start = time.time() + 60 * minutes
    fork = multiprocessing.get_context("fork")  # so that only the first process imports spaCy
    waiting = list(reversed(runs))
    running: dict[Any, tuple[BaseProcess, Run]] = {}

    def stop(number: int = 0, frame: Optional[FrameType] = None) -> None:
        waiting.clear()
        for process, _ in running.values():
            process.terminate()

    former = signal.signal(signal.SIGTERM, stop)
    try:
        while running or (waiting and time.time() < latest_start):
            while waiting and len(running) < workers and time.time() < latest_start:
                run = waiting.pop()
                started = fork.Process(target=_train_with_log, args=(run, test, results))
                started.start()
                running[started.sentinel] = started, run
            for sentinel in wait(list(running)):
                process, run = running.pop(sentinel)
                process.join()
                status = process.exitcode
                yield run, f"exit status {status}, see {_log(run)}" if status else ""
    finally:
        stop()
        signal.signal(signal.SIGTERM, former)


def _log(run: Run) -> Path:
    return run.folder.with_suffix(".log")


def _train_with_log(run: Run, test: bool, results: Path) -> None:
    signal.signal(signal.SIGTERM, signal.SIG_DFL)
    _log(run).parent.mkdir(parents=True, exist_ok=True)
    with _log(run).open("ab") as log:
        for stream in (sys.stdout, sys.stderr):
            stream.flush()
        os.dup2(log.fileno(), 1)
        os.dup2(log.fileno(), 2)
    from threadpoolctl import threadpool_limits  # of the extra crf, which only grids need

    os.environ.update(OMP_NUM_THREADS="1", OPENBLAS_NUM_THREADS="1")  # our kernels read it
    threadpool_limits(1)
    train_and_score(run, test=test, results=results)
