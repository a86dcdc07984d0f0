"""The labels of `tagger_ner`, and whether its model has tags for them."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from functools import partial
from pathlib import Path
from typing import Union

import numpy
from spacy.errors import Errors
from spacy.pipeline import TrainablePipe

from ...common.checks import refusal
from ...common.types import Array
from ..biluo import num_labels, tag_columns, tag_names
from .resize import resize_output

# Where cfg has the labels that were added to trained weights, until examples with them are seen.
_UNSEEN = "unseen_labels"


class WithLabels(TrainablePipe):
    """A component whose labels may grow, and are saved beside the weights in `cfg`."""

    cfg: dict[str, list[str]]

    @property
    def labels(self) -> tuple[str, ...]:
        """The labels of entities, in the order of their numbers."""
        return tuple(self.cfg["labels"])

    @property
    def label_data(self) -> tuple[str, ...]:
        """What `spacy init labels` saves."""
        return self.labels

    def add_label(self, label: str) -> int:
        """Add a label. Return 1 if it is new, otherwise 0.

        After initialization, the model gets tags for it, with weights of 0, and keeps all that it
        has learned. As with spaCy's ner, no entity of the label is predicted until the component is
        updated with one.

        Raises ValueError for a label that is no string.
        """
        if not isinstance(label, str):
            raise ValueError(Errors.E187)
        if label in self.labels:
            return 0
        self.cfg["labels"].append(label)
        self.vocab.strings.add(label)
        if self.has_weights():
            resize_output(self.model, len(tag_names(self.labels)))
            self.cfg.setdefault(_UNSEEN, []).append(label)
        return 1

    def _add_labels(self, labels: Iterable[str]) -> None:
        """Add labels, all or none. Raises ValueError if they are no list of strings."""
        given = None if isinstance(labels, (str, Mapping)) else list(labels)
        if given is None or not all(isinstance(label, str) for label in given):
            expected = "a list of strings, as spacy init labels saves those of tagger_ner"
            advice = "Give the labels in a list."
            raise refusal(f'Component "{self.name}"', "labels", expected, labels, advice)
        for label in given:
            self.add_label(label)

    def has_weights(self) -> bool:
        """Tell whether the model is initialized."""
        return bool(self.model.get_ref("output_layer").has_param("W"))

    def see_labels(self, labels: Iterable[str]) -> None:
        """Add those that are new, and predict entities of all of them from now on."""
        seen = set(labels)
        for label in sorted(seen):
            self.add_label(label)
        unseen = [label for label in self.cfg.pop(_UNSEEN, []) if label not in seen]
        if unseen:
            self.cfg[_UNSEEN] = unseen

    def rule_out_unseen(self, scores: Array) -> Array:
        """Give -inf to the tags of labels without an example so far, in scores (N, nO) float32."""
        if _UNSEEN not in self.cfg:
            return scores
        scores = scores.copy()
        for label in self.cfg[_UNSEEN]:
            number = self.labels.index(label)
            for columns in tag_columns(scores.shape[1]):
                scores[:, columns][:, number] = -numpy.inf
        return scores

    def from_disk(self, path: Union[str, Path], *, exclude: Iterable[str] = ()) -> "WithLabels":
        """Load the component from a folder.

        exclude (Iterable[str]): What to leave as it is: "cfg", "model" or "vocab".

        Raises ValueError if labels and weights do not belong together.
        """
        return self._load(partial(super().from_disk, path), f"the folder {path}", tuple(exclude))

    def from_bytes(self, bytes_data: bytes, *, exclude: Iterable[str] = ()) -> "WithLabels":
        """Load the component from what to_bytes gave; see `from_disk`."""
        return self._load(partial(super().from_bytes, bytes_data), "the bytes", tuple(exclude))

    def _load(self, load: Callable, source: str, exclude: tuple[str, ...]) -> "WithLabels":
        """Load the labels, then the weights, for which there are tags then."""
        with self._labels_anew(exclude):
            load(exclude=[*exclude, "model"])
            if "model" not in exclude:
                self._make_room()
                load(exclude=[*exclude, "cfg", "vocab"])
                self._check_weights(source)
        return self

    @contextmanager
    def _labels_anew(self, exclude: Iterable[str]) -> Iterator[None]:
        """Load into a cfg without labels; if that fails, the former one is there again."""
        former = {name: list(labels) for name, labels in self.cfg.items()}
        if "cfg" not in exclude:
            self.cfg.clear()
            self.cfg["labels"] = []
        try:
            yield
        except BaseException:
            self.cfg.clear()
            self.cfg.update(former)
            raise

    def _make_room(self) -> None:
        """Let weights with more tags in, than the config or this model has."""
        nO = len(tag_names(self.labels))
        if (self.model.maybe_get_dim("nO") or nO) < nO:
            resize_output(self.model, nO)

    def _check_weights(self, source: str) -> None:
        known = num_labels(self.model.get_dim("nO")) if self.has_weights() else len(self.labels)
        if known != len(self.labels):
            raise ValueError(
                f'Component "{self.name}": the weights in {source} are those of {known} labels, '
                f"but its cfg has {len(self.labels)}: {', '.join(self.labels) or 'none'}. Is the "
                'file "cfg" missing? Copy the whole folder of the pipeline again, or save it anew.'
            )
