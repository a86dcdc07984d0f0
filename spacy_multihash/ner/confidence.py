"""How sure a recognizer is of entities, kept beside docs and then set on them."""

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
    """Put a doc's M entities into doc.spans[spans_key], with `attrs["scores"]`, (M,) float32.

    Each entity gets its own score, whatever other code has done to the doc since the prediction. An
    entity without a confidence, which other code has set since then, gets NaN.

    labels (Collection[str]): The labels of the recognizer. Entities with others are left out.
    """
    entities = [ent for ent in doc.ents if ent.label_ in labels]
    scores = [confidences.get((ent.start, ent.end, ent.label_), numpy.nan) for ent in entities]
    doc.spans[spans_key] = entities
    doc.spans[spans_key].attrs["scores"] = numpy.array(scores, dtype="float32")
