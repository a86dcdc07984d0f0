"""Hashes of strings."""

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from hypothesis.extra.numpy import arrays

from spacy_multihash.common.hashes import is_among

LARGEST = 2**64 - 1
HASHES = st.one_of(st.integers(0, 3), st.integers(LARGEST - 3, LARGEST), st.integers(0, LARGEST))
ARRAYS = arrays("uint64", st.integers(0, 9), elements=HASHES)


@given(ARRAYS, ARRAYS)
def test_hashes_among_others_are_told(hashes: numpy.ndarray, others: numpy.ndarray) -> None:
    assert is_among(hashes, others).tolist() == [one in others.tolist() for one in hashes.tolist()]


@pytest.mark.parametrize("other", [0, 2**63, LARGEST])
def test_one_hash_may_be_large(other: int) -> None:
    others = numpy.array([other], dtype="uint64")
    assert is_among(others, others).all()
    assert not is_among(others ^ numpy.uint64(1), others).any()
