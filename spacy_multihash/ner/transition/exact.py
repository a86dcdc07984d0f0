"""How sure the recognizer is of entities, beside docs and then set on them."""

from collections.abc import Sequence
from typing import NamedTuple, Optional

import numpy
from spacy.tokens import Doc
from thinc.api import Ops

from ..biluo import Entities
from ..confidence import Confidences, confidences_of, set_confidences
from ..docs import lengths_of, spans_of
from .lattice import build_lattice
from .scores import Batch


class Exact(NamedTuple):
    """Probabilities of entities of a batch of D docs.

    confidences: Of each doc, the probabilities of the entities found, and of candidates.
    candidates (Entities): All entities that are probable enough, found or not, in order.
    left_out (D,) float64: No probability of a doc is wrong by more.
    """

    confidences: list[Confidences]
    candidates: Entities
    left_out: numpy.ndarray


def exact_of(
    docs: Sequence[Doc],
    batch: Batch,
    ops: Ops,
    entities: Entities,
    temperature: float,
    above: Optional[float],
) -> Exact:
    """Ask how sure the recognizer is of entities.

    docs (Sequence[Doc]): The docs that the batch is of.
    above (Optional[float]): List all entities of at least this probability. Null lists none.
    """
    lattice = build_lattice(batch, ops, entities, temperature, above)
    labels = batch.actions.labels
    confidences: list[Confidences] = [{} for _ in docs]
    for asked, probabilities in ((entities, lattice.probabilities), lattice.candidates):
        found = confidences_of(docs, asked, probabilities, labels)
        for of_doc, more in zip(confidences, found, strict=True):
            of_doc.update(more)
    left_out = numpy.zeros(len(docs))
    left_out[lengths_of(docs) > 0] = lattice.left_out
    return Exact(confidences, lattice.candidates.entities, left_out)


def nothing_of(docs: Sequence[Doc]) -> Exact:
    """Return what there is of docs without tokens."""
    none = Entities(*numpy.zeros((3, 0), dtype="int64"))
    return Exact([{} for _ in docs], none, numpy.zeros(len(docs)))


def set_exact(docs: Sequence[Doc], exact: Exact, labels: Sequence[str], spans_key: str) -> None:
    """Put doc.ents and the other candidates into doc.spans[spans_key], with their scores.

    Its attrs get "scores", (M,) float32, and "left_out", a float.

    labels (Sequence[str]): The labels of the recognizer.
    """
    candidates = spans_of(docs, exact.candidates, labels)
    for i, doc in enumerate(docs):
        entities = {(ent.start, ent.end, ent.label) for ent in doc.ents}
        others = [
            span for span in candidates[i] if (span.start, span.end, span.label) not in entities
        ]
        set_confidences(doc, exact.confidences[i], set(labels), spans_key, others)
        doc.spans[spans_key].attrs["left_out"] = float(exact.left_out[i])
