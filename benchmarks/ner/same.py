"""Checks that both arms do the same."""

from collections.abc import Sequence
from functools import partial
from typing import NamedTuple
from unittest import mock

import numpy
from spacy.ml import tb_framework
from spacy.pipeline import EntityRecognizer
from spacy.tokens import Doc
from thinc.api import fix_random_seed

from benchmarks.common.pipelines import make_docs, make_examples
from benchmarks.ner.subjects import SPANS_KEY, Subject
from benchmarks.ner.work import Batch, find, update
from spacy_multihash.ner.transition.component import BatchEntityRecognizer

# What losses and gradients may differ by, relative to the largest.
TOLERANCE = 1e-3


class Outcome(NamedTuple):
    """What an update computes: the loss, and the gradients by layer and parameter."""

    loss: float
    gradients: dict[str, numpy.ndarray]


def find_entities(subject: Subject, pipe: EntityRecognizer, batches: Sequence[Batch]) -> list[Doc]:
    """Copy the docs of batches, and set their entities."""
    new = [Batch(make_docs(subject.nlp, docs), X) for docs, X in batches]
    find(pipe, subject.given, new)
    return [doc for docs, _ in new for doc in docs]


def check_scored(docs: Sequence[Doc], where: str) -> None:
    """Check that docs have the entities with probabilities that were asked for.

    Raises ValueError if a doc has none.
    """
    scored = sum("scores" in doc.spans[SPANS_KEY].attrs for doc in docs if SPANS_KEY in doc.spans)
    if scored < len(docs):
        raise ValueError(
            f'{where}: batch_ner should put entities and their "scores" into '
            f'doc.spans["{SPANS_KEY}"], but has not in {len(docs) - scored} of {len(docs)} docs.'
        )


def check_same_update(
    subject: Subject,
    theirs: EntityRecognizer,
    ours: BatchEntityRecognizer,
    batches: Sequence[Batch],
    where: str,
) -> None:
    """Check that updates compute the same, without dropout, and with the gradient that spaCy's has.

    Raises ValueError if losses or gradients differ.
    """
    settings = ours.settings
    ours.state_dropout, ours.spacy_gradient = 0.0, True
    expected, found = (_update_once(subject, pipe, batches) for pipe in (theirs, ours))
    ours.settings = settings
    scale = max(abs(expected.loss), 1.0)
    if abs(found.loss - expected.loss) > TOLERANCE * scale:
        raise ValueError(
            f"{where}: the loss of batch_ner is {found.loss}, that of spaCy's ner {expected.loss}."
        )
    for name, gradient in expected.gradients.items():
        error = abs(found.gradients[name] - gradient).max() / max(abs(gradient).max(), 1e-6)
        if error > TOLERANCE:
            raise ValueError(
                f"{where}: the gradient of {name} differs by {error:.1e} of its largest entry "
                f"from spaCy's, by more than {TOLERANCE}."
            )


def _update_once(subject: Subject, pipe: EntityRecognizer, batches: Sequence[Batch]) -> Outcome:
    params = [
        (f"{node.name} {name}", node, name)
        for node in pipe.model.walk()
        for name in node.param_names
    ]
    for _, node, name in params:
        node.set_grad(name, node.get_param(name) * 0)
    examples = [(make_examples(subject.nlp, docs), X) for docs, X in batches]
    fix_random_seed(0)
    # spaCy has no setting for this dropout
    without = partial(tb_framework.ParserStepModel, dropout=0.0)
    with mock.patch.object(tb_framework, "ParserStepModel", without):
        losses = update(pipe, subject.given, examples, drop=0.0)
    gradients = {key: node.get_grad(name).copy() for key, node, name in params}
    return Outcome(sum(losses.values()), gradients)
