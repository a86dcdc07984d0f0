"""The component that parses as spaCy's parser does, by a compiled loop over states."""

from collections.abc import Iterable
from typing import Any, NamedTuple, Optional, Union

import numpy
from spacy.attrs import DEP, HEAD, SENT_START
from spacy.pipeline import DependencyParser
from spacy.pipeline._parser_internals.nonproj import deprojectivize
from spacy.tokens import Doc
from thinc.api import Model

from ..compute.array_ops import ArrayOps
from ..compute.ops import operations
from ..compute.plans import Plan, Reading
from ..ner.entities import token_attributes
from ..ner.recognizer import check_loss, warn_unheard
from ..ner.saved import SavedComponent
from ..ner.settings import check_cfg
from ..ner.transition.states import Vectors, check_actions, vectors_of, weights_of
from .actions import NUM_FEATURES, read_actions

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


class Parser(NamedTuple):
    """The weights and actions as kernels read them, and the layers before `lower`."""

    ops: ArrayOps
    compiled: Any
    vectors: Vectors

    def parse(self, docs: list[Doc]) -> Parses:
        """Parse docs with N > 0 tokens by compiled kernels.

        Heads and labels that docs have already stay where the parser adds no arc, and so do
        sentence starts, as in spaCy's parser.
        """
        X = numpy.require(self.vectors(docs), "float32", ["C", "A"])
        attrs, lengths = token_attributes(docs, _ATTRS)
        return Parses(*self.ops.parse(X, self.compiled, attrs, lengths), lengths.cumsum())


class BatchDependencyParser(SavedComponent, DependencyParser):
    """Parse as spaCy's DependencyParser does, by a compiled loop over states.

    It has the model, the files, the labels and the settings of spaCy's parser, and sets the same
    heads, labels and sentence starts. Greedy prediction on the CPU is compiled. With a beam, in
    training, on a GPU, without compiled kernels, and for a state_type other than "parser", it calls
    spaCy's own code.
    """

    def __init__(self, *args: Any, **kwargs: Any) -> None:  # noqa: ANN401
        """Build the component as spaCy's DependencyParser."""
        self._plan, self._upstream = Plan(), Plan()
        super().__init__(*args, **kwargs)
        self._check_cfg()

    def _check_cfg(self) -> None:
        check_cfg(self.name, self.cfg)

    def _make_room(self) -> None:
        self._resize()

    def _check_weights(self) -> None:
        if self.model.get_ref("lower").has_param("W"):  # not before it's initialized
            check_actions(self.name, weights_of(self.model), self.moves)

    def predict(self, docs: Union[Doc, Iterable[Doc]]) -> Any:  # noqa: ANN401
        """Parse docs, without setting the parses.

        Returns `Parses`, or what spaCy's parser returns where its own code predicts.

        Raises ValueError if the model doesn't have weights for exactly the component's actions.
        """
        docs = [docs] if isinstance(docs, Doc) else list(docs)
        warn_unheard(self.name, self._upstream, self.model, docs)
        parser = None
        if self._is_greedy() and any(map(len, docs)):
            parser = self._plan.of(self.model, operations(self.model.ops), self._read_parser)
        return super().predict(docs) if parser is None else parser.parse(docs)

    def update(self, *args: Any, **settings: Any) -> Any:  # noqa: ANN401
        """Learn from a batch of examples, by spaCy's own code.

        Raises ValueError if the loss is NaN or infinite.
        """
        losses = super().update(*args, **settings)
        check_loss(self.name, (losses or {}).get(self.name, 0.0))
        return losses

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

    def _is_greedy(self) -> bool:
        lower = self.model.get_ref("lower")
        is_parser = bool(lower.has_param("W")) and lower.get_dim("nF") in NUM_FEATURES
        return is_parser and bool(self.cfg["beam_width"] == 1)

    def _read_parser(self, ops: ArrayOps, reading: Reading, model: Model) -> Optional[Parser]:
        """Read weights and actions; None where spaCy's code has to predict."""
        if not ops.is_compiled:
            return None
        moves = reading.attribute(self, "moves")
        for name in ("labels", "n_moves"):  # another object if they were set, or another number
            reading.attribute(moves, name)
        weights = weights_of(model, reading)
        check_actions(self.name, weights, moves)  # spaCy's code would read beyond its arrays
        compiled = ops.parser(weights, read_actions(moves))
        return Parser(ops, compiled, vectors_of(model, reading, ops))
