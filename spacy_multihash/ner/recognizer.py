"""Base of recognizers: settings as attributes, a lock for labels, and errors for weights.

The settings are a frozen dataclass. To add a setting, add a field with its check, and an argument
of the factory.
"""

import math
import os
import warnings
from collections.abc import Callable, Iterable
from dataclasses import fields, replace
from functools import cache, wraps
from threading import RLock
from typing import Any, ClassVar, Optional

from spacy.errors import Errors
from spacy.pipeline.tok2vec import Tok2VecListener
from spacy.tokens import Doc
from thinc.api import Model, get_array_module

from ..common.checks import is_number, setting_error
from ..common.types import Array


class LabelLock:
    """Hold this lock to change labels with their weights, or to read both at one moment.

    A copy is a new lock, and so is the lock in a forked process.
    """

    def __init__(self) -> None:
        """Make a lock."""
        self._lock, self._process = RLock(), os.getpid()

    def __enter__(self) -> None:
        """Wait for the lock. The same thread may hold it more than once."""
        if self._process != os.getpid():  # forked, maybe while another thread held it
            self.__init__()  # type: ignore[misc]
        self._lock.acquire()

    def __exit__(self, *error: object) -> None:
        """Give the lock back."""
        self._lock.release()

    def __reduce__(self) -> tuple[type, tuple]:
        """Copy and pickle as a new lock."""
        return LabelLock, ()


def locked(method: Callable) -> Callable:
    """Hold the component's lock of labels in a method."""

    @wraps(method)
    def call(self: "WithSettings", *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        with self.label_lock:
            return method(self, *args, **kwargs)

    return call


class WithSettings:
    """A component whose settings are attributes, which you can change after training.

    `settings_type` is the dataclass. Its method `check` gets the component, and raises ValueError
    for settings out of range. to_disk saves the config's settings: to save others, load with them
    first.

    label_lock (LabelLock): Docs and examples may add labels, also from several threads.
    """

    settings_type: ClassVar[Any]
    settings: Any
    label_lock: LabelLock

    def __getattr__(self, name: str) -> Any:  # noqa: ANN401
        """Return a setting."""
        if name not in _names(self.settings_type):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
        return getattr(self.settings, name)

    def __setattr__(self, name: str, value: Any) -> None:  # noqa: ANN401
        """Set a setting, after a check of all settings, or another attribute."""
        if name in _names(self.settings_type):
            name, value = "settings", replace(self.settings, **{name: value})
        if name == "settings":
            value.check(self)
        super().__setattr__(name, value)


@cache
def _names(settings_type: Any) -> frozenset[str]:  # noqa: ANN401
    return frozenset(field.name for field in fields(settings_type))


def other_architecture(component: str, expected: str, given: str) -> ValueError:
    """Make the error for a model of another architecture than expected."""
    return ValueError(
        f"The model must be of the architecture {expected}, got '{given}' (component "
        f'"{component}"). Set it in [components.{component}.model].'
    )


def check_temperature(where: str, temperature: object) -> None:
    """Raise ValueError unless temperature is above 0.

    where (str): The component, for the message.
    """
    if not (is_number(temperature) and 0 < temperature < math.inf):
        raise setting_error(where, "temperature", "a number above 0", temperature)


def check_candidates(where: str, above: object, spans_key: Optional[str]) -> None:
    """Raise ValueError if candidates_above isn't a probability, or has no effect.

    where (str): The component, for the message.
    """
    if above is None:
        return
    if not (is_number(above) and 0 < above <= 1):
        raise setting_error(where, "candidates_above", "a probability above 0, or null", above)
    if spans_key is None:
        raise ValueError(
            f"{where}: candidates_above = {above} has no effect without spans_key, which says "
            "where in doc.spans the candidates go. Set spans_key, or candidates_above = null."
        )


def are_finite(arrays: Iterable[Array]) -> bool:
    """Check if all numbers in arrays are finite."""
    return all(bool(get_array_module(array).isfinite(array).all()) for array in arrays)


def not_finite(component: str, what: str, effect: str) -> ValueError:
    """Make the error for NaN or infinite numbers.

    what (str): The numbers.
    effect (str): What can't be done with them.
    """
    return ValueError(
        f'Component "{component}": {what} are not finite (NaN or infinite), so that {effect}. Load '
        "other weights, or train again with a lower learn_rate or grad_clip."
    )


def check_loss(component: str, loss: float) -> None:
    """Raise ValueError if a loss isn't a finite number, as spaCy's tagger does.

    Training would go on, and end with a component that predicts nothing.
    """
    if not math.isfinite(loss):
        raise ValueError(
            f"{Errors.E910.format(name=component)} Train again with a lower learn_rate or "
            "grad_clip. If its model listens to another component, the cause may be there."
        )


# The ids of models that listen to no other component.
_WITHOUT_LISTENERS = set[int]()


def warn_unheard(component: str, model: Model, docs: Iterable[Doc]) -> None:
    """Warn if a component listens to a tok2vec that didn't run on docs: its vectors are zeros."""
    if model.id in _WITHOUT_LISTENERS or all(doc.tensor.size or not len(doc) for doc in docs):
        return
    if upstream := upstream_names(model):
        name = "a tok2vec" if upstream[0] == "*" else f'"{upstream[0]}"'
        warnings.warn(
            f'Component "{component}" listens to {name}, which didn\'t run on the docs: their '
            "doc.tensor is empty, so that all tokens look the same. Enable or add that component "
            "before this one. If you take this one from another pipeline, call "
            "nlp.replace_listeners there first.",
            stacklevel=4,
        )
    else:
        _WITHOUT_LISTENERS.add(model.id)


def upstream_names(model: Model) -> list[str]:
    """Return the components that a model listens to, "*" for any tok2vec."""
    return [node.upstream_name for node in model.walk() if isinstance(node, Tok2VecListener)]
