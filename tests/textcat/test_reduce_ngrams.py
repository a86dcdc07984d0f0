import numpy
import pytest
from numpy.testing import assert_allclose
from thinc.api import Model, Ops, reduce_mean, reduce_sum, to_numpy
from thinc.types import Ragged

from spacy_multihash.textcat.reduce_ngrams import reduce_ngrams

REDUCTIONS = {"sum": reduce_sum, "mean": reduce_mean}


@pytest.fixture(params=REDUCTIONS)
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


def make(kind: str) -> Model:
    return reduce_ngrams(REDUCTIONS[kind](), 3)


@pytest.mark.parametrize("lengths", [[2, 0, 3, 1], [0, 4], [1], [], [0], [0, 0]])
def test_vectors_and_gradients_equal_a_loop(ops: Ops, kind: str, lengths: list[int]) -> None:
    rng = numpy.random.default_rng(0)
    vectors = rng.normal(size=(sum(lengths), 3)).astype("float32")
    d_docs = rng.normal(size=(len(lengths), 3)).astype("float32")
    expected = numpy.zeros((len(lengths), 3))
    d_expected = numpy.zeros((sum(lengths), 3))
    start = 0
    for i, length in enumerate(lengths):
        for row in range(start, start + length):
            share = 1 / length if kind == "mean" else 1
            expected[i] += vectors[row] * share
            d_expected[row] = d_docs[i] * share
        start += length
    batch = Ragged(ops.asarray(vectors), ops.asarray1i(lengths))
    docs, backprop = make(kind).begin_update(batch)
    d_vectors = backprop(ops.asarray(d_docs))
    assert_allclose(to_numpy(docs), expected, atol=1e-6)
    assert_allclose(to_numpy(d_vectors.dataXd), d_expected, atol=1e-6)
    assert docs.shape == (len(lengths), 3)
    assert d_vectors.dataXd.shape == (sum(lengths), 3)
    assert to_numpy(d_vectors.lengths).tolist() == lengths


def test_vectors_may_be_views_of_64_bits_and_read_only(kind: str) -> None:
    model = make(kind)
    X, lengths = numpy.ones((3, 3), dtype="float32"), numpy.array([1, 2], dtype="int32")
    expected = model.predict(Ragged(X, lengths))
    other = numpy.repeat(X.astype("float64"), 2, axis=0)[::2]
    other.flags.writeable = False
    assert_allclose(model.predict(Ragged(other, lengths)), expected)
