"""What a run says of itself: the machine, the code and the data that it is of.

The digests of the code's modules are kept once for all runs of the same code, in results/code/. So
a run of older code is recognized, and the modules that have changed since are named. What a
training needs is kept apart from what is needed after it: a model that is evaluated by older code
is evaluated again, and not trained.
"""

import hashlib
import subprocess
import sys
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime, timezone
from importlib.util import find_spec
from pathlib import Path
from typing import Any, Optional

import srsly
from spacy.vocab import Vocab
from threadpoolctl import threadpool_info

from experiments.runs.grid import Run
from spacy_multihash.common.files import write_json
from spacy_multihash.common.machine import cpu_name

CODE = Path("results") / "code"
SPLITS = ("train", "dev", "test")
# The lists of code in a record: of the training, of what scored it, and of what scored test later.
TEST_EVALUATION = "test_evaluation"
CODES = ("code", "evaluation", TEST_EVALUATION)
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
EXPERIMENTS = tuple(
    f"experiments.runs.{name}"
    for name in ("after", "counts", "crf", "kept_corpus", "one", "scores", "training")
)
# What scores models and decides none of their weights. Some of it is loaded before the training.
EVALUATING = frozenset(
    (
        "experiments.runs.after",
        "experiments.runs.counts",
        "experiments.runs.one",
        "experiments.runs.scores",
        "spacy_multihash.corpus.agreement",
        "spacy_multihash.corpus.evaluation",
        "spacy_multihash.corpus.noisy_evaluation",
        "spacy_multihash.tables.extend",
        "spacy_multihash.tables.prune",
    )
)


def digest(data: bytes) -> str:
    """Return the MD5 digest of some bytes, in hexadecimal."""
    return hashlib.md5(data, usedforsecurity=False).hexdigest()


@dataclass(frozen=True)
class Sources:
    """What decides the outcome of a run, as it is on disk before the run begins.

    What is edited in the meantime is not what was run.

    code (Mapping[str, str]): The digests of the modules that may decide scores, by their names.
    corpus (Mapping[str, str]): The digests of the files of the corpus, by split.
    """

    code: Mapping[str, Optional[str]]
    corpus: Mapping[str, str]


def read_sources(run: Run) -> Sources:
    """Digest what decides the outcome of a run, whose corpus has been converted."""
    return Sources({name: module_digest(name) for name in _modules()}, corpus_digests(run))


def corpus_digests(run: Run) -> dict[str, str]:
    """Digest the files of a run's corpus, by split.

    Raises FileNotFoundError if one is missing.
    """
    for path in map(run.corpus, SPLITS):
        if not path.is_file():
            command = run.task.commands[run.dataset]
            raise FileNotFoundError(
                f"There is no file {path}. Make the corpus: python -m spacy project run {command}"
            )
    return {split: digest(run.corpus(split).read_bytes()) for split in SPLITS}


def make_record(sources: Sources) -> dict[str, Any]:
    """Say what this process trained a run with, right after the training.

    sources (Sources): Code and corpus, as they were before it.
    """
    pools = threadpool_info()
    return {
        "cpu": cpu_name(),
        # the CPUs whose instructions it uses, such as Haswell or SkylakeX
        "blas": ", ".join(sorted({pool.get("architecture", "") for pool in pools} - {""})),
        "threads": max((pool["num_threads"] for pool in pools), default=1),
        "commit": commit(),
        "date": datetime.now(timezone.utc).isoformat(timespec="seconds"),
        "code": write_code(set(_loaded_modules()) - EVALUATING, sources.code),
        "corpus": dict(sources.corpus),
    }


def vectors_digest(vocab: Vocab) -> Optional[str]:
    """Digest the static vectors of a vocab, or return None if it has none."""
    return digest(vocab.vectors.to_bytes()) if len(vocab.vectors) else None


def evaluation_code(training: str, sources: Sources) -> str:
    """Keep the digests of the modules that a model is evaluated with, as `write_code` does.

    training (str): The digest of the code that it was trained with, whose modules are left out.
    sources (Sources): The code as it was before the run.
    """
    return write_code(set(_loaded_modules()) - set(_modules_of(training)), sources.code)


def made_digests(paths: Iterable[Path]) -> dict[str, str]:
    """Digest what was made for runs, by its name.

    paths (Iterable[Path]): Folders of pipelines, whose words and vectors count, and files.
    """
    return {path.name: digest(b"".join(map(Path.read_bytes, _files(path)))) for path in paths}


def _files(path: Path) -> list[Path]:
    parts = [path / "vocab" / name for name in ("vectors", "key2row")]
    return parts if path.is_dir() else [path]


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


def write_code(modules: Iterable[str], digests: Mapping[str, Optional[str]]) -> str:
    """Keep the digests of modules, unless they are kept already, and return a digest of them all.

    modules (Iterable[str]): The names of modules.
    digests (Mapping[str, Optional[str]]): The digests of these modules, and of others.
    """
    digests = {module: digests[module] for module in sorted(modules)}
    name = digest(repr(digests).encode("utf8"))
    path = CODE / f"{name}.json"
    if not path.is_file():
        write_json(path, digests)
    return name


def changed_modules(record: Mapping[str, Any]) -> list[str]:
    """Return the modules that have changed, or gone, since a run.

    record (Mapping[str, Any]): What the run says of itself. Its training alone has no "evaluation".

    Raises FileNotFoundError if the digests of its modules are not kept.
    """
    names = [record[key] for key in CODES if key in record]
    digests = [item for name in names for item in _modules_of(name).items()]
    # What scored test later may be of other code than what scored dev.
    changed = (module for module, known in digests if module_digest(module) != known)
    return list(dict.fromkeys(changed))


def _modules_of(code: str) -> Mapping[str, str]:
    path = CODE / f"{code}.json"
    if not path.is_file():
        raise FileNotFoundError(
            f"There is no file {path}, which lists the code of a run. Restore it, or delete the "
            "results of the run."
        )
    digests: Mapping[str, str] = srsly.read_json(path)
    return digests


def module_digest(module: str) -> Optional[str]:
    """Digest the source of a module as it is on disk, or return None if there is no such module."""
    try:
        spec = find_spec(module)
    except ModuleNotFoundError:  # of its package
        spec = None
    return digest(Path(spec.origin).read_bytes()) if spec and spec.origin else None


def _loaded_modules() -> list[str]:
    rooms = tuple(f"spacy_multihash.{room}." for room in ROOMS)
    return [name for name in list(sys.modules) if name.startswith(rooms) or name in EXPERIMENTS]


def _modules() -> list[str]:
    """List the modules that may decide scores, loaded or not."""
    spec = find_spec("spacy_multihash")
    assert spec and spec.origin  # it is installed
    package = Path(spec.origin).parent
    paths = (path for room in ROOMS for path in (package / room).rglob("*.py"))
    names = (path.relative_to(package.parent).with_suffix("").parts for path in paths)
    return [".".join(parts).removesuffix(".__init__") for parts in names] + list(EXPERIMENTS)
