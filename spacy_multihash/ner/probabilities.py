"""Probabilities of entities, for the commands that show them.

Later components may merge or split tokens, so recognizers note probabilities by characters, when
they set entities. Entities that were there before, such as those of an `entity_ruler`, have none.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple

from spacy.language import Language
from spacy.tokens import Doc, Span

from .entities import EXPECTED_KEY, KNOWN_KEY
from .recognizer import ASKED, Asked, Recognizer

# An entity of a doc: its first character, the character after its last, and its label.
Place = tuple[int, int, str]


def place_of(entity: Span) -> Place:
    """Return where an entity is, and its label."""
    return entity.start_char, entity.end_char, entity.label_


class Noted(NamedTuple):
    """What recognizers noted for a doc.

    probabilities (dict[Place, float]): The probabilities of entities, and of other candidates.
    expected (dict[str, float]): The expected number of entities of each label, predicted or not.
    """

    probabilities: dict[Place, float]
    expected: dict[str, float]


def recognizers_of(nlp: Language) -> list[Recognizer]:
    """List the recognizers of a pipeline, in its order."""
    pipes: list[Any] = [pipe for _, pipe in nlp.pipeline]
    return [pipe for pipe in pipes if isinstance(pipe, Recognizer)]


def gives_probabilities(pipe: object) -> bool:
    """Return whether a component is a batch_ner without a beam, which has none, or a tagger_ner."""
    return isinstance(pipe, Recognizer) and pipe.cfg.get("beam_width", 1) == 1


@contextmanager
def asking_probabilities(nlp: Language, **settings: Any) -> Iterator[bool]:  # noqa: ANN401
    """Make components note probabilities in this thread, as long as the context is open.

    **settings (Any): What counts in place of the components' settings, such as threshold or
        candidates_above. None keeps their own.

    Yields whether any component gives them. A beam doesn't.
    """
    token = ASKED.set(Asked({name: x for name, x in settings.items() if x is not None}))
    try:
        yield any(
            isinstance(pipe, Recognizer) and pipe.cfg.get("beam_width", 1) == 1
            for _, pipe in nlp.pipeline
        )
    finally:
        ASKED.reset(token)


def notes_of(doc: Doc) -> Noted:
    """Remove and return what was noted for a doc."""
    noted = doc.user_data.pop(KNOWN_KEY, [])
    probabilities = {(start, end, label): score for start, end, label, score in noted}
    return Noted(probabilities, doc.user_data.pop(EXPECTED_KEY, {}))
