"""A run of the experiments: its name, what it needs, and its config."""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from functools import lru_cache
from math import ceil
from pathlib import Path

from spacy.attrs import IDS
from spacy.util import load_model_from_config
from thinc.api import Config

from experiments.arms.arm import Arm
from experiments.arms.batch_ner import ner_section
from experiments.arms.configs import make_config
from experiments.arms.embeddings import ATTRS
from experiments.arms.tasks import CRF, NER, ROW_SHARES, TASKS, Task
from experiments.arms.vectors import VECTOR_ARMS
from experiments.runs import crf
from experiments.runs.kept_corpus import KEPT_CORPUS, SPACY_CORPUS
from experiments.runs.vector_files import (
    FOREIGN,
    NO_VECTORS,
    OPEN,
    VECTORS,
    VECTORS_FOLDER,
    fill_in,
    has_vectors,
    made_for_evaluations,
    made_for_training,
    sets_of,
)
from spacy_multihash import count_symbols, make_tables
from spacy_multihash.common.registered import ADAM
from spacy_multihash.corpus.training import training_docs

CORPUS = Path("corpus")
RUNS = Path("training")
SEEDS = (0, 1, 2)
# Where three seeds leave open whether a method pays.
MORE_SEEDS = tuple(range(9))


@dataclass(frozen=True)
class Run:
    """One training, named by every factor.

    dataset (str): A key of `TASKS`.
    arm (str): One of the arms of its task.
    vectors (str): The name of static vectors, or "no-vectors".
    seed (int): The seed of weights and batches.
    """

    dataset: str
    arm: str
    vectors: str = NO_VECTORS
    seed: int = 0

    def __post_init__(self) -> None:
        """Raise ValueError for an unknown data set, arm or vectors."""
        if self.dataset not in TASKS:
            raise ValueError(f"Unknown data set {self.dataset!r}. Choose one of: {_list(TASKS)}.")
        if self.arm not in self.task.arms and self.task.find_arm(self.arm) is None:
            raise ValueError(
                f"Unknown arm {self.arm!r} on {self.dataset}. Choose one of: "
                f"{_list(self.task.arms)}."
            )
        own = VECTOR_ARMS.get(self.arm)
        if own and self.dataset not in sets_of(own):
            raise ValueError(
                f"Unknown arm {self.arm!r} on {self.dataset}. It is one of: {_list(sets_of(own))}."
            )
        known = [NO_VECTORS, *([VECTORS[self.dataset]] if self.dataset in VECTORS else [])]
        vectors = known[:1] if self.arm == CRF or own else known
        if self.vectors not in vectors:
            raise ValueError(
                f"Unknown vectors {self.vectors!r} of {self.arm} on {self.dataset}. Choose one of: "
                f"{_list(vectors)}."
            )

    @property
    def task(self) -> Task:
        """The kind of experiment."""
        return TASKS[self.dataset]

    @property
    def lang(self) -> str:
        """The language of the data set."""
        return self.task.langs[self.dataset]

    @property
    def after(self) -> tuple[str, ...]:
        """The evaluations after its training."""
        arm = VECTOR_ARMS.get(self.arm)
        return () if arm is None else arm.after

    @property
    def name(self) -> str:
        """The run's folder below training/, the seed last."""
        return f"{self.dataset}/{self.arm}/{self.vectors}/seed{self.seed}"

    @property
    def folder(self) -> Path:
        """The folder of the run's config, log and model."""
        return RUNS / self.name

    def corpus(self, split: str) -> Path:
        """Return the file of a split: train, dev or test."""
        return CORPUS / self.dataset / f"{split}.spacy"


def seeds_of(dataset: str, arm: str) -> tuple[int, ...]:
    """Return the seeds of the runs of an arm on a data set. A CRF is the same with every seed."""
    if arm == CRF:
        return SEEDS[:1]
    return MORE_SEEDS if (dataset, arm) in OPEN else SEEDS


def lacks(run: Run) -> str:
    """Return what a run lacks, such as its corpus or its vectors, or "" if it lacks nothing."""
    arm = VECTOR_ARMS.get(run.arm)
    if arm and arm.last_commit:
        return f"the layer of {run.arm}, which was removed (git checkout {arm.last_commit})"
    foreign = [FOREIGN[run.dataset]] if arm and arm.is_foreign else []
    for dataset in (run.dataset, *foreign):
        if not (CORPUS / dataset / "train.spacy").is_file():
            command = run.task.commands[dataset]
            return f"the corpus {dataset} (python -m spacy project run {command})"
    vectors = VECTORS[run.dataset] if arm and arm.takes_own else run.vectors
    if vectors != NO_VECTORS and not has_vectors(vectors):
        return f"the vectors {vectors} (a package, or a vocab at {VECTORS_FOLDER / vectors})"
    made = [f(run.dataset, arm) for f in (made_for_training, made_for_evaluations) if arm]
    if not all(path.exists() for paths in made for path in paths):
        return f"what is made for {run.dataset} (python -m experiments make-vectors {run.dataset})"
    return ""


def parse_run(name: str) -> Run:
    """Return the run with a name.

    Raises ValueError for a name in another form, and for an unknown data set, arm or vectors.
    """
    match = re.fullmatch(r"([^/]+)/([^/]+)/([^/]+)/seed(\d+)", name)
    if match is None:
        raise ValueError(
            f"Expected a run as DATASET/ARM/VECTORS/seedN, such as {Run('conll-es', CRF).name}; "
            f"found {name!r}."
        )
    dataset, arm, vectors, seed = match.groups()
    return Run(dataset, arm, vectors, int(seed))


def _list(names: Iterable[str]) -> str:
    return ", ".join(names)


def run_config(run: Run) -> Config:
    """Make the config of a run, complete except for the path of its vectors.

    Raises FileNotFoundError if an arm of `ROW_SHARES` lacks the corpus, in which rows are counted.
    """
    arm = run.task.find_arm(run.arm) or Arm()  # arms of ROW_SHARES get their rows below
    config = Config().from_str(make_config(arm), interpolate=False)
    config["nlp"]["lang"] = run.lang
    config["system"]["seed"] = run.seed
    config["paths"].update({split: str(run.corpus(split)) for split in ("train", "dev")})
    config["training"]["logger"] = {
        "@loggers": "spacy.ConsoleLogger.v3",
        "progress_bar": None,
        "console_output": True,
        "output_file": str(run.folder / "log.jsonl"),
    }
    config["training"]["optimizer"]["@optimizers"] = ADAM  # the steps of Adam.v1, in less time
    dev = config["corpora"]["dev"]
    if dev["@readers"] == SPACY_CORPUS and dev["augmenter"] is None:
        dev["@readers"] = KEPT_CORPUS  # the same examples, read once
    if run.task is not NER:
        return config
    if run.arm in VECTOR_ARMS:
        texts = [str(run.corpus(split)) for split in ("train", "dev", "test")]
        fill_in(config, run.dataset, VECTOR_ARMS[run.arm], texts)
        return config
    components = config["components"]
    has_own = "tagger_ner" in components  # instead of sharing a tok2vec
    tok2vec = components["tagger_ner" if has_own else "tok2vec"]["model"]
    embed = (tok2vec["tok2vec"] if has_own else tok2vec)["embed"]
    embed["include_static_vectors"] = run.vectors != NO_VECTORS
    if run.arm in ROW_SHARES:
        embed["rows"] = adjusted_rows(run, ROW_SHARES[run.arm])
    return config


def config_hash(config: Config) -> str:
    """Digest what decides the outcome of a config.

    That is all but paths, the logger, whose Adam it is, and whether its dev corpus is kept.
    """
    config = config.copy()
    config["paths"], config["training"]["logger"] = {}, {}
    if config["training"]["optimizer"]["@optimizers"] == ADAM:
        config["training"]["optimizer"]["@optimizers"] = "Adam.v1"
    if config["corpora"]["dev"]["@readers"] == KEPT_CORPUS:
        config["corpora"]["dev"]["@readers"] = SPACY_CORPUS
    text = config.to_str(interpolate=False)
    return hashlib.md5(text.encode("utf8"), usedforsecurity=False).hexdigest()


def run_hash(run: Run) -> str:
    """Digest what decides the outcome of a run on its corpus."""
    return crf.settings_hash() if run.arm == CRF else config_hash(run_config(run))


def same_functions(run: Run) -> tuple[str, ...]:
    """Return the digests of a run and of the one with `ner`, if that is the same function."""
    if run.arm == CRF:
        return (run_hash(run),)
    config = run_config(run)
    digests = [config_hash(config)]
    component = config["components"].get("ner", {})
    if component.get("spacy_gradient"):
        config["components"]["ner"] = ner_section(component)
        digests.append(config_hash(config))
    return tuple(digests)


def adjusted_rows(run: Run, share: float) -> list[int]:
    """Return a share of the rows that MultiEmbed has at min_freq 10, for each attribute.

    share (float): The share, 1.0 for equally many rows.
    """
    return [ceil(share * rows) for rows in _count_rows(run.corpus("train").resolve(), run.lang)]


@lru_cache
def _count_rows(train: Path, lang: str) -> list[int]:
    """Count the rows of tables, once for all shares and seeds."""
    config = Config().from_str(make_config(Arm()), interpolate=False)
    config["nlp"]["lang"], config["paths"]["train"] = lang, str(train)
    docs = training_docs(load_model_from_config(config, auto_fill=True))
    tables = make_tables(count_symbols(docs, {name: IDS[name] for name in ATTRS}), min_freq=10)
    return [len(tables.tables[name]) + 1 for name in ATTRS]
