"""From docs to n-grams."""

import numpy
from spacy.tokens import Doc
from spacy.vocab import Vocab
from thinc.api import Model, Ops, to_numpy

from spacy_multihash.compute.ops import operations
from spacy_multihash.textcat.ngrams import extract_ngrams

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
    ids = numpy.array([7, 8, 9], "uint64")
    hashed, _ = operations(ids).hash_ngrams(ids, numpy.array([3], "int32"), [1, 2])
    assert to_numpy(ngrams.dataXd).tolist() == [*hashed.tolist(), 7]
    assert to_numpy(ngrams.lengths).tolist() == [5, 0, 1]
    assert ngrams.dataXd.dtype == "uint64"
    assert ngrams.lengths.dtype == "int32"


def test_spans_have_the_ngrams_of_their_tokens() -> None:
    doc = Doc(Vocab(), words=["one", "apple", "two", "apple"])
    of_span, of_doc = (make(1, 2).predict([each]) for each in (doc[1:4], doc[1:4].as_doc()))
    assert of_span.lengths.tolist() == of_doc.lengths.tolist() == [5]
    assert of_span.dataXd.tolist() == of_doc.dataXd.tolist()
