"""How sure a component is of entities, given the scores of their tags."""

from typing import Optional

import numpy
from spacy.tokens import Doc

from ...common.types import Array
from ...compute.blas import single_threaded
from ..biluo import Constraints, Entities
from ..confidence import Confidences, confidences_of
from ..docs import lengths_of, present_entities, without_entities
from .labels import WithLabels
from .marginals import entity_marginals
from .settings import WithSettings

# What scores are at most apart after the division, so that the sum of many is a float32 too.
_MOST_APART = 1e30


def _less_largest(scores: Array, axis: Optional[int] = None) -> Array:
    """Subtract the largest score, which changes no probability."""
    return scores.astype("float64") - scores.max(axis=axis, keepdims=True)


def _apart(less: Array) -> float:
    """Tell how far scores are from the largest. Labels that no example had yet have -inf."""
    finite = less[less > -numpy.inf]
    return -float(finite.min()) if finite.size else 0.0


class WithConfidences(WithSettings, WithLabels):
    """Asks the model of a component how sure it is."""

    def _transitions(self) -> Optional[Array]:
        return self.model.get_param("transitions") if self.learns_transitions else None

    def _probabilities(
        self,
        docs: list[Doc],
        scores: Array,
        entities: Entities,
        constraints: Constraints,
        temperature: float,
    ) -> numpy.ndarray:
        transitions, lengths = self._transitions(), lengths_of(docs)
        parts = [_less_largest(scores, axis=-1)]
        if transitions is not None:
            parts.append(_less_largest(transitions))
        # At lower temperatures, the best entities are as certain.
        divisor = max(temperature, *(_apart(part) / _MOST_APART for part in parts))
        scores, *rest = ((part / divisor).astype("float32") for part in parts)
        transitions = rest[0] if rest else None
        return single_threaded(
            entity_marginals, scores, lengths, transitions, entities, constraints
        )

    def _confidences(
        self, docs: list[Doc], scores: Array, entities: Entities, constraints: Constraints
    ) -> list[Confidences]:
        """Ask how sure the model is of new entities, and of those that docs have already."""
        present = present_entities(docs, self.labels)
        confidences: list[Confidences] = [{} for _ in docs]
        for asked, given in (
            (entities, constraints),
            (present, without_entities(constraints, docs)),
        ):
            probabilities = self._probabilities(docs, scores, asked, given, self.temperature)
            found = confidences_of(docs, asked, probabilities, self.labels)
            for of_doc, more in zip(confidences, found, strict=True):
                of_doc.update(more)
        return confidences
