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
from .marginals import entity_probabilities
from .settings import WithSettings


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
        transitions = self._transitions()
        if transitions is not None:
            transitions = transitions / temperature
        scores, lengths = scores / temperature, lengths_of(docs)
        asked = self.confidence, scores, lengths, transitions, entities, constraints
        return single_threaded(entity_probabilities, *asked)

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
