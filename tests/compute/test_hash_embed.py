"""The kernel that embeds all hashed columns at once does what the layers do, to the last bit."""

import numpy
import pytest
from hypothesis import given
from hypothesis import strategies as st
from numpy.testing import assert_array_equal
from thinc.api import chain

from spacy_multihash.compute.dispatch import available_kernels
from spacy_multihash.layers import TableEmbed, hash_rows, multi_embed
from tests.helpers.kernels import using_kernels

pytestmark = pytest.mark.skipif(available_kernels() == ["none"], reason="needs the kernels")


@given(
    n=st.sampled_from([0, 1, 9, 700]),
    width=st.sampled_from([1, 7, 96]),
    settings=st.lists(
        st.tuples(st.integers(1, 50), st.integers(1, 16), st.integers(0, 2**32 - 1)),
        min_size=1,
        max_size=5,
    ),
)
def test_kernels_equal_the_layers(n: int, width: int, settings: list[tuple[int, int, int]]) -> None:
    rng = numpy.random.default_rng(0)
    ids = rng.integers(0, 2**64, (n, len(settings)), dtype="uint64")
    d_vectors = rng.normal(size=(n, len(settings) * width)).astype("float32")
    layers = [
        chain(hash_rows(nV, attr="NORM", num_hashes=k, seed=seed), TableEmbed(width, nV))
        for nV, k, seed in settings
    ]
    model = multi_embed(*layers).initialize()
    results = []
    for kernels in available_kernels():
        with using_kernels(kernels):
            vectors, backprop = model.begin_update(ids)
            backprop(d_vectors)
            results.append([vectors])
            for layer in layers:
                results[-1].append(layer.layers[1].get_grad("E").copy())
                layer.layers[1].get_grad("E").fill(0)
    for result in results[:-1]:
        assert_array_equal(result[0], results[-1][0])
        for found, expected in zip(result[1:], results[-1][1:], strict=True):
            # Up to 7,000 gradients are added to a row, in another order
            atol = 1e-4 + 1e-5 * abs(expected).max()
            numpy.testing.assert_allclose(found, expected, rtol=1e-4, atol=atol)
