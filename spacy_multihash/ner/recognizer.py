"""What both recognizers do alike: settings as attributes, labels, predictions, probabilities.

A recognizer is a `Recognizer` and one of spaCy's components. It says how its model is read, and
how docs are scored, as `Inputs` and `Scored`.
"""

import math
import os
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import fields, replace
from functools import cache, partial, wraps
from threading import RLock
from typing import Any, ClassVar, NamedTuple, Optional, Protocol, Union

import numpy
from spacy.errors import Errors
from spacy.pipeline.tok2vec import Tok2VecListener
from spacy.tokens import Doc
from thinc.api import Model, get_array_module

from ..common.types import Array
from ..compute.array_ops import ArrayOps
from ..compute.ops import operations
from ..compute.plans import Plan, Reading
from .biluo import Entities, as_entities
from .entities import (
    KeysOfDocs,
    SpanProbabilities,
    SpanScores,
    entities_at,
    entity_keys,
    key_of,
    note_probabilities,
    set_entities,
    set_span_probabilities,
    span_probabilities,
    spans_of,
    token_attributes,
)
from .saved import SavedComponent


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
    def call(self: "Recognizer", *args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
        with self.label_lock:
            return method(self, *args, **kwargs)

    return call


class Prediction(NamedTuple):
    """The entities of a batch of docs.

    entities: The new entities. Those of batch_ner include the docs' existing entities.
    labels: The labels that the entities' numbers refer to.
    probabilities: None if not requested.
    """

    entities: Entities
    labels: Sequence[str]
    probabilities: Optional[SpanProbabilities] = None


class Inputs(NamedTuple):
    """What a recognizer has read for docs with N tokens.

    read: The labels and weights of one moment, with `ops`, and `finder` for kernels, or None.
    X (N, nI): The vectors of tokens.
    attrs (N, A) uint64: The attributes of tokens.
    lengths (D,) int64: How many tokens each doc has.
    """

    read: Any
    X: Array
    attrs: numpy.ndarray
    lengths: numpy.ndarray

    def find(self) -> Optional[Prediction]:
        """Find the entities by kernels; None where array code has to look closer."""
        read = self.read
        if read.finder is None:
            return None
        spans = read.ops.find_entities(self.X, read.finder, self.attrs, self.lengths)
        return None if spans is None else Prediction(Entities(*spans), read.labels)


class Scored(Protocol):
    """The scores of docs."""

    @property
    def labels(self) -> Sequence[str]:
        """The labels that the entities' numbers refer to."""

    def find(self) -> Entities:
        """Find the entities."""

    def probabilities(self, entities: Entities, temperature: float) -> numpy.ndarray:
        """Compute the probabilities of entities of the batch, (E,)."""

    def spans(
        self, docs: list[Doc], entities: Entities, temperature: float, above: Optional[float]
    ) -> SpanProbabilities:
        """Compute the probabilities of the predicted entities, and of candidates."""


class Asked(NamedTuple):
    """What a caller wants of recognizers besides: that they note probabilities in doc.user_data.

    settings (Mapping[int, Mapping[str, Any]]): By the id of each recognizer that's asked, what
        counts in place of its settings of the same name.
    """

    settings: Mapping[int, Mapping[str, Any]]


# In this thread. Components don't change, since other threads may use them at the same time.
ASKED: ContextVar[Optional[Asked]] = ContextVar("asked", default=None)


class Recognizer(SavedComponent):
    """A component whose settings are attributes, which you can change after training.

    `settings_type` is the dataclass. Its method `check` gets the component, and raises ValueError
    for settings out of range. to_disk saves the config's settings: to save others, load with them
    first.

    label_lock (LabelLock): Docs and examples may add labels, also from several threads.
    """

    settings_type: ClassVar[Any]
    attrs: ClassVar[Sequence[int]]  # of tokens, for kernels
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

    def _begin(self, name: str, settings: dict[str, Any]) -> None:
        """Make the lock, and check and keep the settings."""
        self.name = name
        self.label_lock, self._plan, self._upstream = LabelLock(), Plan(), Plan()
        self.settings = self.settings_type(**settings)

    def _read_model(self, ops: ArrayOps, reading: Reading, model: Model) -> Any:  # noqa: ANN401
        """Read labels and weights at one moment, for `Inputs`."""
        raise NotImplementedError

    def _score(self, docs: list[Doc], inputs: Inputs, *, probable: bool) -> Scored:
        """Score docs. Raise ValueError for NaN and infinite scores, if they're `probable`."""
        raise NotImplementedError

    def _wanted(self) -> tuple[bool, Any]:
        """Return whether to note probabilities, and the settings that count."""
        asked = ASKED.get()
        if asked is None or id(self) not in asked.settings:
            return False, self.settings
        given = asked.settings[id(self)]
        known = _names(self.settings_type) & given.keys()
        return True, replace(self.settings, **{name: given[name] for name in known})

    def _read(self) -> Any:  # noqa: ANN401 (what `_read_model` returns, now or before)
        return self._plan.of(self.model, operations(self.model.ops), self._read_model)

    def _inputs(self, docs: list[Doc]) -> Inputs:
        try:
            read = self._read()
        except KeyError as error:  # spaCy's pipe would raise it as it is
            raise ValueError(Errors.E109.format(name=self.name)) from error
        return Inputs(read, read.vectors(docs), *token_attributes(docs, self.attrs))

    def predict(self, docs: Union[Doc, Iterable[Doc]]) -> Any:  # noqa: ANN401
        """Predict the entities of docs, without setting them.

        Returns a `Prediction`.

        Raises ValueError if scores that it needs aren't finite.
        """
        docs = [docs] if isinstance(docs, Doc) else list(docs)
        notes, settings = self._wanted()
        warn_unheard(self.name, self._upstream, self.model, docs)
        asks = notes or settings.spans_key is not None or settings.threshold > 0
        if not any(map(len, docs)):
            nothing = span_probabilities(docs, self.labels) if asks else None
            return Prediction(as_entities([]), self.labels, nothing)
        inputs = self._inputs(docs)
        if not asks and (prediction := inputs.find()) is not None:
            return prediction
        scored = self._score(docs, inputs, probable=asks)
        entities, labels = scored.find(), scored.labels
        if not asks:
            return Prediction(entities, labels)
        above = settings.candidates_above
        return Prediction(
            entities, labels, scored.spans(docs, entities, settings.temperature, above)
        )

    def score_spans(
        self, docs: Union[Doc, Iterable[Doc]], keys: Optional[KeysOfDocs] = None
    ) -> SpanScores:
        """Compute the probabilities of entities of docs, at any temperature.

        keys (Optional[KeysOfDocs]): The entities of each doc. Null takes all predicted entities.

        Raises ValueError for unknown labels, for tokens outside a doc, and for scores that aren't
        finite.
        """
        docs = [docs] if isinstance(docs, Doc) else list(docs)
        warn_unheard(self.name, self._upstream, self.model, docs)
        if not any(map(len, docs)):
            if keys is not None:
                entities_at(docs, keys, self.labels)  # checks them
            return SpanScores([], lambda temperature: numpy.zeros(0))
        scored = self._score(docs, self._inputs(docs), probable=True)
        entities = scored.find() if keys is None else entities_at(docs, keys, scored.labels)
        probabilities = partial(scored.probabilities, entities)
        return SpanScores(entity_keys(docs, entities, scored.labels), probabilities)

    def set_annotations(
        self,
        docs: Union[Doc, Iterable[Doc]],
        prediction: Any,  # noqa: ANN401
    ) -> None:
        """Set doc.ents, and doc.spans if there is a `spans_key`.

        prediction (Any): What `predict` has returned.
        """
        docs = [docs] if isinstance(docs, Doc) else list(docs)
        if not isinstance(prediction, Prediction):  # of spaCy's own code, which a beam calls
            super().set_annotations(docs, prediction)  # type: ignore[misc]
            return
        entities, labels, probabilities = prediction
        notes, settings = self._wanted()
        new, threshold = spans_of(docs, entities, labels), settings.threshold
        for i, (doc, spans) in enumerate(zip(docs, new, strict=True)):
            scores = probabilities.scores[i] if probabilities is not None else {}
            if probabilities is not None and threshold:
                spans = [span for span in spans if scores[key_of(span)] >= threshold]
            if probabilities is not None and notes:
                expected = dict(zip(labels, probabilities.expected[i].tolist(), strict=True))
                note_probabilities(doc, scores, expected)
            set_entities(doc, spans)
        if probabilities is not None and self.spans_key is not None:
            set_span_probabilities(docs, labels, self.spans_key, probabilities)


@cache
def _names(settings_type: Any) -> frozenset[str]:  # noqa: ANN401
    return frozenset(field.name for field in fields(settings_type))


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


def warn_unheard(component: str, plan: Plan, model: Model, docs: Iterable[Doc]) -> None:
    """Warn if a component listens to a tok2vec that didn't run on docs: its vectors are zeros.

    plan (Plan): Keeps which components the model listens to.
    """
    if all(doc.tensor.size or not len(doc) for doc in docs):
        return
    if upstream := plan.of(model, operations(model.ops), _read_upstream):
        name = "a tok2vec" if upstream[0] == "*" else f'"{upstream[0]}"'
        warnings.warn(
            f'Component "{component}" listens to {name}, which didn\'t run on the docs: their '
            "doc.tensor is empty, so that all tokens look the same. Enable or add that component "
            "before this one. If you take this one from another pipeline, call "
            "nlp.replace_listeners there first.",
            stacklevel=4,
        )


def _read_upstream(ops: ArrayOps, reading: Reading, model: Model) -> list[str]:
    """Return the components that a model listens to, "*" for any tok2vec."""
    names = [model.upstream_name] if isinstance(model, Tok2VecListener) else []
    for layer in reading.layers(model):
        names += _read_upstream(ops, reading, layer)
    return names
