"""The compiled decoder, against its twin in arrays."""

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal

from spacy_multihash.compute.dispatch import available_kernels, use_kernels
from tests.ner.tagger.test_decode import Batch, Decoder, batches, constrained, crf, random_batch

pytestmark = pytest.mark.skipif(available_kernels() == ["none"], reason="needs the kernels")


def decode_with(kernels: str, decode: Decoder, batch: Batch) -> numpy.ndarray:
    former = use_kernels(kernels)
    try:
        return decode(batch)
    finally:
        use_kernels(former)


@pytest.mark.parametrize("decode", [constrained, crf])
@given(batch=batches(st.integers(0, 3), max_tokens=12))
def test_all_kernels_find_the_same_tags(decode: Decoder, batch: Batch) -> None:
    expected = decode_with("none", decode, batch)
    for kernels in available_kernels():
        assert_array_equal(decode_with(kernels, decode, batch), expected)


@pytest.mark.parametrize("decode", [constrained, crf])
def test_labels_without_examples_are_never_best(decode: Decoder) -> None:
    batch = random_batch([30, 1, 8], 4 * 3 + 1)
    batch.scores[:, 2::3] = -numpy.inf  # of one label
    tags = decode_with(available_kernels()[0], decode, batch)
    assert_array_equal(tags, decode_with("none", decode, batch))
    assert numpy.isfinite(batch.scores[numpy.arange(len(tags)), tags]).all()
