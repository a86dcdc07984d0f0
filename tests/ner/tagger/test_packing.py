"""Packing of sequences, against a loop over sequences for each step."""

import numpy
from hypothesis import given
from hypothesis import strategies as st

from spacy_multihash.ner.tagger.packing import pack

LENGTHS = st.lists(st.integers(0, 5), max_size=6)


@given(lengths=LENGTHS)
def test_steps_hold_the_tokens_of_all_sequences_that_long(lengths: list[int]) -> None:
    packed = pack(numpy.array(lengths, dtype="int32"))
    ranked = sorted(range(len(lengths)), key=lambda sequence: -lengths[sequence])
    assert packed.num_steps == max(lengths, default=0)
    assert packed.num_sequences == sum(length > 0 for length in lengths)
    for t in range(packed.num_steps):
        expected = [sum(lengths[:sequence]) + t for sequence in ranked if lengths[sequence] > t]
        assert packed.order[packed.step(t)].tolist() == expected
        assert packed.sizes[t] == len(expected)


@given(lengths=LENGTHS)
def test_packed_order_holds_each_token_once(lengths: list[int]) -> None:
    packed = pack(numpy.array(lengths, dtype="int32"))
    assert sorted(packed.order.tolist()) == list(range(sum(lengths)))
    assert {array.dtype for array in packed} == {numpy.dtype("int64")}


def test_sequences_of_equal_length_stay_in_their_order() -> None:
    packed = pack(numpy.array([2, 0, 3, 1, 3]))
    assert packed.order.tolist() == [2, 6, 0, 5, 3, 7, 1, 4, 8]


def test_packed_order_is_that_of_the_picture() -> None:
    packed = pack(numpy.array([2, 1, 3]))
    assert packed.order.tolist() == [3, 0, 2, 4, 1, 5]
    assert packed.sizes.tolist() == [3, 2, 1]
    assert packed.bounds.tolist() == [0, 3, 5, 6]
