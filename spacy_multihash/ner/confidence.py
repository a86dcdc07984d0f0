"""How sure a recognizer is of entities, and how docs get to know."""

from collections.abc import Collection, Sequence

import numpy
from spacy.tokens import Doc

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


def set_confidences(
    doc: Doc, confidences: Confidences, labels: Collection[str], spans_key: str
) -> None:
    """Put a doc's entities into doc.spans[spans_key], with `attrs["scores"]`, (M,) float32.

    The score of an entity is NaN if nothing is known of it. That happens to entities that somebody
    else sets after the recognizer has predicted, and before the doc is annotated.

    labels (Collection[str]): The labels of the recognizer. Entities with other labels are left out.
    """
    entities = [ent for ent in doc.ents if ent.label_ in labels]
    scores = [confidences.get((ent.start, ent.end, ent.label_), numpy.nan) for ent in entities]
    doc.spans[spans_key] = entities
    doc.spans[spans_key].attrs["scores"] = numpy.array(scores, dtype="float32")
