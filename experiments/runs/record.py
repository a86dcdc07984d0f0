"""What a run says of itself: the machine, the code and the data that it is of.

The digests of the code's modules are kept once for all runs of the same code, in results/code/. So
a run of older code is recognized, and the modules that have changed since are named.
"""

import hashlib
import subprocess
import sys
from collections.abc import Iterable, Mapping
from datetime import datetime, timezone
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Optional

import srsly
from spacy.vocab import Vocab
from threadpoolctl import threadpool_info

from experiments.arms.vectors import VECTOR_ARMS
from experiments.runs.grid import Run
from experiments.runs.vector_files import made_for
from spacy_multihash.common.files import write_json
from spacy_multihash.common.machine import cpu_name

CODE = Path("results") / "code"
SPLITS = ("train", "dev", "test")
# The rooms of the package whose code decides scores, as far as a run imports it.
ROOMS = (
    "common",
    "compute",
    "convert",
    "corpus",
    "embed",
    "encode",
    "ner",
    "tables",
    "textcat",
    "vectors",
)
EXPERIMENTS = tuple(f"experiments.runs.{name}" for name in ("after", "crf", "one", "scores"))


def digest(data: bytes) -> str:
    """Return the MD5 digest of some bytes, in hexadecimal."""
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


def make_record(run: Run) -> dict[str, Any]:
    """Say what this process trains a run with, after its training.

    run (Run): The run. Its corpus has been converted.
    """
    return {
        "cpu": cpu_name(),
        "threads": max((pool["num_threads"] for pool in threadpool_info()), default=1),
        "commit": commit(),
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "code": write_code(_loaded_modules()),
        "corpus": {split: digest(run.corpus(split).read_bytes()) for split in SPLITS},
    }


def vectors_digest(vocab: Vocab) -> Optional[str]:
    """Digest the static vectors of a vocab, or return None if it has none."""
    return digest(vocab.vectors.to_bytes()) if len(vocab.vectors) else None


def made_digests(run: Run) -> dict[str, Any]:
    """Digest what was made for the arm of a run: the vectors of tables, and pretrained weights.

    Returns {"made": the digests by name}, or nothing if nothing was made for it.
    """
    arm = VECTOR_ARMS.get(run.arm)
    paths = [] if arm is None else list(made_for(run.dataset, arm))
    files = {path.name: path / "vocab" / "vectors" if path.is_dir() else path for path in paths}
    made = {name: digest(file_.read_bytes()) for name, file_ in files.items()}
    return {"made": made} if made else {}


def commit() -> Optional[str]:
    """Return the commit of this folder, with a + if files differ from it, or None without git."""

    def git(*arguments: str) -> str:
        command = ["git", *arguments]
        return subprocess.run(command, capture_output=True, check=True, text=True).stdout.strip()

    try:
        changes = git("status", "--porcelain", "--", "spacy_multihash", "experiments")
        return git("rev-parse", "--short=12", "HEAD") + ("+" if changes else "")
    except (OSError, subprocess.CalledProcessError):
        return None


def write_code(modules: Iterable[str]) -> str:
    """Keep the digests of modules, unless they are kept already, and return a digest of them all.

    modules (Iterable[str]): The names of modules.
    """
    digests = {module: module_digest(module) for module in sorted(modules)}
    name = digest(repr(digests).encode("utf8"))
    path = CODE / f"{name}.json"
    if not path.is_file():
        write_json(path, digests)
    return name


def changed_modules(record: Mapping[str, Any]) -> list[str]:
    """Return the modules that have changed, or gone, since a run.

    record (Mapping[str, Any]): What the run says of itself.

    Raises FileNotFoundError if the digests of its modules are not kept.
    """
    path = CODE / f"{record['code']}.json"
    if not path.is_file():
        raise FileNotFoundError(
            f"There is no file {path}, which lists the code of a run. Restore it, or delete the "
            "results of the run."
        )
    digests: Mapping[str, str] = srsly.read_json(path)
    return [module for module, known in digests.items() if module_digest(module) != known]


def module_digest(module: str) -> Optional[str]:
    """Digest the source of a module as it is on disk, or return None if there is no such module."""
    try:
        spec = find_spec(module)
    except ModuleNotFoundError:  # of its package
        spec = None
    return digest(Path(spec.origin).read_bytes()) if spec and spec.origin else None


def _loaded_modules() -> list[str]:
    rooms = tuple(f"spacy_multihash.{room}." for room in ROOMS)
    return [*(name for name in list(sys.modules) if name.startswith(rooms)), *EXPERIMENTS]
