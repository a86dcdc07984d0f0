"""batch_ner finds the entities that spaCy's ner finds, on any docs, with any model."""

from collections.abc import Iterable
from typing import Any

import numpy
import pytest
from spacy.pipeline import EntityRecognizer

from spacy_multihash import BatchEntityRecognizer
from tests.helpers.transition import (
    WORDS,
    Case,
    Token,
    annotate,
    annotations,
    assert_same,
    both,
    make_docs,
    recognizer,
)


def random_docs(number: int, length: int, labels: Iterable[str], iob: list[int]) -> list:
    rng = numpy.random.default_rng(0)
    types = ["", *labels]
    return [
        [
            Token(
                WORDS[rng.integers(len(WORDS))],
                sent_start=rng.choice([0, 0, 0, 0, 0, 1]),
                iob=rng.choice(iob),
                ent_type=types[rng.integers(len(types))] if len(iob) > 1 else "",
            )
            for _ in range(rng.integers(length))
        ]
        for _ in range(number)
    ]


def lacking(kind: type[EntityRecognizer], vocab: Any, actions: tuple[int, ...]) -> Any:
    """Build a recognizer whose labels, in `initialize`, lack kinds of actions."""

    class Lacking(kind):
        def initialize(self, get_examples: Any, nlp: Any = None, labels: Any = None) -> None:
            kept = {action: names for action, names in labels.items() if action not in actions}
            super().initialize(get_examples, nlp, kept)

    return recognizer(Lacking, Case(), vocab)


@pytest.mark.parametrize("iob", [[0], [0, 0, 0, 0, 0, 1, 1, 2, 3]], ids=["free", "preset"])
@pytest.mark.parametrize("actions", [(1,), (2,), (3,), (4,), (5,), (4, 5)], ids=str)
def test_models_without_some_actions_find_what_spacys_ner_does(
    actions: tuple[int, ...], iob: list[int]
) -> None:
    ner = lacking(EntityRecognizer, None, actions)
    ours = lacking(BatchEntityRecognizer, ner.vocab, actions)
    docs = make_docs(ner.vocab, random_docs(40, 12, "AB", iob))
    expected = annotate(ner, [doc.copy() for doc in docs])
    numpy.testing.assert_equal(annotations(annotate(ours, docs)), annotations(expected))
    assert ours.move_names == ner.move_names


def test_label_without_a_name_is_never_found() -> None:
    ner, ours = both(Case(labels="A", later=["", "B"], favours={"B": 9.0}))
    assert_same(ner, ours, make_docs(ner.vocab, random_docs(20, 20, "AB", [0, 0, 0, 1, 3])))
