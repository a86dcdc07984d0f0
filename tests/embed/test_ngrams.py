"""From docs to n-grams, and from the vectors of n-grams to those of docs."""

import numpy
import pytest
from numpy.testing import assert_allclose
from spacy.tokens import Doc
from spacy.vocab import Vocab
from thinc.api import Model, Ops, reduce_mean, reduce_sum, to_numpy
from thinc.types import Ragged

from spacy_multihash.compute.hashing import hash_ngrams
from spacy_multihash.embed.ngrams import extract_ngrams, reduce_ngrams

LOWER, SHAPE = 66, 67


class Tokens:
    """A stand-in for a Doc, with one attribute."""

    vocab = None

    def __init__(self, attr: int, ids: list[int]) -> None:
        self.attr, self.ids = attr, ids

    def __len__(self) -> int:
        return len(self.ids)

    def to_array(self, attrs: list[int], /) -> numpy.ndarray:
        assert attrs == [self.attr]
        return numpy.array(self.ids, dtype="uint64")


def make(*orders: int, attr: int = LOWER) -> Model:
    return extract_ngrams(attr, orders, attr_name="LOWER")


def test_extract_ngrams_of_the_attribute_with_lengths(ops: Ops) -> None:
    docs = [Tokens(SHAPE, ids) for ids in ([7, 8, 9], [], [7])]
    ngrams = make(1, 2, attr=SHAPE).predict(docs)
    hashed, _ = hash_ngrams(numpy.array([7, 8, 9], "uint64"), numpy.array([3], "int32"), [1, 2])
    assert to_numpy(ngrams.dataXd).tolist() == [*hashed.tolist(), 7]
    assert to_numpy(ngrams.lengths).tolist() == [5, 0, 1]
    assert ngrams.dataXd.dtype == "uint64"
    assert ngrams.lengths.dtype == "int32"


def test_spans_have_the_ngrams_of_their_tokens() -> None:
    doc = Doc(Vocab(), words=["one", "apple", "two", "apple"])
    of_span, of_doc = (make(1, 2).predict([each]) for each in (doc[1:4], doc[1:4].as_doc()))
    assert of_span.lengths.tolist() == of_doc.lengths.tolist() == [5]
    assert of_span.dataXd.tolist() == of_doc.dataXd.tolist()


REDUCTIONS = {"sum": reduce_sum, "mean": reduce_mean}


@pytest.fixture(params=REDUCTIONS)
def kind(request: pytest.FixtureRequest) -> str:
    return request.param


def reduction(kind: str) -> Model:
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
    docs, backprop = reduction(kind).begin_update(batch)
    d_vectors = backprop(ops.asarray(d_docs))
    assert_allclose(to_numpy(docs), expected, atol=1e-6)
    assert_allclose(to_numpy(d_vectors.dataXd), d_expected, atol=1e-6)
    assert docs.shape == (len(lengths), 3)
    assert d_vectors.dataXd.shape == (sum(lengths), 3)
    assert to_numpy(d_vectors.lengths).tolist() == lengths
