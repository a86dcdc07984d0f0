"""The probabilities of arbitrary entities of docs."""

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import numpy
from spacy.language import Language
from spacy.pipeline import Tok2Vec
from spacy.tokens import Doc
from spacy.training import Example

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
    recognizer: Any = nlp.get_pipe(name)
    for pipe in upstream_of(nlp, name):
        pipe.set_annotations(docs, pipe.predict(docs))
    return recognizer.score_spans(docs, keys).probabilities(recognizer.temperature)


def upstream_of(nlp: Language, name: str) -> list[Any]:
    """List the components that a recognizer listens to."""
    model: Any = nlp.get_pipe(name).model  # type: ignore[attr-defined]
    nodes = set(map(id, model.walk()))
    return [
        pipe
        for _, pipe in nlp.pipeline
        if isinstance(pipe, Tok2Vec) and any(id(listener) in nodes for listener in pipe.listeners)
    ]


def annotate_before(nlp: Language, name: str, examples: Sequence[Example]) -> None:
    """Let the components before a recognizer annotate the predicted docs of examples.

    If a component returns another doc, that becomes the predicted doc.

    Raises ValueError if a component left out docs, since it's unknown which.
    """
    with nlp.select_pipes(enable=list(nlp.pipe_names[: nlp.pipe_names.index(name)])):
        docs = list(nlp.pipe([example.predicted for example in examples]))
    if len(docs) < len(examples):
        raise ValueError(
            f'The components before "{name}" left out {len(examples) - len(docs)} docs, maybe by '
            "the pipeline's error handler. Correct the component that fails."
        )
    for example, doc in zip(examples, docs, strict=True):
        example.predicted = doc
