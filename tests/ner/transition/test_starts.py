"""Parts of docs and the states that they begin in, against spaCy's `_init_gold_batch`."""

import random

import numpy
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from spacy.pipeline import EntityRecognizer
from spacy.tokens import Doc, Span
from spacy.training import Example

from spacy_multihash.ner.transition.decode import Parts
from spacy_multihash.ner.transition.rules import NO_LABEL, read_actions
from spacy_multihash.ner.transition.training import (
    cut,
    draw_length,
    has_gold,
    parts_with_gold,
    prepare,
)
from tests.helpers.transition_training import (
    VOCAB,
    WRONG,
    Setup,
    examples,
    recognizer,
)

KEYS = st.sampled_from([None, WRONG])


def cut_by_spacy(ner: EntityRecognizer, batch: list[Example], length: int) -> list[tuple]:
    """The first token of each part, and the first token and the label of its open entity."""
    states, _, _ = ner._init_gold_batch(batch, length)
    step_model = ner.model.predict([example.predicted for example in batch])
    found = []
    for token, start, _ in step_model.get_token_ids(states).tolist():
        found.append((token, token, NO_LABEL) if start < 0 else (token, start, None))
    return sorted(found)


def cut_by_us(ner: EntityRecognizer, batch: list[Example], length: int) -> Parts:
    key = ner.incorrect_spans_key
    actions = read_actions(ner.moves)
    gold, rules, _, _ = prepare(batch, actions, key, 0)
    return cut(batch, length, gold, rules, actions, key)


@settings(max_examples=100, suppress_health_check=[HealthCheck.too_slow])
@given(st.lists(examples(), min_size=1, max_size=3), st.integers(1, 12), KEYS)
def test_parts_and_where_they_begin_are_spacys(
    batch: list[Example], length: int, key: str | None
) -> None:
    batch = [example for example in batch if len(example.predicted)]
    if not batch:
        return
    ner = recognizer(EntityRecognizer, Setup(wrong_key=key))
    try:
        expected = cut_by_spacy(ner, batch, length)
    except ValueError as error:
        with pytest.raises(ValueError, match="E024"):
            cut_by_us(ner, batch, length)
        assert "E024" in str(error)
        return
    parts = cut_by_us(ner, batch, length)
    found = zip(parts.begins.tolist(), parts.starts.tolist(), parts.labels.tolist(), strict=True)
    assert sorted((b, s, x if x == NO_LABEL else None) for b, s, x in found) == expected
    assert (parts.ends - parts.begins <= length + 1).all()
    assert all(column.dtype == "int64" for column in parts)


def one_doc(*tags: str) -> list[Example]:
    words = ["a"] * len(tags)
    return [Example(Doc(VOCAB, words=words), Doc(VOCAB, words=words, ents=[*tags]))]


def test_part_begins_in_the_gold_entity_that_is_open() -> None:
    batch = one_doc("O", "B-A", "I-A", "I-A", "O", "B-B", "I-B", "O", "O")
    ner = recognizer(EntityRecognizer, Setup())
    parts = cut_by_us(ner, batch, 3)
    labels = read_actions(ner.moves).labels
    # A part has one token of the next
    assert parts.begins.tolist() == [0, 3, 6]
    assert parts.ends.tolist() == [4, 7, 9]
    assert parts.starts.tolist() == [0, 1, 5]
    assert parts.labels.tolist() == [NO_LABEL, labels.index("A"), labels.index("B")]


def test_parts_without_annotation_are_left_out() -> None:
    parts = cut_by_us(
        recognizer(EntityRecognizer, Setup()), one_doc("B-A", "O", "", "", "", "", "O"), 2
    )
    # spaCy looks at the last part without its last token, and at all the doc if none is left
    assert parts.begins.tolist() == [0, 6]


def test_gold_entity_that_no_valid_action_leads_to_is_refused_where_docs_are_cut() -> None:
    predicted = Doc(VOCAB, words=["a", "a"], sent_starts=[True, True])
    (example,) = one_doc("B-A", "I-A")
    ner = recognizer(EntityRecognizer, Setup())
    batch = [Example(predicted, example.reference)]
    with pytest.raises(ValueError, match="E024"):
        cut_by_us(ner, batch, 2)
    assert cut_by_us(ner, batch, 3).begins.tolist() == [0]


@pytest.mark.parametrize("cut_size", [1, 2, 5, 100])
def test_length_of_parts_is_drawn_as_spacy_does(cut_size: int) -> None:
    random.seed(0)
    found = [draw_length(cut_size) for _ in range(200)]
    random.seed(0)
    drawn = [int(random.uniform(cut_size // 2, cut_size * 2)) for _ in range(200)]
    assert found == [max(1, length) for length in drawn]


def test_no_length_is_drawn_for_no_cuts() -> None:
    before = random.getstate()
    assert draw_length(0) == 0
    assert random.getstate() == before


@settings(max_examples=100)
@given(examples(), st.integers(0, 20), st.one_of(st.just(-1), st.integers(0, 20)), KEYS)
def test_what_has_gold_entities_is_spacys(
    example: Example, start: int, end: int, key: str | None
) -> None:
    moves = recognizer(EntityRecognizer, Setup(wrong_key=key)).moves
    if not len(example.predicted):
        assert not has_gold(example, key)
        return
    assert has_gold(example, key) == moves.has_gold(example)
    (found,) = parts_with_gold(example, numpy.array([start]), numpy.array([end]), key)
    assert found == moves.has_gold(example, start, end)


def test_wrong_entities_are_gold_where_they_are_whole() -> None:
    doc = Doc(VOCAB, words=["a"] * 6)
    doc.spans[WRONG] = [Span(doc, 2, 4, label="A")]
    example = Example(Doc(VOCAB, words=["a"] * 6), doc)
    assert has_gold(example, WRONG)
    assert not has_gold(example, None)
    starts, ends = numpy.array([(0, 2), (0, 4), (2, 4), (3, 6), (2, 5), (4, -1)]).T
    found = parts_with_gold(example, starts, ends, WRONG)
    assert found.tolist() == [False, True, True, False, True, False]
