"""The component that parses as spaCy's parser does, by a compiled loop over states."""

from collections.abc import Iterable
from typing import Any, NamedTuple, Optional, Union

import numpy
from spacy.attrs import DEP, HEAD, SENT_START
from spacy.pipeline import DependencyParser
from spacy.pipeline._parser_internals.nonproj import deprojectivize
from spacy.tokens import Doc

from ..compute.ops import operations
from ..ner.transition.states import Weights, weights_of
from .actions import NUM_FEATURES, Actions, read_actions

_ATTRS = [SENT_START, HEAD, DEP]
_RESULTS = [HEAD, DEP]


class Parses(NamedTuple):
    """The parses of D docs with N tokens in all.

    table (2, N) uint64: HEAD and DEP, as in `Doc.to_array`.
    is_decorated (N,) uint8: Whether the token may have a label that spaCy splits after parsing.
    ends (D,) int64: Where each doc ends.
    """

    table: numpy.ndarray
    is_decorated: numpy.ndarray
    ends: numpy.ndarray


class BatchDependencyParser(DependencyParser):
    """Parse as spaCy's DependencyParser does, by a compiled loop over states.

    It has the model, the files, the labels and the settings of spaCy's parser, and sets the same
    heads, labels and sentence starts. Greedy prediction on the CPU is compiled. With a beam, in
    training, on a GPU, without compiled kernels, and for a state_type other than "parser", it calls
    spaCy's own code.
    """

    _read: Optional[tuple[object, Actions]] = None

    def predict(self, docs: Union[Doc, Iterable[Doc]]) -> Any:  # noqa: ANN401
        """Parse docs, without setting the parses.

        Returns `Parses`, or what spaCy's parser returns where its own code predicts.

        Raises ValueError if the model doesn't have weights for exactly the component's actions.
        """
        docs = [docs] if isinstance(docs, Doc) else list(docs)
        weights = self._compiled_weights() if any(map(len, docs)) else None
        if weights is None:
            return super().predict(docs)
        return parse(docs, self.tok2vec.predict(docs), weights, self._actions())

    def set_annotations(self, docs: Union[Doc, Iterable[Doc]], parses: Any) -> None:  # noqa: ANN401
        """Set the heads, labels and sentence starts of docs.

        parses (Any): What `predict` has returned.
        """
        docs = [docs] if isinstance(docs, Doc) else list(docs)
        if not isinstance(parses, Parses):
            super().set_annotations(docs, parses)
            return
        table, is_decorated, ends = parses
        decorated = set()
        if is_decorated.any():
            decorated = set(numpy.searchsorted(ends, is_decorated.nonzero()[0], "right").tolist())
        hooks = [hook for hook in self.postprocesses if hook is not deprojectivize]
        begin = 0
        for number, (doc, end) in enumerate(zip(docs, ends.tolist(), strict=True)):
            if begin < end:
                doc.from_array(_RESULTS, table[:, begin:end].T)
            if number in decorated:
                deprojectivize(doc)
            for hook in hooks:
                hook(doc)
            begin = end

    def _compiled_weights(self) -> Optional[Weights]:
        """View the weights for the compiled loop; None where spaCy's code has to predict."""
        lower = self.model.get_ref("lower")
        if (
            self.cfg["beam_width"] != 1
            or lower.get_dim("nF") not in NUM_FEATURES
            or not lower.has_param("W")
        ):
            return None
        weights = weights_of(self.model)
        if not operations(weights.W).can_parse:
            return None
        if weights.nO != self.moves.n_moves:  # spaCy's code would read beyond its arrays
            raise ValueError(
                f'Component "{self.name}": its model has weights for {weights.nO} actions, but its '
                f"labels have {self.moves.n_moves}. Add labels with add_label, and load the files "
                "of one pipeline."
            )
        return weights

    def _actions(self) -> Actions:
        """List the actions, and cache the list until they change."""
        labels = self.moves.labels  # a new object if they were set anew
        cached = self._read
        if cached is None or cached[0] is not labels or len(cached[1].kinds) != self.moves.n_moves:
            self._read = cached = (labels, read_actions(self.moves))
        return cached[1]


def parse(docs: list[Doc], X: numpy.ndarray, weights: Weights, actions: Actions) -> Parses:
    """Parse docs with the vectors X (N, nI), N > 0, by compiled kernels.

    Heads and labels that docs have already stay where the parser adds no arc, and so do sentence
    starts, as in spaCy's parser.
    """
    X = numpy.require(X, "float32", ["C", "A"])
    arrays = [doc.to_array(_ATTRS) for doc in docs]
    attrs = arrays[0] if len(arrays) == 1 else numpy.concatenate(arrays)
    lengths = numpy.array(list(map(len, docs)), dtype="int64")
    parses = operations(X).parse(X, weights, actions, attrs, lengths)
    return Parses(*parses, lengths.cumsum())
