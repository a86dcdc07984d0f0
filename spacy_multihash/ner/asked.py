"""The probabilities that a pipeline gives to any entities of docs."""

from collections import deque
from collections.abc import Sequence
from typing import Any

import numpy
from spacy.language import Language
from spacy.pipeline import Tok2Vec
from spacy.tokens import Doc
from spacy.training import Example

from ..common.contexts import with_contexts
from .docs import KeysOfDocs


def heard_by(nlp: Language, name: str) -> list[Any]:
    """List the components that a recognizer listens to."""
    model: Any = nlp.get_pipe(name).model  # type: ignore[attr-defined]
    listeners = set(map(id, model.walk()))
    return [
        pipe
        for _, pipe in nlp.pipeline
        if isinstance(pipe, Tok2Vec)
        and any(id(listener) in listeners for listener in pipe.listeners)
    ]


def ask(nlp: Language, name: str, docs: Sequence[Doc], keys: KeysOfDocs) -> numpy.ndarray:
    """Ask a recognizer how probable entities of docs are, found or not.

    name (str): The component, a batch_ner or tagger_ner. It is asked, and before it the components
        that it listens to, and no others.
    docs (Sequence[Doc]): Docs, or what stands in for them, with what the components before the
        recognizer have set. They get new tensors.
    keys (KeysOfDocs): The entities of each doc.

    Returns the probabilities of all entities of the first doc, then of the second, (E,) float64.
    """
    recognizer: Any = nlp.get_pipe(name)
    for pipe in heard_by(nlp, name):
        pipe.set_annotations(docs, pipe.predict(docs))
    asked = recognizer.uncalibrated(docs, keys)
    return numpy.asarray(asked.probabilities(recognizer.temperature), dtype="float64")


def annotate_before(
    nlp: Language, name: str, examples: Sequence[Example]
) -> list[tuple[Doc, Example]]:
    """Let the components before a recognizer annotate the predicted docs of examples.

    A doc that one of them fails at may be left out, as the pipeline's error handler decides. A
    component may return another doc, which becomes the predicted one.

    Raises ValueError if one does and docs are left out, since nothing tells which ones.
    """
    with nlp.select_pipes(enable=list(nlp.pipe_names[: nlp.pipe_names.index(name)])):
        pairs = nlp.pipe(((each.predicted, each) for each in examples), as_tuples=True)
        found = list(with_contexts(pairs, deque(examples), f'What is before component "{name}"'))
    for doc, example in found:
        example.predicted = doc
    return found
