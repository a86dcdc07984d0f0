"""The training of a run by `spacy train`, and what is recorded of it."""

import shutil
import time
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from typing import Any

import srsly
from spacy.cli.train import train as spacy_train
from thinc.api import Config

from experiments.arms.vectors import VECTOR_ARMS
from experiments.runs.grid import Run, config_hash
from experiments.runs.record import Sources, changed_modules, made_digests, make_record
from experiments.runs.vector_files import NO_VECTORS, made_for_training, vectors_path
from spacy_multihash.common.files import write_json

# The folder of the best model of a training, below that of the run.
MODEL = "model-best"
# The file beside it that says what it was trained with.
MARKER = "training.json"


@dataclass(frozen=True)
class Training:
    """What is recorded of a training.

    config_hash (str): The digest of its config.
    seconds, cpu_seconds (float): Its wall-clock time and its CPU time.
    record (Mapping[str, Any]): What it was trained with, as `make_record` says. Its "made" has the
        digests of its tables and pretrained weights, as they were when it began.
    """

    config_hash: str
    seconds: float
    cpu_seconds: float
    record: Mapping[str, Any]


def train(run: Run, config: Config, sources: Sources) -> Training:
    """Train a run, unless it has been trained with this config, code, corpus and tables before.

    run (Run): The run.
    config (Config): Its config, as `run_config` returns it.
    sources (Sources): The code and the corpus.
    """
    marker = run.folder / MARKER
    digest = config_hash(config)
    arm = VECTOR_ARMS.get(run.arm)
    made = made_digests(made_for_training(run.dataset, arm)) if arm else {}
    if marker.is_file() and (run.folder / MODEL).is_dir():
        earlier = Training(**{"record": {}, **srsly.read_json(marker)})
        same = earlier.config_hash == digest and earlier.record.get("made", {}) == made
        same = same and earlier.record.get("corpus") == sources.corpus
        if same and not changed_modules(earlier.record):
            return earlier
    if run.folder.exists():  # interrupted, or of another config, code, corpus or other tables
        shutil.rmtree(run.folder)
    run.folder.mkdir(parents=True)
    if run.vectors != NO_VECTORS:
        config["paths"]["vectors"] = vectors_path(run.vectors)
    config.to_disk(run.folder / "config.cfg", interpolate=False)
    start, cpu_start = time.perf_counter(), time.process_time()
    spacy_train(run.folder / "config.cfg", run.folder)
    seconds, cpu_seconds = time.perf_counter() - start, time.process_time() - cpu_start
    training = Training(digest, seconds, cpu_seconds, {**make_record(sources), "made": made})
    shutil.rmtree(run.folder / "model-last")
    write_json(marker, asdict(training))
    return training
