"""Training that can be resumed after an interruption.

The steps are those of `spacy train`, which always starts over. Here, each evaluation saves a
checkpoint: weights, the optimizer's moments and averages, random states, and the scores so far.
Resumed training repeats the steps since the last evaluation, and ends with the same model, bit for
bit, as uninterrupted training.
"""

import json
import math
import random
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter
from typing import Any, BinaryIO, Optional, cast
from zipfile import ZIP_STORED, ZipFile

import numpy
from spacy.language import Language
from spacy.pipeline import TrainablePipe
from spacy.schemas import ConfigSchemaTraining
from spacy.training import Example
from spacy.training.initialize import init_nlp
from spacy.training.loop import create_evaluation_callback, subdivide_batch, update_meta
from spacy.util import registry, resolve_dot_names
from thinc.api import Config, Model, Optimizer, fix_random_seed, to_numpy

from ..common.files import (
    UnreadableFile,
    check_npy,
    reading,
    replacing_file,
    replacing_folder,
)


@dataclass
class History:
    """The progress of a training.

    step (int): The last step, from 0.
    curve (list[tuple[int, float]]): The step and the score of each evaluation. The score, 0 to 1,
        chooses the best model.
    seconds (float): The time of all steps and evaluations, except repeated ones.
    """

    step: int = -1
    curve: list[tuple[int, float]] = field(default_factory=list)
    seconds: float = 0.0

    @property
    def best(self) -> tuple[int, float]:
        """The step and the score of the best model. In ties, it's the last, as in spaCy."""
        return max(self.curve, key=lambda point: (point[1], point[0]))

    def last_step(self, patience: int, max_steps: int) -> Optional[int]:
        """Return the step at which training ends if the score doesn't rise, or None."""
        ends = [max_steps] if max_steps else []
        if patience and self.curve:
            first_best = max(self.curve, key=lambda point: (point[1], -point[0]))
            ends.append(first_best[0] + patience)
        return min(ends, default=None)


# Called after each step, with the step at which training ends if the score doesn't rise.
Progress = Callable[[History, Optional[int]], None]


def train(
    config: Config, model: Path, checkpoint: Path, progress: Optional[Progress] = None
) -> History:
    """Train the pipeline of a config, or resume its training.

    model (Path): The folder for the best model so far, which is whole at all times.
    checkpoint (Path): The file for the state at the last evaluation. If it exists, training goes on
        from it. It must come from the same config and corpora.

    Raises the errors of `spacy train`, and ValueError for a checkpoint of another config.
    """
    nlp = init_nlp(config)
    settings = nlp.config.interpolate()
    if settings["training"]["seed"] is not None:
        fix_random_seed(settings["training"]["seed"])
    training = registry.resolve(settings["training"], schema=ConfigSchemaTraining)
    names = [training["train_corpus"], training["dev_corpus"]]
    train_corpus, dev_corpus = resolve_dot_names(settings, names)
    evaluate = create_evaluation_callback(nlp, dev_corpus, training["score_weights"])
    optimizer, frozen = training["optimizer"], training["frozen_components"]
    state = _State(nlp, optimizer)
    if checkpoint.is_file():
        state.load(checkpoint, training["eval_frequency"])
    history = state.history
    for _ in range(history.step + 1):
        optimizer.step_schedules()
    limits = training["patience"], training["max_steps"]
    losses: dict[str, float] = {}
    start = perf_counter()
    for epoch, batch in state.batches(train_corpus, training["batcher"], training["max_epochs"]):
        last = history.last_step(*limits)
        if last is not None and history.step >= last:
            break
        history.step += 1
        if training["before_update"]:
            training["before_update"](nlp, {"step": history.step, "epoch": epoch})
        _update(nlp, batch, losses, training)
        optimizer.step_schedules()
        if history.step % training["eval_frequency"] == 0:
            with nlp.use_params(optimizer.averages or {}):
                score, scores = evaluate()
                history.curve.append((history.step, score))
                if history.best[0] == history.step:
                    with nlp.select_pipes(disable=frozen):
                        update_meta(training, nlp, {"other_scores": scores, "losses": losses})
                    _save(nlp, model, training["before_to_disk"])
            losses = {}
            history.seconds += perf_counter() - start
            start = perf_counter()
            state.save(checkpoint)
        if progress is not None:
            progress(history, history.last_step(*limits))
    history.seconds += perf_counter() - start
    return history


def _update(
    nlp: Language, batch: Sequence[Example], losses: dict[str, float], training: dict[str, Any]
) -> None:
    """Take a step, as spaCy's loop does."""
    frozen, annotating = training["frozen_components"], training["annotating_components"]
    for part in subdivide_batch(batch, training["accumulate_gradient"]):
        nlp.update(
            part,
            drop=training["dropout"],
            losses=losses,
            sgd=False,  # type: ignore[arg-type]  # as in spaCy's loop: no step yet
            exclude=frozen,
            annotates=annotating,
        )
    for name, pipe in nlp.pipeline:
        if name not in frozen and isinstance(pipe, TrainablePipe) and pipe.is_trainable:
            pipe.finish_update(training["optimizer"])


def _save(nlp: Language, folder: Path, before_to_disk: Optional[Callable]) -> None:
    with replacing_folder(folder) as new:
        (before_to_disk(nlp) if before_to_disk else nlp).to_disk(new)


class _State:
    """All that steps change, except schedules, which only depend on the number of steps.

    history (History): The progress of the training so far.
    shuffles (list[numpy.ndarray]): The state of Python's random numbers before each epoch.
    """

    def __init__(self, nlp: Language, optimizer: Optimizer) -> None:
        """Keep track of a pipeline in training."""
        self.nlp, self.optimizer = nlp, optimizer
        self.history = History()
        self.shuffles: list[numpy.ndarray] = []

    def batches(
        self, corpus: Callable, batcher: Callable, max_epochs: int
    ) -> Iterator[tuple[int, Sequence[Example]]]:
        """Yield the remaining batches, each with the number of its epoch.

        Batch sizes may change from batch to batch, over epochs. So the epochs of a checkpoint are
        shuffled and cut into batches again.
        """
        if not (examples := list(corpus(self.nlp))):
            raise ValueError("The training corpus has no documents.")
        now, position, epoch = random.getstate(), 0, 0
        before = self.history.step + 1
        while max_epochs < 1 or epoch < max_epochs:
            if epoch < len(self.shuffles):
                _set_random(self.shuffles[epoch])
            else:
                self.shuffles.append(_get_random())
            random.shuffle(examples)
            for batch in batcher(examples):
                position += 1
                if position == before:
                    random.setstate(now)
                elif position > before:
                    yield epoch, batch
            epoch += 1

    def save(self, path: Path) -> None:
        """Write a checkpoint, whole or not at all."""
        name, keys, *rest = numpy.random.get_state()
        state = {"history": vars(self.history), "numpy": [name, *rest]}
        arrays: dict[str, Any] = {
            "state": json.dumps(state),
            "numpy": keys,
            "random": _get_random(),
            "shuffles": self.shuffles,
        }
        for number, (node, param) in enumerate(self._params()):
            key = (node.id, param)
            arrays[f"weights{number}"] = to_numpy(node.get_param(param))
            arrays[f"updates{number}"] = self.optimizer.nr_update[key]
            for kind, values in self._moments().items():
                if key in values:
                    arrays[f"{kind}{number}"] = to_numpy(values[key])
        with replacing_file(path) as new, new.open("wb") as file_:
            numpy.savez(file_, **arrays)

    def load(self, path: Path, eval_frequency: int) -> None:
        """Read a checkpoint. Raises ValueError if it's damaged, or of another config."""
        with reading(path, "delete it to start anew"):
            _check_archive(path)
            with numpy.load(path) as arrays:
                state = json.loads(str(arrays["state"]))
                history = History(**state["history"])
                history.curve = [(step, float(score)) for step, score in history.curve]
                # Before anything is repeated as often as it says
                steps = [step for step, _ in history.curve]
                expected = [number * eval_frequency for number in range(len(steps))]
                if not steps or steps != expected or history.step != steps[-1]:
                    raise _of_another_config(path)
                numbers = [history.seconds, *(score for _, score in history.curve)]
                if not all(math.isfinite(number) for number in numbers):
                    raise ValueError("its scores aren't numbers")
                # numpy and Python trust the positions in the states of their random numbers
                drawn = _check_generator(arrays["numpy"], state["numpy"])
                shuffles = _check_shuffles(arrays["shuffles"])
                (now,) = _check_shuffles(arrays["random"])
                if history.step and not shuffles:
                    raise ValueError("it has steps, but no epoch")
                for number, (node, param) in enumerate(self._params()):
                    if not self._load_param(arrays, number, node, param):
                        raise _of_another_config(path)
                self.history, self.shuffles = history, shuffles
                numpy.random.set_state(drawn)
                _set_random(now)

    def _load_param(self, arrays: Mapping[str, Any], number: int, node: Model, param: str) -> bool:
        """Set a parameter and its moments, if they fit."""
        weights = arrays.get(f"weights{number}")
        if weights is None or weights.shape != node.get_param(param).shape:
            return False
        key = (node.id, param)
        node.set_param(param, node.ops.asarray_f(weights))
        self.optimizer.nr_update[key] = int(arrays[f"updates{number}"])
        if self.optimizer.nr_update[key] < 0:
            return False
        for kind, values in self._moments().items():
            if (moment := arrays.get(f"{kind}{number}")) is not None:
                if moment.size != weights.size:  # some are flat
                    return False
                values[key] = node.ops.asarray_f(moment)
        return True

    def _moments(self) -> dict[str, dict[tuple[int, str], Any]]:
        optimizer = self.optimizer
        moments = {"first": optimizer.mom1, "second": optimizer.mom2}
        return moments if optimizer.averages is None else moments | {"mean": optimizer.averages}

    def _params(self) -> Iterator[tuple[Model, str]]:
        """Yield the parameters of all components, each once, always in the same order."""
        models = (getattr(pipe, "model", None) for _, pipe in self.nlp.pipeline)
        walks = (model.walk() for model in models if isinstance(model, Model))
        nodes = {node.id: node for walk in walks for node in walk}
        for node in nodes.values():
            for param in node.param_names:
                if node.has_param(param):
                    yield node, param


_STATE = 625  # how many numbers are the state of Python's random numbers


def _get_random() -> numpy.ndarray:
    """Return the state of Python's random numbers, (_STATE,) uint32."""
    return numpy.array(random.getstate()[1], dtype="uint32")


def _set_random(state: numpy.ndarray) -> None:
    random.setstate((3, tuple(state.tolist()), None))


def _check_shuffles(states: numpy.ndarray) -> list[numpy.ndarray]:
    """Check states of Python's random numbers, and list them. Raises ValueError."""
    if states.dtype != "uint32" or states.size % _STATE:
        raise ValueError(f"states of random numbers have shape {states.shape}, {states.dtype}")
    rows = states.reshape(-1, _STATE)
    if len(rows) and rows[:, -1].max() >= _STATE:  # the position among the other numbers
        raise ValueError("a state of random numbers has no such position")
    return list(rows)


def _check_generator(keys: numpy.ndarray, rest: Sequence[Any]) -> tuple:
    """Check the state of numpy's random numbers, and return it. Raises ValueError."""
    name, position, has_next, following = rest
    if not (
        name == "MT19937"
        and keys.shape == (_STATE - 1,)
        and keys.dtype == "uint32"
        and isinstance(position, int)
        and 0 <= position < _STATE
        and has_next in (0, 1)
        and math.isfinite(following)
    ):
        raise ValueError("the state of numpy's random numbers isn't one")
    return name, keys, position, has_next, following


def _of_another_config(path: Path) -> UnreadableFile:
    return UnreadableFile(f"{path} is of another config. Delete it to start anew.")


def _check_archive(path: Path) -> None:
    """Raise ValueError unless a file has all bytes of its arrays, before they're read."""
    with ZipFile(path) as archive:
        for member in archive.infolist():
            if member.compress_type != ZIP_STORED:
                raise ValueError(f"{member.filename} is compressed")
            with archive.open(member) as file_:
                check_npy(cast(BinaryIO, file_), member.file_size)
