"""Probabilities of entities, for the commands that show them.

Later components may merge or split tokens, so recognizers note probabilities by characters, when
they set entities. Entities that were there before, such as those of an `entity_ruler`, have none.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, Optional

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


def gives_probabilities(pipe: object) -> bool:
    """Return whether a component is a batch_ner without a beam, which has none, or a tagger_ner."""
    return isinstance(pipe, Recognizer) and pipe.cfg.get("beam_width", 1) == 1


@contextmanager
def asking_probabilities(
    nlp: Language,
    only: Optional[str] = None,
    **settings: Any,  # noqa: ANN401
) -> Iterator[bool]:
    """Make components note probabilities in this thread, as long as the context is open.

    only (Optional[str]): The component that the settings are for. None: all of the pipeline.
    **settings (Any): What counts in place of a component's settings, such as threshold or
        candidates_above. None keeps its own.

    Yields whether any component gives them.
    """
    given = {name: value for name, value in settings.items() if value is not None}
    asked = {
        id(pipe): given if only in (None, name) else {}
        for name, pipe in nlp.pipeline
        if gives_probabilities(pipe)
    }
    token = ASKED.set(Asked(asked))
    try:
        yield bool(asked)
    finally:
        ASKED.reset(token)


def notes_of(doc: Doc) -> Noted:
    """Remove and return what was noted for a doc."""
    noted = doc.user_data.pop(KNOWN_KEY, [])
    probabilities = {(start, end, label): score for start, end, label, score in noted}
    return Noted(probabilities, doc.user_data.pop(EXPECTED_KEY, {}))
