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
    make_doc,
    make_docs,
    recognizer,
)


def free(length: int, **token: Any) -> list[Token]:
    return [Token(**token)] * length


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


# Any model, any docs


def test_entities_do_not_depend_on_the_batch() -> None:
    ours = recognizer(BatchEntityRecognizer, Case(favours={"I": 2.0}))
    [tokens] = random_docs(1, 60, "AB", [0, 0, 0, 1, 3])
    doc = make_doc(ours.vocab, tokens)
    docs = [doc.copy(), make_doc(ours.vocab, []), doc.copy()]
    alone = annotations(annotate(ours, [doc.copy()]))[0]
    # All tokens have vectors of their own: those of the first doc are what they are alone
    assert (annotations(annotate(ours, docs))[0] == alone).all()
    assert (annotations(list(ours.pipe([doc], batch_size=1)))[0] == alone).all()


def test_action_of_blocked_tokens_is_for_no_others() -> None:
    case = Case()
    ner, ours = both(case)
    for pipe in (ner, ours):
        names = [pipe.moves.get_class_name(i) for i in range(pipe.moves.n_moves)]
        pipe.model.get_ref("upper").get_param("b")[names.index("U-")] = 1000.0
    docs = make_docs(ner.vocab, [free(40), [*free(5), Token(iob=3), *free(20)]])
    assert_same(ner, ours, docs)
    assert all(doc.ents for doc in docs)


# What docs have already


def test_entity_with_an_inside_of_another_type_gives_up_the_rest_of_the_doc() -> None:
    ner, ours = both(Case(labels="AB", favours={"U": 1000.0}))
    stuck = [Token(iob=3, ent_type="A"), Token(iob=1, ent_type=""), Token(iob=1, ent_type="A")]
    docs = make_docs(ner.vocab, [[*free(2), *stuck, *free(5)], free(3)])
    assert_same(ner, ours, docs)
    assert [ent.start for ent in docs[0].ents if ent.start > 4] == []
    assert len(docs[1].ents) == 3


# Models that lack actions


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


@pytest.mark.parametrize("extra", [False, True])
def test_entities_that_never_end_end_with_the_doc(extra: bool) -> None:
    case = Case(extra_state_tokens=extra, favours={"B": 1000.0, "I": 1000.0})
    ner, ours = both(case)
    docs = make_docs(ner.vocab, [free(3000), free(20), free(700)])
    assert_same(ner, ours, docs)
    assert [len(doc.ents) for doc in docs] == [1, 1, 1]
