"""One run of the experiments: train it with `spacy train`, evaluate it, write its results."""

import fcntl
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from platform import python_version
from typing import Annotated, Any

import spacy
import srsly
import typer
from spacy.language import Language
from spacy.tokens import DocBin
from spacy.training import Corpus, Example
from wasabi import msg

from experiments.arms.tasks import CRF, NER
from experiments.runs.counts import pack_parts
from experiments.runs.crf import predict_crf, train_crf
from experiments.runs.files import FORMAT, read_result, results_path
from experiments.runs.grid import Run, parse_run, run_config, run_hash
from experiments.runs.record import (
    TEST_EVALUATION,
    Sources,
    evaluation_code,
    make_record,
    read_sources,
    vectors_digest,
)
from experiments.runs.scores import SPLITS, TEST, Tagger, make_judge, make_tagger, splits_of
from experiments.runs.state import runs_to_do
from experiments.runs.training import MARKER, MODEL, train
from spacy_multihash.common.files import write_json
from spacy_multihash.corpus.read import read_docs
from spacy_multihash.embed.find import component_models
from spacy_multihash.inspection.sizes import model_size

# What a run may depend on, as far as it is installed.
PACKAGES = ("spacy", "thinc", "numpy", "spacy-multihash", "numba", "python-crfsuite")


def run_one(run: Run, *, renew: bool = False) -> dict[str, Any]:
    """Train and evaluate a run, unless it has results, and return its results.

    Results are written last, and as a whole. A run is done when they are on disk. Earlier results
    stay until then.

    run (Run): The run. Its corpus has been converted.
    renew (bool): Whether unrecorded results, and those of older code, are made again.

    Raises FileNotFoundError if the corpus is missing. Raises ValueError for damaged results, for
    another corpus than that of the other results, and if another process works on this run.
    """
    with locked(run):
        return _run(run) if runs_to_do([run], renew=renew) else read_result(results_path(run))


def _check_corpus(run: Run) -> None:
    """Raise ValueError if the corpus is not that of the other results of its data set."""
    expected = run.task.train_docs.get(run.dataset)
    if expected is not None and (found := len(DocBin().from_disk(run.corpus("train")))) != expected:
        raise ValueError(
            f"{run.corpus('train')} has {found:,} docs, but the results of {run.dataset} are of "
            f"{expected:,}. Move results/runs/{run.dataset} away, and change the number in "
            "experiments/arms/tasks.py."
        )


@contextmanager
def locked(run: Run) -> Iterator[None]:
    """Keep all other processes from working on a run.

    Raises ValueError if another process does.
    """
    path = run.folder.with_suffix(".lock")
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("w") as file_:
        try:
            fcntl.flock(file_, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise ValueError(
                f"Another process works on the run {run.name} and holds {path}. Wait for it, or "
                "end it."
            ) from error
        yield


def _run(run: Run) -> dict[str, Any]:
    _check_corpus(run)
    sources = read_sources(run)
    nlp, tagger, facts = (_run_crf if run.arm == CRF else _run_spacy)(run, sources)
    scores = _score(run, nlp, tagger, _splits_to_score(run))
    if run.after:
        # what is imported before the training counts as its code
        from experiments.runs.after import evaluate_after, made_after

        facts["record"]["made"] = {**facts["record"]["made"], **made_after(run)}
        scores["after"], counts = evaluate_after(run)
        scores["counts"] |= counts
    facts["record"]["evaluation"] = evaluation_code(facts["record"]["code"], sources)
    result = {
        "format": FORMAT,
        "dataset": run.dataset,
        "arm": run.arm,
        "vectors": run.vectors,
        "seed": run.seed,
        "versions": {"python": python_version(), **_versions()},
        **facts,
        **scores,
    }
    write_json(results_path(run), result)
    return read_result(results_path(run))


def _splits_to_score(run: Run) -> list[str]:
    """List the splits of a training, and what earlier results of the run have besides them."""
    path = results_path(run)
    earlier = read_result(path) if path.is_file() else {}
    return [split for split in SPLITS if split in splits_of(run) or split in earlier]


def _versions() -> dict[str, str]:
    found = {}
    for name in PACKAGES:
        with suppress(PackageNotFoundError):
            found[name] = version(name)
    return found


def _score(run: Run, nlp: Language, tagger: Tagger, splits: Sequence[str]) -> dict[str, Any]:
    judge = make_judge(run, nlp.vocab)
    scores: dict[str, Any] = {"counts": {}}
    timed = splits_of(run)[-1] if run.task is NER else None
    for split in splits:
        golds = read_docs(run.corpus(split), nlp.vocab)
        examples = list(Corpus(run.corpus(split)).make_examples(nlp, golds))
        start = time.process_time()
        tagger(examples)
        if split == timed:
            scores["words_per_second"] = sum(len(e.x) for e in examples) / (
                time.process_time() - start
            )
        scores[split], counts = judge(examples)
        scores["counts"] |= pack_parts(split, counts)
    return scores


def trained_model(run: Run, result: Mapping[str, Any]) -> Path:
    """Return the folder of the trained model of a run.

    result (Mapping[str, Any]): The results of the run.

    Raises FileNotFoundError without the model that the results are of.
    """
    marker, model = run.folder / MARKER, run.folder / MODEL
    trained = srsly.read_json(marker)["record"] if marker.is_file() else {}
    if not model.is_dir() or trained.get("date") != result["record"]["date"]:
        raise FileNotFoundError(
            f"Expected {model} to be the model of {results_path(run)}, but it is of another "
            "training, or gone. Delete these results and run it again: python -m experiments "
            f"run-one {run.name}"
        )
    return model


def score_test(run: Run) -> dict[str, Any]:
    """Score the trained model of a run on test, unless its results have test, and return them.

    Its record then says which code scored test. Its words per second stay those of dev.

    run (Run): The run, which has results.

    Raises FileNotFoundError without the model that the results are of. Raises ValueError for
    damaged results, and if another process works on this run.
    """
    with locked(run):
        result = read_result(results_path(run))
        if TEST in result:
            return result
        sources = read_sources(run)
        nlp = spacy.load(trained_model(run, result))
        scores = _score(run, nlp, make_tagger(run, nlp), (TEST,))
        scores["counts"] = result["counts"] | scores["counts"]
        code = evaluation_code(result["record"]["code"], sources)
        scores["record"] = {**result["record"], TEST_EVALUATION: code}
        write_json(results_path(run), result | scores)
        return read_result(results_path(run))


def _run_spacy(run: Run, sources: Sources) -> tuple[Language, Tagger, dict[str, Any]]:
    training = train(run, run_config(run), sources)
    model = run.folder / MODEL
    nlp = spacy.load(model)
    size = model_size(*component_models(nlp).values())
    log = list(srsly.read_jsonl(run.folder / "log.jsonl"))
    facts: dict[str, Any] = {
        "record": {**training.record, "vectors": vectors_digest(nlp.vocab)},
        "config_hash": training.config_hash,
        "train_seconds": training.seconds,
        "train_cpu_seconds": training.cpu_seconds,
        "steps": log[-1]["step"],
        # spaCy keeps the last of equally good models
        "best_step": max(log, key=lambda line: (line["score"], line["step"]))["step"],
        "model_bytes": sum(path.stat().st_size for path in model.rglob("*") if path.is_file()),
        "parameters": size and size.parameters,
    }
    return nlp, make_tagger(run, nlp), facts


def _run_crf(run: Run, sources: Sources) -> tuple[Language, Tagger, dict[str, Any]]:
    nlp = spacy.blank(run.lang)
    model = run.folder / "model.crfsuite"
    training = train_crf(read_docs(run.corpus("train"), nlp.vocab), model)

    def tag(examples: list[Example]) -> None:
        # Gold docs have sentences, unlike the predicted ones. Their entities are replaced.
        docs = predict_crf(model, (example.reference for example in examples))
        for example, doc in zip(examples, docs, strict=True):
            example.predicted = doc

    facts = {
        "record": {**make_record(sources), "vectors": None},
        "config_hash": run_hash(run),
        "train_seconds": training.seconds,
        "train_cpu_seconds": training.cpu_seconds,
        "steps": None,
        "best_step": None,
        "model_bytes": model.stat().st_size,
        "parameters": training.features,
    }
    return nlp, tag, facts


def run_one_cli(
    name: Annotated[
        str, typer.Argument(help="DATASET/ARM/VECTORS/seedN, as run-grid --list shows")
    ],
    renew: Annotated[
        bool,
        typer.Option("--renew", help="Also if they are unrecorded or of older code or corpora"),
    ] = False,
) -> None:
    """Train and evaluate one run of the experiments, unless it has results.

    DOCS: docs/results.md
    """
    try:
        run = parse_run(name)
        result = run_one(run, renew=renew)
    except (ImportError, OSError, ValueError) as error:
        msg.fail(f"Could not run {name}", str(error), exits=1)
    main = run.task.main
    scores = (f"{result[s]['all'][main]:.4f} on {s}" for s in SPLITS if s in result)
    msg.good(f"{name}: {run.task.metrics[main]} {', '.join(scores)}")
