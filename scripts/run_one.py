"""One run of the experiments: train it through `spacy train`, and keep its log and model."""

import os
import resource
import shutil
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import srsly
from grid import NO_VECTORS, Run, config_hash, run_config
from spacy_multihash.files import write_json
from thinc.api import Config

VECTORS_FOLDER = Path("assets") / "vectors"


def vectors_path(name: str) -> str:
    """Find static vectors: a folder below assets/vectors/, else the name of a package."""
    folder = VECTORS_FOLDER / name
    return str(folder) if folder.is_dir() else name


def train(run: Run, config: Config) -> dict[str, Any]:
    """Train a run, unless it is trained already with this config, and return how long it took.

    run (Run): The run.
    config (Config): Its config.

    Raises RuntimeError if training fails.
    """
    marker = run.folder / "training.json"
    trained = {"config_hash": config_hash(config)}
    if marker.is_file():
        earlier = srsly.read_json(marker)
        if earlier["config_hash"] == trained["config_hash"]:
            return earlier
    if run.folder.exists():  # interrupted, or of another config
        shutil.rmtree(run.folder)
    run.folder.mkdir(parents=True)
    if run.vectors != NO_VECTORS:
        config["paths"]["vectors"] = vectors_path(run.vectors)
    config.to_disk(run.folder / "config.cfg", interpolate=False)
    wall, cpu = time.perf_counter(), _children_seconds()
    command = [sys.executable, "-m", "spacy", "train", str(run.folder / "config.cfg")]
    with (run.folder / "log.txt").open("w") as log:
        done = subprocess.run(
            [*command, "--output", str(run.folder)],
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=subprocess.STDOUT,
            env=os.environ | {"OMP_NUM_THREADS": "1", "OPENBLAS_NUM_THREADS": "1"},
        )
    if done.returncode != 0:
        raise RuntimeError(
            f"Training of {run.name} failed with exit status {done.returncode}. See "
            f"{run.folder / 'log.txt'}, and run it again."
        )
    trained["seconds"] = time.perf_counter() - wall
    trained["cpu_seconds"] = _children_seconds() - cpu
    shutil.rmtree(run.folder / "model-last")
    write_json(marker, trained)
    return trained


def _children_seconds() -> float:
    usage = resource.getrusage(resource.RUSAGE_CHILDREN)
    return usage.ru_utime + usage.ru_stime
