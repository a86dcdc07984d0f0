"""Probabilities of entities, for the commands that show them.

Each recognizer puts them into doc.spans, by tokens. Later components may merge or split tokens, so
they're noted by characters right after the recognizer. A component before it notes the entities
that are already there: entities of an `entity_ruler`, for example, have no probability.
"""

import math
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
from typing import Any, Callable, NamedTuple, Optional

from spacy.language import Language
from spacy.tokens import Doc

from .recognizer import Recognizer

# An entity of a doc: its first character, the character after its last, and its label.
Place = tuple[int, int, str]

# The key in doc.spans for probabilities, if a recognizer's config has none: this and its name.
_OWN_KEYS = "spacy_multihash_show_"
# The keys in doc.user_data for the notes, while the pipeline runs.
_BEFORE, _KNOWN = "spacy_multihash_before", "spacy_multihash_probabilities"
_EXPECTED = "spacy_multihash_expected"
_NOTES = "spacy_multihash_notes"


class Noted(NamedTuple):
    """What recognizers noted for a doc.

    probabilities (dict[Place, float]): The probabilities of entities, and of other candidates.
    expected (dict[str, float]): The expected number of entities of each label, predicted or not.
    """

    probabilities: dict[Place, float]
    expected: dict[str, float]


def ask_probabilities(nlp: Language, *, threshold: Optional[float] = None) -> None:
    """Make all components that can give probabilities do so, and note them. May be repeated.

    threshold (Optional[float]): The threshold for tagger_ner. None keeps its own.
    """
    for name, pipe in nlp.pipeline:
        # A beam has no probabilities, and raises if asked for them
        if not isinstance(pipe, Recognizer) or pipe.cfg.get("beam_width", 1) != 1:
            continue
        if pipe.spans_key is None:
            pipe.spans_key = f"{_OWN_KEYS}{name}"
        if hasattr(pipe, "threshold") and threshold is not None:
            pipe.threshold = threshold
        before, after = f"{_BEFORE}_{name}", f"{_KNOWN}_{name}"
        if before not in nlp.component_names:
            nlp.add_pipe(_NOTES, name=before, before=name)
            nlp.add_pipe(_NOTES, name=after, after=name, config={"spans_key": pipe.spans_key})


@contextmanager
def asking_probabilities(
    nlp: Language, *, threshold: Optional[float] = None, candidates_above: Optional[float] = None
) -> Iterator[bool]:
    """Make components give probabilities as long as the context is open; see ask_probabilities.

    candidates_above (Optional[float]): The least probability of further candidates. None keeps the
        components' own settings.

    Yields whether any component gives them.
    """
    names = set(nlp.component_names)
    recognizers: list[Any] = [pipe for _, pipe in nlp.pipeline if isinstance(pipe, Recognizer)]
    settings = [pipe.settings for pipe in recognizers]
    ask_probabilities(nlp, threshold=threshold)
    for pipe in recognizers:
        if candidates_above is not None and pipe.spans_key is not None:
            pipe.candidates_above = candidates_above
    try:
        yield any(name.startswith(_KNOWN) for name in nlp.component_names)
    finally:
        for name in [name for name in nlp.component_names if name not in names]:
            nlp.remove_pipe(name)
        for pipe, former in zip(recognizers, settings, strict=True):
            pipe.settings = former


def notes_of(doc: Doc) -> Noted:
    """Remove and return what was noted for a doc."""
    noted = doc.user_data.pop(_KNOWN, [])
    probabilities = {(start, end, label): score for start, end, label, score in noted}
    return Noted(probabilities, doc.user_data.pop(_EXPECTED, {}))


def probabilities_of(doc: Doc) -> dict[Place, float]:
    """Remove and return the probabilities that were noted for a doc."""
    return notes_of(doc).probabilities


@Language.factory(_NOTES)
def _make_notes(nlp: Language, name: str, spans_key: Optional[str] = None) -> Callable[[Doc], Doc]:
    """Make a component that notes the probabilities in spans_key, or without it, the entities."""
    return _note_entities if spans_key is None else partial(_note_probabilities, spans_key)


# Notes are lists, since later components may store a doc with its user_data.


def _note_entities(doc: Doc) -> Doc:
    doc.user_data[_BEFORE] = [[ent.start_char, ent.end_char, ent.label_] for ent in doc.ents]
    return doc


def _note_probabilities(spans_key: str, doc: Doc) -> Doc:
    before, known = doc.user_data.pop(_BEFORE), doc.user_data.setdefault(_KNOWN, [])
    group = doc.spans[spans_key] if spans_key in doc.spans else ()
    attrs = doc.spans[spans_key].attrs if spans_key in doc.spans else {}
    scores = attrs.get("scores", [])
    for span, score in zip(group, scores, strict=False):
        place = [span.start_char, span.end_char, span.label_]
        if not math.isnan(score) and place not in before:
            known.append([*place, float(score)])
    expected = doc.user_data.setdefault(_EXPECTED, {})
    for label, number in attrs.get("expected", {}).items():
        expected[label] = expected.get(label, 0.0) + number
    if spans_key.startswith(_OWN_KEYS) and spans_key in doc.spans:
        del doc.spans[spans_key]
    return doc
