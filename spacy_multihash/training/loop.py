"""spaCy's training, which keeps the best model and the curve of its scores."""

from collections.abc import Callable
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path
from time import perf_counter
from typing import Any, Optional

from spacy.errors import Errors
from spacy.schemas import ConfigSchemaTraining
from spacy.training.initialize import init_nlp
from spacy.training.loop import (
    create_evaluation_callback,
    create_train_batches,
    train_while_improving,
    update_meta,
)
from spacy.util import registry, resolve_dot_names
from thinc.api import Config, fix_random_seed

from ..common.files import replacing_folder
from ..common.progress import Progress, no_progress


@dataclass
class History:
    """The progress of a training.

    step (int): The last step, from 0.
    curve (list[tuple[int, float]]): The step and the score of each evaluation. The score, 0 to 1,
        chooses the best model.
    seconds (float): The time of all steps and evaluations.
    interrupted (bool): Whether Ctrl-C ended it.
    """

    step: int = -1
    curve: list[tuple[int, float]] = field(default_factory=list)
    seconds: float = 0.0
    interrupted: bool = False

    @property
    def best(self) -> tuple[int, float]:
        """The step and the score of the best model. In ties, it's the last, as in spaCy."""
        return max(self.curve, key=lambda point: (point[1], point[0]))


def train(config: Config, model: Path, progress: Progress = no_progress) -> History:
    """Train the pipeline of a config, as `spacy train` does.

    model (Path): The folder for the best model so far, which is whole at all times.
    progress (Progress): Shows the steps, and the best score if it has tqdm's `set_postfix_str`.

    Ctrl-C, or an interrupted cell of a notebook, ends training and keeps the best model, if a step
    was better than the untrained model. Raises the errors of `spacy train`, and ValueError if the
    loss of a component becomes NaN.
    """
    nlp = init_nlp(config)
    settings = nlp.config.interpolate()
    if settings["training"]["seed"] is not None:
        fix_random_seed(settings["training"]["seed"])
    training = registry.resolve(settings["training"], schema=ConfigSchemaTraining)
    names = [training["train_corpus"], training["dev_corpus"]]
    train_corpus, dev_corpus = resolve_dot_names(settings, names)
    optimizer, frozen = training["optimizer"], training["frozen_components"]
    steps = train_while_improving(
        nlp,
        optimizer,
        create_train_batches(nlp, train_corpus, training["batcher"], training["max_epochs"]),
        create_evaluation_callback(nlp, dev_corpus, training["score_weights"]),
        exclude=frozen,
        **{name: training[name] for name in _OF_LOOP},
    )
    history, start = History(), perf_counter()
    shown = progress(steps, desc="Training", unit=" steps", total=training["max_steps"] or None)
    show: Callable[[str], Any] = getattr(shown, "set_postfix_str", lambda text: None)
    try:
        for _, info, is_best in shown:
            history.step, history.seconds = info["step"], perf_counter() - start
            check_losses(info["losses"], history.step)
            if is_best is None:
                continue
            history.curve.append((info["step"], info["score"]))
            if is_best:
                with nlp.select_pipes(disable=frozen):
                    update_meta(training, nlp, info)
                with replacing_folder(model) as new, nlp.use_params(optimizer.averages or {}):
                    before = training["before_to_disk"]
                    (before(nlp) if before else nlp).to_disk(new)
            step, score = history.best
            show(
                f"F1 {100 * info['score']:.1f} on dev at step {info['step']:,}, best "
                f"{100 * score:.1f} at {step:,}"
            )
    except KeyboardInterrupt:
        if not history.curve or history.best[0] == 0:
            raise
        history.interrupted = True
    history.seconds = perf_counter() - start
    return history


_OF_LOOP = (
    "dropout",
    "accumulate_gradient",
    "patience",
    "max_steps",
    "eval_frequency",
    "annotating_components",
    "before_update",
)


def check_losses(losses: dict[str, float], step: Optional[int] = None) -> None:
    """Raise ValueError if the loss of a component isn't a finite number.

    Not all components of spaCy do so, and training would go on with a pipeline that finds nothing.
    """
    for name, loss in losses.items():
        if not isfinite(loss):
            raise ValueError(
                f"{Errors.E910.format(name=name)} That's at step {step}. Lower "
                "training.optimizer.learn_rate, or look for extreme numbers in the static vectors."
            )
