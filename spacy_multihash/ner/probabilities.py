"""Probabilities of entities, for the commands that show them.

Later components may merge or split tokens, so recognizers note probabilities by characters, when
they set entities. Entities that were there before, such as those of an `entity_ruler`, have none.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, NamedTuple, Optional

from spacy.language import Language
from spacy.tokens import Doc

from .entities import EXPECTED_KEY, KNOWN_KEY
from .recognizer import Recognizer

# An entity of a doc: its first character, the character after its last, and its label.
Place = tuple[int, int, str]


class Noted(NamedTuple):
    """What recognizers noted for a doc.

    probabilities (dict[Place, float]): The probabilities of entities, and of other candidates.
    expected (dict[str, float]): The expected number of entities of each label, predicted or not.
    """

    probabilities: dict[Place, float]
    expected: dict[str, float]


def ask_probabilities(
    nlp: Language, *, threshold: Optional[float] = None, candidates_above: Optional[float] = None
) -> list[Any]:
    """Make all components that can give probabilities note them, and return these components.

    threshold (Optional[float]): The threshold for tagger_ner. None keeps its own.
    candidates_above (Optional[float]): The least probability of further candidates. None keeps the
        components' own settings.
    """
    # A beam has no probabilities, and raises if asked for them
    asked = [
        pipe
        for _, pipe in nlp.pipeline
        if isinstance(pipe, Recognizer) and pipe.cfg.get("beam_width", 1) == 1
    ]
    for pipe in asked:
        pipe.notes, pipe.notes_above = True, candidates_above
        if hasattr(pipe, "threshold") and threshold is not None:
            pipe.threshold = threshold
    return asked


@contextmanager
def asking_probabilities(
    nlp: Language, *, threshold: Optional[float] = None, candidates_above: Optional[float] = None
) -> Iterator[bool]:
    """Make components give probabilities as long as the context is open; see ask_probabilities.

    Yields whether any component gives them.
    """
    former = [(pipe, pipe.settings) for _, pipe in nlp.pipeline if isinstance(pipe, Recognizer)]
    try:
        yield bool(ask_probabilities(nlp, threshold=threshold, candidates_above=candidates_above))
    finally:
        for pipe, settings in former:
            pipe.settings, pipe.notes, pipe.notes_above = settings, False, None


def notes_of(doc: Doc) -> Noted:
    """Remove and return what was noted for a doc."""
    noted = doc.user_data.pop(KNOWN_KEY, [])
    probabilities = {(start, end, label): score for start, end, label, score in noted}
    return Noted(probabilities, doc.user_data.pop(EXPECTED_KEY, {}))
