"""The probabilities of arbitrary entities of docs."""

from collections import deque
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy
from spacy.language import Language
from spacy.pipeline import Tok2Vec
from spacy.tokens import Doc
from spacy.training import Example

from ..common.contexts import with_contexts
from .docs import EntityKey, KeysOfDocs


class SpanScores(NamedTuple):
    """E entities of docs, and their probabilities at any temperature.

    keys: For each entity, the number of its doc, its start, end and label.
    probabilities: Temperature -> (E,) float.
    """

    keys: Sequence[tuple[int, EntityKey]]
    probabilities: Callable[[float], numpy.ndarray]


def score_spans(nlp: Language, name: str, docs: Sequence[Doc], keys: KeysOfDocs) -> numpy.ndarray:
    """Compute the probabilities of entities of docs, whether a recognizer finds them or not.

    name (str): The component, a batch_ner or tagger_ner. Only the components that it listens
        to run before it.
    docs (Sequence[Doc]): Docs, or objects like docs, as annotated by the components before the
        recognizer. They get new tensors.
    keys (KeysOfDocs): The entities of each doc.

    Returns the probabilities of all entities of the first doc, then of the second, (E,) float64.
    """
    return tempered_spans(nlp, name, docs, keys)(1.0)


def tempered_spans(
    nlp: Language, name: str, docs: Sequence[Doc], keys: KeysOfDocs
) -> Callable[[float], numpy.ndarray]:
    """Return a function: factor of the component's temperature -> what `score_spans` returns."""
    recognizer: Any = nlp.get_pipe(name)
    for pipe in upstream_of(nlp, name):
        pipe.set_annotations(docs, pipe.predict(docs))
    probabilities = recognizer.score_spans(docs, keys).probabilities
    return lambda factor: probabilities(factor * recognizer.temperature)


def upstream_of(nlp: Language, name: str) -> list[Any]:
    """List the components that a recognizer listens to."""
    model: Any = nlp.get_pipe(name).model  # type: ignore[attr-defined]
    nodes = set(map(id, model.walk()))
    return [
        pipe
        for _, pipe in nlp.pipeline
        if isinstance(pipe, Tok2Vec) and any(id(listener) in nodes for listener in pipe.listeners)
    ]


def annotate_before(nlp: Language, name: str, examples: Sequence[Example]) -> list[Example]:
    """Let the components before a recognizer annotate the predicted docs, and return the examples.

    If a component fails at a doc, the pipeline's error handler may leave it out. If a component
    returns another doc, that becomes the predicted doc.

    Raises ValueError if both happen, since it's unknown which docs were left out.
    """
    with nlp.select_pipes(enable=list(nlp.pipe_names[: nlp.pipe_names.index(name)])):
        pairs = nlp.pipe(((eg.predicted, eg) for eg in examples), as_tuples=True)
        where = f'What is before component "{name}"'
        annotated = list(with_contexts(pairs, deque(examples), where))
    for doc, example in annotated:
        example.predicted = doc
    return [example for _, example in annotated]
