from collections.abc import Callable
from typing import Any

import numpy
import pytest
import spacy
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays
from numpy.testing import assert_allclose, assert_array_equal
from spacy.attrs import NORM, PREFIX, SHAPE
from spacy.language import Language
from spacy.ml.staticvectors import StaticVectors
from spacy.tokens import Doc
from spacy.vectors import Vectors
from thinc.api import Model

from spacy_multihash import (
    Table,
    Tables,
    build_multi_embed_v1,
    build_multi_hash_embed_v1,
    set_tables,
)
from spacy_multihash.layers import drop_words
from spacy_multihash.ner.tagger.word_dropout import MaskedDoc

WORDS = ["Anna", "met", "Bob", "in", "Rome", ".", "Anna", "left"]
UNKNOWN = numpy.array([False, True, True, False, False, False, True, False])
VOCAB = spacy.blank("en").vocab


class NoString:
    """A doc of one token, all of whose attributes are those of no string."""

    def __init__(self, doc: Doc) -> None:
        self.vocab = doc.vocab

    def __len__(self) -> int:
        return 1

    def to_array(self, attrs: Any, /) -> numpy.ndarray:
        return numpy.zeros((1, len(attrs)) if isinstance(attrs, list) else 1, dtype="uint64")


@pytest.fixture
def nlp() -> Language:
    return spacy.blank("en")


@pytest.fixture
def doc(nlp: Language) -> Doc:
    return Doc(nlp.vocab, words=WORDS)


def unknown_tokens(docs: list[Any]) -> numpy.ndarray:
    """Tell which tokens of docs that went through word dropout are unknown."""
    return numpy.concatenate([doc.to_array(NORM) == 0 for doc in docs])


@pytest.mark.parametrize("rate", [0.1, 0.5, 0.9])
def test_word_dropout_takes_its_share_of_tokens_in_all_docs(nlp: Language, rate: float) -> None:
    docs = [Doc(nlp.vocab, words=WORDS * 500), Doc(nlp.vocab, words=WORDS * 500)]
    first, second = (unknown_tokens([doc]) for doc in drop_words(docs, rate))
    for unknown in (first, second):
        assert abs(unknown.mean() - rate) < 0.03
    assert (first != second).any()


def test_word_dropout_of_no_tokens_gives_the_docs_themselves(doc: Doc) -> None:
    docs = [doc]
    assert drop_words(docs, 0.0) is docs


def test_word_dropout_is_repeated_by_the_seed(doc: Doc) -> None:
    drawn = []
    for seed in (3, 3, 4):
        numpy.random.seed(seed)
        drawn.append(unknown_tokens(drop_words([doc] * 20, 0.4)).tolist())
    assert drawn[0] == drawn[1] != drawn[2]


def test_word_dropout_draws_anew_each_time(doc: Doc) -> None:
    first, second = (unknown_tokens(drop_words([doc] * 20, 0.4)).tolist() for _ in range(2))
    assert first != second


def test_word_dropout_takes_all_attributes_of_a_token_at_once(nlp: Language) -> None:
    doc = Doc(nlp.vocab, words=WORDS * 20)
    (masked,) = drop_words([doc], 0.5)
    ids = masked.to_array([NORM, PREFIX, SHAPE])
    unknown = (ids == 0).all(axis=1)
    assert_array_equal((ids == 0).any(axis=1), unknown)
    for attr in (NORM, PREFIX, SHAPE):  # and the same ones whenever it is asked
        assert_array_equal(masked.to_array(attr) == 0, unknown)


def test_word_dropout_takes_docs_without_tokens(nlp: Language, doc: Doc) -> None:
    empty, other = drop_words([Doc(nlp.vocab), doc], 0.5)
    assert (len(empty), len(other)) == (0, len(WORDS))
    assert empty.to_array(NORM).shape == (0,)
    assert empty.to_array([NORM, SHAPE]).shape == (0, 2)
    assert drop_words([], 0.5) == []


@pytest.mark.parametrize("attrs", [NORM, "NORM", [NORM], [NORM, PREFIX, SHAPE]])
@given(unknown=arrays.arrays(bool, len(WORDS)))
def test_attributes_of_unknown_tokens_are_0_and_those_of_others_stay(
    attrs: Any, unknown: numpy.ndarray
) -> None:
    doc = Doc(VOCAB, words=WORDS)
    before = doc.to_array(attrs)
    ids = MaskedDoc(doc, unknown).to_array(attrs)
    assert ids.shape == before.shape and ids.dtype == "uint64"
    for i in range(len(WORDS)):
        assert_array_equal(ids[i], 0 * before[i] if unknown[i] else before[i])
    assert_array_equal(doc.to_array(attrs), before)  # the doc is not changed


def test_a_masked_doc_has_the_length_and_the_vocab_of_its_doc(doc: Doc) -> None:
    masked = MaskedDoc(doc, UNKNOWN)
    assert len(masked) == len(doc)
    assert masked.vocab is doc.vocab


@pytest.mark.parametrize(
    ("ask", "error", "asked"),
    [
        (lambda doc: doc.tensor, AttributeError, "tensor"),
        (list, TypeError, "its tokens"),
        (lambda doc: doc[0], TypeError, r"\[0\]"),
    ],
)
def test_what_a_masked_doc_lacks_is_refused(
    doc: Doc, ask: Callable[[Any], object], error: type[Exception], asked: str
) -> None:
    with pytest.raises(error, match=f"it asked for '{asked}'. Set word_dropout = 0.0"):
        ask(MaskedDoc(doc, UNKNOWN))


def embed_masked(model: Model, doc: Doc) -> numpy.ndarray:
    """Embed with some tokens unknown, and check those that are not."""
    (plain,), (vectors,) = model.predict([doc]), model.predict([MaskedDoc(doc, UNKNOWN)])
    assert_allclose(vectors[~UNKNOWN], plain[~UNKNOWN], atol=1e-5)
    assert (abs(vectors - plain)[UNKNOWN].max(axis=1) > 0.01).all()
    return vectors[UNKNOWN]


@pytest.mark.parametrize("attrs", [["NORM"], ["NORM", "PREFIX", "SHAPE"]])
def test_unknown_tokens_are_hashed_as_one_more_symbol(doc: Doc, attrs: list[str]) -> None:
    model = build_multi_hash_embed_v1(8, attrs, [50] * len(attrs), False).initialize(X=[doc])
    (expected,) = model.predict([NoString(doc)])
    for vector in embed_masked(model, doc):
        assert_allclose(vector, expected[0], atol=1e-5)


def test_unknown_tokens_are_looked_up_as_symbols_that_are_not_in_the_table(
    nlp: Language, doc: Doc
) -> None:
    keys = numpy.unique(doc.to_array(NORM))
    model = build_multi_embed_v1(8, ["NORM"], False)
    set_tables(model, Tables({"NORM": Table(keys, numpy.ones(len(keys), dtype="uint64"))}))
    model.initialize(X=[doc])
    (expected,) = model.predict([Doc(nlp.vocab, words=["Copenhagen"])])
    for vector in embed_masked(model, doc):
        assert_allclose(vector, expected[0], atol=1e-5)


def table_of_vectors() -> Vectors:
    rng = numpy.random.default_rng(0)
    words = sorted(set(WORDS))
    return Vectors(data=rng.normal(size=(len(words), 5)).astype("float32"), keys=words)


def floret_vectors() -> Vectors:
    data = numpy.random.default_rng(0).normal(size=(10, 5)).astype("float32")
    return Vectors(mode="floret", data=data, minn=2, maxn=3)


@pytest.fixture(params=[table_of_vectors, floret_vectors])
def with_vectors(request: pytest.FixtureRequest, doc: Doc) -> Doc:
    doc.vocab.vectors = request.param()
    return doc


def test_unknown_tokens_have_zeros_for_a_static_vector(with_vectors: Doc) -> None:
    model = StaticVectors(4).initialize(X=[with_vectors])
    vectors = model.predict([MaskedDoc(with_vectors, UNKNOWN)]).data
    assert not vectors[UNKNOWN].any()
    assert vectors[~UNKNOWN].all()
    assert_array_equal(vectors[~UNKNOWN], model.predict([with_vectors]).data[~UNKNOWN])


def test_unknown_tokens_with_static_vectors_beside_hashes_have_one_vector(
    with_vectors: Doc,
) -> None:
    model = build_multi_hash_embed_v1(8, ["NORM", "SHAPE"], [50, 20], True)
    model.initialize(X=[with_vectors])
    expected, _ = model.predict([NoString(with_vectors), with_vectors])
    for vector in embed_masked(model, with_vectors):
        assert_allclose(vector, expected[0], atol=1e-5)


@settings(max_examples=20)
@given(st.lists(st.sampled_from(WORDS), max_size=50), st.integers(0, 2**32 - 1))
def test_many_tokens_are_embedded_as_each_by_itself(words: list[str], seed: int) -> None:
    # Distinct tokens of a batch are embedded once, if there are many: known ones and unknown ones
    sample = Doc(VOCAB, words=WORDS)
    model = build_multi_hash_embed_v1(4, ["NORM", "SHAPE"], [50, 20], False)
    model.initialize(X=[sample])
    unknown = numpy.random.default_rng(seed).random(len(words)) < 0.4
    (vectors,) = model.predict([MaskedDoc(Doc(VOCAB, words=words), unknown)])
    (no_string,) = model.predict([NoString(sample)])
    for word, is_unknown, vector in zip(words, unknown, vectors, strict=True):
        alone = no_string if is_unknown else model.predict([Doc(VOCAB, words=[word])])[0]
        assert_allclose(vector, alone[0], atol=1e-5)
