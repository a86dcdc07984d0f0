"""What examples teach, and the parts that docs are cut to, against spaCy's `_init_gold_batch`."""

import random
from dataclasses import replace

import numpy
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from spacy.pipeline import EntityRecognizer
from spacy.tokens import Doc, Span
from spacy.training import Example

from spacy_multihash.ner.transition.costs import outside_costs
from spacy_multihash.ner.transition.rules import NO_LABEL, read_actions
from spacy_multihash.ner.transition.states import Parts
from spacy_multihash.ner.transition.training import (
    cut,
    draw_length,
    has_gold,
    parts_with_gold,
    prepare,
)
from tests.helpers.transition import recognizer
from tests.helpers.transition_training import (
    SETUP,
    VOCAB,
    WRONG,
    assert_same_gradients,
    examples,
    ours,
    plain_example,
    update_both,
)

WORDS = ["Anna", "met", "Bob", "Smith", "in", "New", "York", "."]
TAGS = ["B-A", "O", "B-A", "I-A", "O", "B-B", "I-B", "O"]
KEYS = st.sampled_from([None, WRONG])
WITH_WRONG = replace(SETUP, wrong_key=WRONG)


@pytest.mark.parametrize(
    ("words", "tags"), [(WORDS, TAGS), ([*WORDS[:5], "New York", "."], [*TAGS[:5], "B-B", "O"])]
)
def test_entity_that_is_right_and_wrong_is_refused(words: list[str], tags: list[str]) -> None:
    reference = Doc(VOCAB, words=words, ents=tags)
    city = reference.ents[-1]
    for label, is_right in (("A", False), ("B", True)):
        reference.spans[WRONG] = [Span(reference, city.start, city.end, label=label)]
        batch = [Example(Doc(VOCAB, words=WORDS), reference)]
        our, spacys = update_both(WITH_WRONG, batch)
        assert ("E868" in spacys.error) == is_right
        assert ("known to be wrong, in reference.ents" in our.error) == is_right


def test_right_entity_of_tokens_that_another_has_is_not_taken_for_wrong() -> None:
    # To spaCy the whitespace is in the first entity, and there is no second one
    words, tags = ["a", "\n", "\n", "a"], ["B-A", "I-A", "B-A", "O"]
    reference = Doc(VOCAB, words=words, spaces=[False] * 4, ents=tags)
    reference.spans[WRONG] = [Span(reference, 2, 3, label="A")]
    predicted = Doc(VOCAB, words=["a", "\n\n", "a"], spaces=[False] * 3)
    our, spacys = update_both(WITH_WRONG, [Example(predicted, reference)])
    assert our.error == spacys.error == ""
    assert_same_gradients(our.gradients, spacys.gradients)


@pytest.mark.parametrize(
    ("span", "expected"),
    [((0, 1), ["U-B"]), ((0, 2), []), ((2, 4), ["B-B"]), ((2, 3), ["B-B", "U-B"])],
)
def test_first_action_of_a_wrong_entity_costs_one_more_where_it_can_be_told(
    span: tuple[int, int], expected: list[str]
) -> None:
    # For B that is where only one token is left. spaCy does not ask which entity it would be
    moves, example = ours(WITH_WRONG).moves, plain_example("OOOO", (*span, "B"), (*span, "B"))
    gold, _ = prepare([example], read_actions(moves), WRONG, 0)
    (costs,) = outside_costs(gold, numpy.array(span[:1]))
    names = [moves.get_class_name(column) for column in numpy.flatnonzero(costs == 2)]
    assert sorted(names) == expected


# Parts of docs


def cut_by_spacy(ner: EntityRecognizer, batch: list[Example], length: int) -> list[tuple]:
    """The first token of each part, and the first token and the label of its open entity."""
    states, _, _ = ner._init_gold_batch(batch, length)
    step_model = ner.model.predict([example.predicted for example in batch])
    return sorted(
        (token, token, NO_LABEL) if start < 0 else (token, start, None)
        for token, start, _ in step_model.get_token_ids(states).tolist()
    )


def cut_by_us(ner: EntityRecognizer, batch: list[Example], length: int) -> Parts:
    key, actions = ner.incorrect_spans_key, read_actions(ner.moves)
    gold, _ = prepare(batch, actions, key, 0)
    return cut(batch, length, gold, key)


@settings(suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(examples(), min_size=1, max_size=3), st.integers(1, 12), KEYS)
def test_parts_and_where_they_begin_are_spacys(
    batch: list[Example], length: int, key: str | None
) -> None:
    batch = [example for example in batch if len(example.predicted)]
    if not batch:
        return
    ner = recognizer(EntityRecognizer, replace(SETUP, wrong_key=key), VOCAB)
    try:
        expected = cut_by_spacy(ner, batch, length)
    except ValueError as error:
        with pytest.raises(ValueError, match="E024"):
            cut_by_us(ner, batch, length)
        assert "E024" in str(error)
        return
    parts = cut_by_us(ner, batch, length)
    rows = zip(parts.begins.tolist(), parts.starts.tolist(), parts.labels.tolist(), strict=True)
    assert sorted((b, s, x if x == NO_LABEL else None) for b, s, x in rows) == expected
    assert (parts.ends - parts.begins <= length + 1).all()
    assert all(column.dtype == "int64" for column in parts)


@pytest.mark.parametrize("cut_size", [0, 1, 2, 5, 100])
def test_length_of_parts_is_drawn_as_spacy_does(cut_size: int) -> None:
    random.seed(0)
    lengths = [draw_length(cut_size) for _ in range(200)]
    drawn_after = random.random()
    random.seed(0)
    if not cut_size:
        assert not any(lengths) and drawn_after == random.random()
        return
    spacys = [int(random.uniform(cut_size // 2, cut_size * 2)) for _ in range(200)]
    assert lengths == [max(1, length) for length in spacys]


@given(examples(), st.integers(0, 20), st.one_of(st.just(-1), st.integers(0, 20)), KEYS)
def test_what_has_gold_entities_is_spacys(
    example: Example, start: int, end: int, key: str | None
) -> None:
    moves = ours(replace(SETUP, wrong_key=key)).moves
    if not len(example.predicted):
        assert not has_gold(example, key)
        return
    assert has_gold(example, key) == moves.has_gold(example)
    (has_any,) = parts_with_gold(example, numpy.array([start]), numpy.array([end]), key)
    assert has_any == moves.has_gold(example, start, end)


def test_part_that_ends_within_a_token_of_the_reference_stands_for_all_tokens() -> None:
    reference = Doc(VOCAB, words=["a b", "c"], ents=["", "O"])
    example = Example(Doc(VOCAB, words=["a", "b", "c"]), reference)
    starts, ends = numpy.array([(0, 1), (0, 2)]).T
    expected = [ours().moves.has_gold(example, start, end) for start, end in ((0, 1), (0, 2))]
    assert parts_with_gold(example, starts, ends, None).tolist() == expected == [True, False]
