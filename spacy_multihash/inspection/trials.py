"""Candidates trained on parts of a corpus, by successive halving.

Each finished trial is a file in a folder, written whole or not at all, so that a second call goes
on where a first one was interrupted. A digest in the file says what it was a trial of.
"""

import hashlib
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import asdict, dataclass, field
from functools import partial
from importlib.metadata import version
from itertools import islice, repeat
from pathlib import Path
from statistics import median
from typing import Optional

import srsly
from spacy.language import Language
from spacy.schemas import ConfigSchemaTraining
from spacy.tokens import DocBin
from spacy.training.initialize import init_nlp
from spacy.training.loop import (
    create_evaluation_callback,
    create_train_batches,
    train_while_improving,
)
from spacy.util import registry, resolve_dot_names
from spacy.vectors import Vectors
from spacy.vocab import Vocab
from thinc.api import Config

from ..common.files import write_json
from ..corpus.read import read_docs, write_corpora
from .halving import Round, better_half

PACKAGES = ("spacy", "thinc", "numpy", "spacy-multihash")


@dataclass(frozen=True)
class Trial:
    """A candidate that was trained in a round.

    name (str): The candidate.
    score (float): Its F1 on DEV.
    seconds (float): How long it was trained and evaluated.
    digest (str): What it was a trial of: config, corpus, round and versions.
    """

    name: str
    score: float
    seconds: float
    digest: str


@dataclass
class Trials:
    """What came of trials.

    rounds (list[Round]): The rounds that were planned.
    scores (list[dict[str, float]]): F1 on DEV of each candidate, for each round that was begun.
    kept (int): How many trials an earlier call had finished.
    outdated (list[str]): Files of trials of another corpus, config or version, that were replaced.
    left_out (list[str]): The trials of a round that did not fit into the time.
    trained (int): How many trials this call has finished.
    """

    rounds: list[Round]
    scores: list[dict[str, float]] = field(default_factory=list)
    kept: int = 0
    outdated: list[str] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    trained: int = 0

    @property
    def complete(self) -> list[dict[str, float]]:
        """The scores of the rounds that all their candidates were trained in."""
        return self.scores[:-1] if self.left_out else self.scores


# Called with the steps of a trial that are done, and what the trial is.
OnSteps = Callable[[int, str], None]
Evaluate = Callable[[], tuple[float, dict[str, float]]]


def run_trials(
    configs: Mapping[str, Config],
    base: str,
    rounds: list[Round],
    train: Path,
    folder: Path,
    *,
    digest: str,
    seconds: float,
    on_steps: OnSteps,
) -> Trials:
    """Train candidates, half of them with twice the data and steps, and so on.

    configs (Mapping[str, Config]): The config of each candidate. Its corpora are [paths] train and
        dev.
    base (str): The candidate that goes on through all rounds.
    rounds (list[Round]): The rounds.
    train (Path): The training corpus, a .spacy file or a folder.
    folder (Path): Where finished trials are, and parts of the corpus.
    digest (str): The digest of corpora and vectors, as `digest_inputs` makes it.
    seconds (float): The time for all trials. None starts that is expected not to fit, other than
        the first one that this call trains, and none goes on that does not.
    on_steps (OnSteps): Called after each step, and with all steps of a trial that is kept.
    """
    deadline = time.monotonic() + seconds
    found, names, is_first = Trials(rounds), list(configs), True
    paces: list[float] = []  # seconds for each word
    for number, each in enumerate(rounds, start=1):
        scores: dict[str, float] = {}
        found.scores.append(scores)
        part, before, paces = train, paces, []
        for name in names:
            path = folder / f"round{number}-{_file_name(name)}.json"
            of_trial = _digest(configs[name], each, digest)
            trial = _read_trial(path, of_trial)
            words = _count_words(configs[name], each.steps)
            if trial is not None:
                found.kept += 1
                on_steps(each.steps, "")
            else:
                expected = median(paces or before or [0.0]) * words
                if not is_first and time.monotonic() + expected > deadline:
                    found.left_out.append(name)
                    continue
                is_first = False
                if each.every > 1 and part == train:
                    part = write_part(train, folder, each.every, digest)
                trial = _train(
                    name,
                    configs[name],
                    part,
                    each,
                    of_trial,
                    deadline=deadline,
                    on_step=partial(on_steps, 1, f"round {number}, {name}"),
                )
                if trial is None:
                    found.left_out.append(name)
                    continue
                found.trained += 1
                if path.exists():
                    found.outdated.append(path.name)
                write_json(path, asdict(trial))
            paces.append(trial.seconds / words)
            scores[name] = trial.score
        if found.left_out:
            return found
        # Of equal ones, the first comes first: the likelier to matter.
        names = better_half(sorted(scores, key=lambda name: -scores[name]), base)
    return found


def write_part(train: Path, folder: Path, every: int, digest: str) -> Path:
    """Write every how-manieth document of a corpus to a file in a folder, and return its path.

    digest (str): The digest of the corpus, a part of the name. Calls for different corpora may then
        share a folder, even at the same time.
    """
    docs = islice(read_docs(train, Vocab()), 0, None, every)
    name = f"train-{every}-{digest[:16]}"
    write_corpora(folder, {name: DocBin(docs=docs, store_user_data=True)})
    return folder / f"{name}.spacy"


def digest_inputs(train: Path, dev: Path, vectors: Optional[Vectors]) -> str:
    """Make a digest of corpora, each a .spacy file or a folder of them, and of static vectors."""
    digest = hashlib.sha256()
    if vectors is not None:
        digest.update(vectors.to_bytes())
    for path in (train, dev):
        files = sorted(path.rglob("*.spacy")) if path.is_dir() else [path]
        for file_ in files:
            digest.update(hashlib.sha256(file_.read_bytes()).digest())
        digest.update(b"/")
    return digest.hexdigest()


def _train(
    name: str,
    config: Config,
    part: Path,
    each: Round,
    digest: str,
    *,
    deadline: float,
    on_step: Callable[[], None],
) -> Optional[Trial]:
    """Train a candidate for so many steps; None if that takes too long."""
    start = time.monotonic()
    config = config.copy()
    config["paths"]["train"] = str(part)
    nlp = init_nlp(config)
    score = None
    for score in _scores_of_steps(nlp, each.steps):
        on_step()
        if time.monotonic() > deadline and score is None:
            return None
    return Trial(name, float(score or 0.0), time.monotonic() - start, digest)


def _scores_of_steps(nlp: Language, steps: int) -> Iterator[Optional[float]]:
    """Train with spaCy's loop, and yield the score after each step: None, and last a number."""
    config = nlp.config.interpolate()
    training = registry.resolve(config["training"], schema=ConfigSchemaTraining)
    names = [training["train_corpus"], training["dev_corpus"]]
    train_corpus, dev_corpus = resolve_dot_names(config, names)
    evaluate = create_evaluation_callback(nlp, dev_corpus, training["score_weights"])
    # spaCy evaluates the first step too, of which nothing is learned.
    first: list[Evaluate] = [lambda: (0.0, {})]
    batches = create_train_batches(nlp, train_corpus, training["batcher"], training["max_epochs"])
    for number, (_, info, _) in enumerate(
        train_while_improving(
            nlp,
            training["optimizer"],
            batches,
            lambda: (first.pop() if first else evaluate)(),
            dropout=training["dropout"],
            accumulate_gradient=training["accumulate_gradient"],
            patience=0,
            max_steps=steps - 1,  # counted from 0
            eval_frequency=steps - 1,
            exclude=[],
            annotating_components=[],
            before_update=None,
        )
    ):
        yield info["score"] if number else None


def _count_words(config: Config, steps: int) -> float:
    """Count the words of the first batches, whose size may grow."""
    batcher = config.interpolate()["training"]["batcher"]
    size = registry.resolve({"size": batcher.get("size", 1)})["size"]
    return sum(islice(repeat(size) if isinstance(size, (int, float)) else iter(size), steps))


def _digest(config: Config, each: Round, inputs: str) -> str:
    """Make a digest of all that a trial depends on, but not of where its files are."""
    config = config.copy()
    config["paths"] = dict.fromkeys(config["paths"])
    versions = [f"{name} {version(name)}" for name in PACKAGES]
    text = "\n".join([config.to_str(), f"{each.every} {each.steps}", inputs, *versions])
    return hashlib.sha256(text.encode("utf8")).hexdigest()


def _read_trial(path: Path, digest: str) -> Optional[Trial]:
    """Read a finished trial; None if there is none, or one of something else."""
    try:
        trial = Trial(**srsly.read_json(path))
    except (OSError, TypeError, ValueError):
        return None
    return trial if trial.digest == digest else None


def _file_name(name: str) -> str:
    return "".join(sign if sign.isalnum() or sign in ".-" else "-" for sign in name)
