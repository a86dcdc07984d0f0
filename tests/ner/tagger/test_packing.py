"""Packing of chains, against a loop over chains for each step."""

import numpy
from hypothesis import given
from hypothesis import strategies as st

from spacy_multihash.ner.tagger.packing import pack_chains

LENGTHS = st.lists(st.integers(0, 5), max_size=6)


@given(lengths=LENGTHS)
def test_steps_hold_the_tokens_of_all_chains_that_long(lengths: list[int]) -> None:
    chains = pack_chains(numpy.array(lengths, dtype="int32"))
    ranked = sorted(range(len(lengths)), key=lambda chain: -lengths[chain])
    assert chains.steps == max(lengths, default=0)
    assert chains.num_chains == sum(length > 0 for length in lengths)
    for t in range(chains.steps):
        expected = [sum(lengths[:chain]) + t for chain in ranked if lengths[chain] > t]
        assert chains.order[chains.step(t)].tolist() == expected
        assert chains.sizes[t] == len(expected)


@given(lengths=LENGTHS)
def test_order_of_steps_holds_each_token_once(lengths: list[int]) -> None:
    chains = pack_chains(numpy.array(lengths, dtype="int32"))
    assert sorted(chains.order.tolist()) == list(range(sum(lengths)))
    assert {array.dtype for array in chains} == {numpy.dtype("int64")}


def test_chains_of_equal_length_stay_in_their_order() -> None:
    chains = pack_chains(numpy.array([2, 0, 3, 1, 3]))
    assert chains.order.tolist() == [2, 6, 0, 5, 3, 7, 1, 4, 8]
