"""Steps that a case times."""

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

import numpy
from spacy.pipeline import EntityRecognizer
from spacy.tokens import Doc
from spacy.training import Example
from thinc.api import Model, fix_random_seed

from benchmarks.common.pipelines import annotate, make_docs, make_examples
from benchmarks.common.text import count_tokens, take_batches, take_docs, take_tokens
from benchmarks.common.timing import Step
from benchmarks.ner.cases import PREDICT, UPDATE, Case, Settings
from benchmarks.ner.subjects import Subject, resize_docs


class Batch(NamedTuple):
    """Docs, and the vectors of their tokens."""

    docs: Sequence[Doc]
    X: numpy.ndarray


def make_sets(case: Case, subject: Subject, settings: Settings) -> list[list[Batch]]:
    """Take the sets of docs that the rounds go through in turn, each in batches."""
    number, words, size = case.docs
    docs = resize_docs(subject.docs, words) if words else subject.docs
    take: Callable[[Sequence[Doc]], list[Doc]]
    take = partial(take_docs, size=number) if number else partial(take_tokens, size=settings.words)
    return [_cut(each, size, subject) for each in take_batches(docs, take, settings.sets)]


def _cut(docs: Sequence[Doc], size: int, subject: Subject) -> list[Batch]:
    parts = [docs[i : i + size] for i in range(0, len(docs), size)] if size else [docs]
    ends = numpy.cumsum([count_tokens(part) for part in parts])
    vectors = numpy.split(subject.encode(docs), ends[:-1])
    return [Batch(part, X) for part, X in zip(parts, vectors, strict=True)]


def make_step(
    case: Case, subject: Subject, pipe: EntityRecognizer, sets: Sequence[Sequence[Batch]]
) -> Step:
    """Make a step that goes through the sets in turn, with new docs in each round."""
    nlp, given = subject.nlp, subject.given

    def prepare(i: int) -> Callable[[], object]:
        batches = sets[i % len(sets)]
        if case.step == UPDATE:
            examples = [(make_examples(nlp, docs), X) for docs, X in batches]
            fix_random_seed(i % 1000)
            return partial(update, pipe, given, examples)
        docs = [Batch(make_docs(nlp, docs), X) for docs, X in batches]
        return partial(predict if case.step == PREDICT else find, pipe, given, docs)

    return prepare


def predict(pipe: EntityRecognizer, given: Model, batches: Sequence[Batch]) -> None:
    """Predict batches, and set nothing."""
    for docs, X in batches:
        given.attrs["X"] = X
        pipe.predict(docs)


def find(pipe: EntityRecognizer, given: Model, batches: Sequence[Batch]) -> None:
    """Predict batches, and set the entities of their docs."""
    for docs, X in batches:
        given.attrs["X"] = X
        annotate(pipe, docs)


def update(
    pipe: EntityRecognizer,
    given: Model,
    batches: Sequence[tuple[Sequence[Example], numpy.ndarray]],
    drop: float = 0.1,
) -> dict[str, float]:
    """Compute the losses and the gradients of batches. Without an optimizer, weights stay equal."""
    losses: dict[str, float] = {}
    for examples, X in batches:
        given.attrs["X"] = X
        pipe.update(examples, drop=drop, losses=losses)
    return losses
