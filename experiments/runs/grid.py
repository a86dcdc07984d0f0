"""The grid of experiments: its runs, and the config of each run."""

import hashlib
import re
from collections.abc import Iterable
from dataclasses import dataclass
from math import ceil
from pathlib import Path

from spacy.attrs import IDS
from spacy.util import load_model_from_config
from thinc.api import Config

from experiments.arms.arm import Arm
from experiments.arms.batch_ner import STATE_DROPOUTS, ner_section
from experiments.arms.configs import TAKEN_APART, TRAINING, make_config
from experiments.arms.dilated import DILATED
from experiments.arms.embeddings import ATTRS, BUDGETS
from experiments.arms.tasks import (
    AG_NEWS,
    CRF,
    HASH_EMBED,
    NER,
    RECOMMENDED,
    ROW_SHARES,
    SENTENCES,
    TASKS,
    TEXTCAT,
    TOPICS,
    Task,
)
from experiments.arms.textcat import BASIC
from experiments.arms.vectors import VECTOR_ARMS
from experiments.runs import crf
from experiments.runs.kept_corpus import KEPT_CORPUS, SPACY_CORPUS
from experiments.runs.vector_files import (
    FOREIGN,
    NO_VECTORS,
    VECTOR_GROUPS,
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


def lacks(run: Run) -> str:
    """Return what a run lacks, its corpus or its vectors, or "" if it lacks nothing."""
    arm = VECTOR_ARMS.get(run.arm)
    foreign = [FOREIGN[run.dataset]] if arm and arm.is_foreign else []
    for dataset in (run.dataset, *foreign):
        if not (CORPUS / dataset / "train.spacy").is_file():
            command = run.task.commands[dataset]
            return f"the corpus {dataset} (python -m spacy project run {command})"
    vectors = VECTORS[run.dataset] if arm and arm.table else run.vectors
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


def _runs(datasets: Iterable[str], arms: Iterable[str], *, vectors: bool = False) -> list[Run]:
    """List the runs of a group, with every seed."""
    return [
        Run(dataset, arm, VECTORS[dataset] if vectors else NO_VECTORS, seed)
        for seed in SEEDS
        for dataset in datasets
        for arm in arms
    ]


def make_grid() -> list[Run]:
    """List the runs of the experiments, group by group, the most important ones first.

    In each group the first seed of every arm comes before the second of any. The runs on OntoNotes
    are for users with a licence.
    """
    both = (HASH_EMBED, "multi_embed")
    report = ("conll-es", "conll-nl", "wnut17", "anem", "archaeo")
    # The sets of sentences from news, with the report's one of abstracts and its stand-in.
    four = ("conll-es", "conll-nl", "anem", "turku-one")
    seeds_arms = [f"{scheme}hashes_{k}" for k in (1, 2) for scheme in ("", "spacy_seeds_")]
    dead = [f"{arm}_rows_{rows}" for rows in (2500, 1000) for arm in seeds_arms]
    hashes = [*seeds_arms, "hashes_3", "spacy_seeds_hashes_3", "spacy_seeds_hashes_4"]
    features = ("orth", "norm", "norm_prefix", "norm_prefix_suffix")
    min_freqs = ("multi_embed", "multi_embed_min5", "multi_embed_min1")
    tables = (*both, "rows_as_multi_embed", *min_freqs, *hashes)
    taken_apart = ("multi_embed_min1", "averages", "batch_ner_state_dropout_0.3", *TAKEN_APART)
    others = (RECOMMENDED, "spacy_multi_hash_embed")
    kinds = ("weighted", "weighted_near_zero")
    budgets = (*kinds, *(f"{k}_budget_{n}".strip("_") for n in BUDGETS for k in (*kinds, "")))
    budgets += ("hashes_2_near_zero", *(f"budget_{n}_hashes_2" for n in BUDGETS))
    ontonotes = ("ontonotes",)
    grid = [Run(dataset, CRF) for dataset in (*report, "turku-one")]
    for arms in (("ner", HASH_EMBED, "batch_ner"), STATE_DROPOUTS):
        grid += _runs(["wnut17", "turku-one", "conll-es"], arms)
    grid += _runs([*report, "turku-one"], (RECOMMENDED, HASH_EMBED))
    grid += _runs(["conll-es", "wnut17", "turku-one"], ["table_dropout"])
    # the report's tables without vectors, the main ones first
    grid += _runs(four, features)
    grid += _runs(four, hashes)
    grid += _runs(["turku-one"], dead)
    grid += _runs(four, min_freqs)
    grid += _runs(four, ["rows_as_multi_embed"])
    grid += _runs(["conll-es", "archaeo"], ROW_SHARES)
    grid += _runs(["conll-es", "conll-nl", "wnut17", "turku-one"], taken_apart)
    grid += _runs(["conll-es", "wnut17"], TRAINING)
    grid += _runs(["conll-es", "wnut17"], both, vectors=True)
    # all of them, on all data sets
    grid += _runs([*report, "turku-one"], [*both, *hashes, *others])
    grid += _runs(report, tables)
    grid += _runs(report, tables, vectors=True)
    grid += _runs(["conll-nl", "anem"], features, vectors=True)
    grid += _runs(report, ["spacy_multi_hash_embed"], vectors=True)
    grid += _runs(["conll-es", "archaeo"], ROW_SHARES, vectors=True)
    grid += [Run(*ontonotes, CRF), *_runs(ontonotes, [*others, *tables])]
    grid += _runs(ontonotes, tables, vectors=True)
    # weighted embeddings, text classifiers and dilated convolutions
    grid += _runs([AG_NEWS], TEXTCAT.arms)
    grid += _runs(["wnut17", "conll-es"], budgets)
    grid += _runs(["anem"], (*kinds, "hashes_2_near_zero"))
    grid += _runs([TOPICS], BASIC)
    grid += _runs([SENTENCES], [HASH_EMBED])
    grid += _runs(["wnut17", "conll-es", "conll-nl", SENTENCES], DILATED)
    grid += _runs(["turku-one"], ("tagger_greedy", "tagger", "tagger_crf"))
    for sets, names in VECTOR_GROUPS:
        grid += _runs(sets, names)
    return list(dict.fromkeys(grid))


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
    for corpus in config["corpora"].values():
        if corpus["augmenter"] is None:
            corpus["@readers"] = KEPT_CORPUS  # the same examples, read once
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
        embed["rows"] = adjusted_rows(config, ROW_SHARES[run.arm])
    return config


def config_hash(config: Config) -> str:
    """Digest what decides the outcome of a config.

    That is all but paths, the logger, whose Adam it is, and whether its corpora are kept in memory.
    """
    config = config.copy()
    config["paths"], config["training"]["logger"] = {}, {}
    if config["training"]["optimizer"]["@optimizers"] == ADAM:
        config["training"]["optimizer"]["@optimizers"] = "Adam.v1"
    for corpus in config["corpora"].values():
        if corpus["@readers"] == KEPT_CORPUS:
            corpus["@readers"] = SPACY_CORPUS
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


def adjusted_rows(config: Config, share: float) -> list[int]:
    """Return a share of the rows that MultiEmbed has at min_freq 10, for each attribute.

    config (Config): A config with the training corpus in which symbols are counted.
    share (float): The share, 1.0 for equally many rows.
    """
    docs = training_docs(load_model_from_config(config, auto_fill=True))
    tables = make_tables(count_symbols(docs, {name: IDS[name] for name in ATTRS}), min_freq=10)
    return [ceil(share * (len(tables.tables[name]) + 1)) for name in ATTRS]
