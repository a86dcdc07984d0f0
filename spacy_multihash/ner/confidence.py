"""How sure a recognizer is of entities, kept beside docs and then set on them."""

from collections.abc import Collection, Sequence

import numpy
from spacy.tokens import Doc, Span

from .biluo import Entities
from .docs import EntityKey, entity_keys

# How sure a recognizer is of entities of a doc: a probability for each.
Confidences = dict[EntityKey, float]


def confidences_of(
    docs: Sequence[Doc], entities: Entities, probabilities: numpy.ndarray, labels: Sequence[str]
) -> list[Confidences]:
    """Sort the probabilities of entities by doc.

    entities (Entities): M entities of the batch, in any order.
    probabilities (M,) float32: That of each entity.
    labels (Sequence[str]): The labels that `entities.labels` are numbers of.
    """
    confidences: list[Confidences] = [{} for _ in docs]
    keys = entity_keys(docs, entities, labels)
    for (i, key), probability in zip(keys, probabilities.tolist(), strict=True):
        confidences[i][key] = probability
    return confidences


def split_by_confidence(
    spans: Sequence[Span], confidences: Confidences, threshold: float
) -> tuple[list[Span], list[Span]]:
    """Return the entities of a doc that are sure enough, and the others.

    The first have at least the threshold as their confidence, or none that is known.
    """
    sure: list[Span] = []
    unsure: list[Span] = []
    for span in spans:
        confidence = confidences.get((span.start, span.end, span.label_), numpy.nan)
        (unsure if confidence < threshold else sure).append(span)
    return sure, unsure


def set_confidences(
    doc: Doc,
    confidences: Confidences,
    labels: Collection[str],
    spans_key: str,
    left_out: Collection[Span] = (),
) -> None:
    """Put a doc's M entities into doc.spans[spans_key], with `attrs["scores"]`, (M,) float32.

    Each entity gets its own score, whatever other code has done to the doc since the prediction. An
    entity without a confidence, which other code has set since then, gets NaN.

    labels (Collection[str]): The labels of the recognizer. Entities with others are not put there.
    left_out (Collection[Span]): Entities that are not in doc.ents, but are put there as well.
    """
    entities = [ent for ent in doc.ents if ent.label_ in labels]
    entities = sorted([*entities, *left_out], key=lambda ent: (ent.start, ent.end))
    scores = [confidences.get((ent.start, ent.end, ent.label_), numpy.nan) for ent in entities]
    doc.spans[spans_key] = entities
    doc.spans[spans_key].attrs["scores"] = numpy.array(scores, dtype="float32")
