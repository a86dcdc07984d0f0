import numpy
import pytest
from spacy.tokens import Doc
from spacy.vocab import Vocab
from thinc.api import Model, Ops, to_numpy

from spacy_multihash.compute.hashing import hash_ngrams
from spacy_multihash.embed.extract_ngrams import extract_ngrams, ngram_name

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


def test_batch_equals_one_by_one() -> None:
    docs = [Tokens(LOWER, ids) for ids in ([7, 8, 9], [], [7], [1, 2, 3, 4, 5])]
    model = make(2, 3)
    alone = [model.predict([doc]).dataXd.tolist() for doc in docs]
    assert model.predict(docs).dataXd.tolist() == sum(alone, [])


def test_spans_have_the_ngrams_of_their_tokens() -> None:
    doc = Doc(Vocab(), words=["one", "apple", "two", "apple"])
    of_span, of_doc = (make(1, 2).predict([each]) for each in (doc[1:4], doc[1:4].as_doc()))
    assert of_span.lengths.tolist() == of_doc.lengths.tolist() == [5]
    assert of_span.dataXd.tolist() == of_doc.dataXd.tolist()


def test_orders_are_taken_in_any_order() -> None:
    docs = [Tokens(LOWER, [1, 2, 3, 4])]
    assert make(3, 1).predict(docs).dataXd.tolist() == make(1, 3).predict(docs).dataXd.tolist()
    assert ngram_name("LOWER", [3, 1]) == ngram_name("LOWER", [1, 3]) == "LOWER[1,3]"


@pytest.mark.parametrize("docs", [[], [[]], [[], []], [[1], []]])
def test_nothing_to_extract(ops: Ops, docs: list[list[int]]) -> None:
    ngrams, backprop = make(2).begin_update([Tokens(LOWER, ids) for ids in docs])
    assert ngrams.dataXd.shape == (0,)
    assert ngrams.dataXd.dtype == "uint64"
    assert to_numpy(ngrams.lengths).tolist() == [0] * len(docs)
    assert backprop(ngrams) == []


@pytest.mark.parametrize("orders", [[], [0], [11], [1, -2], [2, 2]])
def test_bad_orders_are_refused(orders: list[int]) -> None:
    with pytest.raises(ValueError, match="of LOWER: ngram_orders must be one or more different"):
        make(*orders)


def test_weights_of_other_orders_are_refused() -> None:
    with pytest.raises(ValueError, match=r"orders = \[1, 2\].* orders = \[1, 3\]"):
        make(1, 2).from_bytes(make(1, 3).to_bytes())


def test_weights_of_another_attribute_are_refused() -> None:
    with pytest.raises(ValueError, match="of LOWER: it was built with attr"):
        make(1).from_bytes(extract_ngrams(SHAPE, [1], attr_name="SHAPE").to_bytes())
