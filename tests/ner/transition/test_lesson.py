"""What examples teach: read off arrays, at the right positions, or refused."""

from collections.abc import Iterator
from typing import Any

import pytest
from spacy.pipeline import EntityRecognizer
from spacy.tokens import Doc, Span, Token
from spacy.training import Example

from spacy_multihash.ner.transition.rules import read_actions
from spacy_multihash.ner.transition.training import prepare
from tests.helpers.transition_training import (
    VOCAB,
    WRONG,
    Setup,
    Stepwise,
    assert_same_gradients,
    ours,
    recognizer,
    update,
)

WORDS = ["Anna", "met", "Bob", "Smith", "in", "New", "York", "."]
TAGS = ["B-A", "O", "B-A", "I-A", "O", "B-B", "I-B", "O"]


class CountingDoc(Doc):
    """A doc that counts how often its tokens are asked for, one by one or in spans."""

    looks = 0

    def __iter__(self) -> Iterator[Token]:
        """Count a look at all tokens."""
        CountingDoc.looks += len(self)
        return super().__iter__()

    def __getitem__(self, key: Any) -> Any:
        """Count a look at a token, or at a span."""
        CountingDoc.looks += 1
        return super().__getitem__(key)


def looks(component: EntityRecognizer, *, wrong: bool = False, longer: int = 0) -> int:
    """Count the looks of an update, and of predictions, at docs with more tokens outside."""
    examples = []
    words = [*WORDS, *["."] * longer]
    for _ in range(3):
        reference = CountingDoc(VOCAB, words=words, ents=[*TAGS, *"O" * longer])
        if wrong:
            reference.spans[WRONG] = [Span(reference, 1, 2, label="A")]
        examples.append(Example(CountingDoc(VOCAB, words=words), reference))
    CountingDoc.looks = 0
    assert update(component, examples).gradients
    component.predict([example.predicted for example in examples])
    return CountingDoc.looks


@pytest.mark.parametrize("cut_size", [0, 3])
def test_no_token_is_looked_at(cut_size: int) -> None:
    setup = Setup(wrong_key=WRONG, cut_size=cut_size)
    assert looks(ours(setup)) == 0
    assert looks(recognizer(EntityRecognizer, setup)) >= 6


def test_wrong_entities_are_looked_at_and_no_tokens() -> None:
    setup = Setup(wrong_key=WRONG)
    few, many = (looks(ours(setup), wrong=True, longer=longer) for longer in (0, 50))
    assert few == many
    assert looks(recognizer(EntityRecognizer, setup), wrong=True) > few


@pytest.mark.parametrize(
    ("words", "tags"),
    [(WORDS, TAGS), ([*WORDS[:5], "New York", "."], [*TAGS[:5], "B-B", "O"])],
)
def test_entity_that_is_right_and_wrong_is_refused(words: list[str], tags: list[str]) -> None:
    reference = Doc(VOCAB, words=words, ents=tags)
    city = reference.ents[-1]
    setup = Setup(wrong_key=WRONG)
    for label, is_right in (("A", False), ("B", True)):
        reference.spans[WRONG] = [Span(reference, city.start, city.end, label=label)]
        found, expected = (
            update(component, [Example(Doc(VOCAB, words=WORDS), reference)])
            for component in (ours(setup), recognizer(Stepwise, setup))
        )
        assert ("E868" in expected.error) == is_right
        assert ("known to be wrong, in reference.ents" in found.error) == is_right


def test_right_entity_of_tokens_that_another_has_is_not_taken_for_wrong() -> None:
    # To spaCy the whitespace is in the first entity, and there is no second one
    words, tags = ["a", "\n", "\n", "a"], ["B-A", "I-A", "B-A", "O"]
    reference = Doc(VOCAB, words=words, spaces=[False] * 4, ents=tags)
    reference.spans[WRONG] = [Span(reference, 2, 3, label="A")]
    predicted = Doc(VOCAB, words=["a", "\n\n", "a"], spaces=[False] * 3)
    setup = Setup(wrong_key=WRONG)
    found, expected = (
        update(component, [Example(predicted, reference)])
        for component in (ours(setup), recognizer(Stepwise, setup))
    )
    assert found.error == expected.error == ""
    assert_same_gradients(found.gradients, expected.gradients)


def test_labels_that_no_action_has_are_refused() -> None:
    ner = recognizer(EntityRecognizer, Setup(labels=("A",)))
    example = Example(Doc(VOCAB, words=WORDS), Doc(VOCAB, words=WORDS, ents=TAGS))
    with pytest.raises(ValueError, match="labels that the component does not have: B. It was"):
        prepare([example], read_actions(ner.moves), None, 0)


def test_docs_of_no_token_and_without_annotation_teach_nothing() -> None:
    ner = recognizer(EntityRecognizer, Setup(wrong_key=WRONG))
    none, plain = Doc(VOCAB, words=[]), Doc(VOCAB, words=["a", "b"])
    reference = Doc(VOCAB, words=WORDS, ents=TAGS)
    reference.spans[WRONG] = [Span(reference, 1, 2, label="A")]
    examples = [
        Example(none, none.copy()),
        Example(plain, plain.copy()),
        Example(Doc(VOCAB, words=WORDS), reference),
        Example(none.copy(), none.copy()),
    ]
    gold, rules, _, parts = prepare(examples, read_actions(ner.moves), WRONG, 0)
    assert (parts.begins.tolist(), parts.ends.tolist()) == ([2], [10])
    assert rules.doc_ends.tolist() == [2, 10]
    assert gold.wrong is not None
    assert (gold.wrong.starts.tolist(), gold.wrong.ends.tolist()) == ([3], [4])
