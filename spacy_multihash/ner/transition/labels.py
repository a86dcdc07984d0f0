"""The labels of `batch_ner`, and the actions that they make."""

from typing import Optional

import numpy
from spacy.attrs import ENT_TYPE
from spacy.pipeline import EntityRecognizer
from spacy.tokens import Doc

from ...common.hashes import is_among
from .actions import Actions, read_actions


class WithActions(EntityRecognizer):
    """A recognizer whose labels may grow, and that reads its actions anew after they have."""

    _read: Optional[tuple[object, Actions]] = None

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of entities, in alphabetical order."""
        return tuple(sorted(self._actions().labels))

    def _add_labels_of(self, docs: list[Doc]) -> None:
        """Add the labels of entities that docs have, as spaCy's ner does, if there are new ones."""
        types = [found for doc in docs if (found := doc.to_array(ENT_TYPE)).any()]
        if types:
            found = numpy.unique(numpy.concatenate(types))
            if not is_among(found[found != 0], self._actions().complete).all():
                self._ensure_labels_are_added(docs)

    def _keep_labels(self) -> None:
        """Keep the texts of labels, which are forgotten with the `nlp.memory_zone` of their doc."""
        for label in {label for of_action in self.moves.labels.values() for label in of_action}:
            self.vocab.strings.add(label, allow_transient=False)

    def _actions(self) -> Actions:
        """List the actions; keep the list until there are others."""
        labels = self.moves.labels  # another object after all have been set anew
        kept = self._read
        if kept is None or kept[0] is not labels or kept[1].nO != self.moves.n_moves:
            self._keep_labels()
            self._read = kept = (labels, read_actions(self.moves))
        return kept[1]
