"""Features beyond spaCy's attributes, in whole models."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import spacy
from numpy.testing import assert_allclose, assert_array_equal
from spacy.tokens import Doc, Token
from spacy.vocab import Vocab
from thinc.api import Model, Ops, fix_random_seed, set_dropout_rate, to_numpy

from spacy_multihash import (
    build_multi_embed_v1,
    build_multi_hash_embed_v1,
    build_multi_weighted_hash_embed_v1,
    set_tables,
)
from spacy_multihash.tables.set_tables import count_tables
from spacy_multihash.textcat.architectures import build_textcat_hash_embed_v1
from tests.helpers.features import ids_of, ngrams, reference_vectors
from tests.helpers.weights import check_param_gradients, randomize

LISTS: list[Any] = [["person", "place"], "person", [], None, {1, 2}, ["a", "a"]]
WORDS = ["Banana", "a", "ab", "Ÿ👩‍👧", "anana", "Banana"]
CASES = ["Nom", "", "Acc,Nom", "", "", ""]
ATTRS = ["LOWER{2,4}", "NORM", "_.kinds", "ORTH[:1]", "LEMMA[-3:]", "MORPH[Case]"]


@pytest.fixture(autouse=True)
def _extension() -> Iterator[None]:
    Token.set_extension("kinds", default=None)
    yield
    Token.remove_extension("kinds")


def make_doc() -> Doc:
    morphs = [f"Case={case}|Number=Sing" if case else "" for case in CASES]
    doc = Doc(spacy.blank("en").vocab, words=WORDS, lemmas=["", *WORDS[1:]], morphs=morphs)
    for token, value in zip(doc, LISTS, strict=True):
        token._.kinds = value
    return doc


def symbols_of(doc: Doc, repeats: bool) -> list[list[list[int]]]:
    texts = [["person", "place"], ["person"], [], ["\x1fNone"], ["\x1f1", "\x1f2"], ["a", "a"]]

    def ids(texts: list[str]) -> list[int]:
        return ids_of(texts if repeats else sorted(set(texts)))

    return [
        [
            ids(ngrams(token.text.lower(), 2, 4)),
            ids_of([token.norm_]),
            ids(kinds),
            ids_of([token.text[:1]]),
            ids_of([token.lemma_[-3:]]),
            ids_of([case]),
        ]
        for token, kinds, case in zip(doc, texts, CASES, strict=True)
    ]


def build_hash(attrs: list[Any] = ATTRS, **settings: Any) -> Model:
    rows = [8] * len(attrs)
    return build_multi_hash_embed_v1(4, attrs, rows, False, num_hashes=2, **settings)


def build_weighted() -> Model:
    sizes = {"rows": [8] * len(ATTRS), "importance_rows": [5] * len(ATTRS)}
    return build_multi_weighted_hash_embed_v1(4, ATTRS, include_static_vectors=False, **sizes)


def build_lookup() -> Model:
    model = build_multi_embed_v1(4, ATTRS, False)
    set_tables(model, count_tables([model], [make_doc()]))
    return model


BUILDERS: dict[str, Callable[..., Model]] = {
    "hash": build_hash,
    "weighted": build_weighted,
    "lookup": build_lookup,
}


@pytest.mark.parametrize("reduce", ["sum", "mean"])
@pytest.mark.parametrize("repeats", [True, False])
@pytest.mark.parametrize("times", [1, 9])  # with few tokens, all are taken as they are
def test_vectors_equal_the_reference(ops: Ops, reduce: str, repeats: bool, times: int) -> None:
    doc = make_doc()
    model = build_hash(reduce=reduce, count_repeats=repeats).initialize(X=[doc])
    symbols = symbols_of(doc, repeats)
    expected = reference_vectors(model, doc, symbols, 2, mean=reduce == "mean")
    for vectors in model.predict([doc] * times):
        assert_allclose(to_numpy(vectors), expected, atol=1e-4)


@pytest.mark.parametrize("kind", BUILDERS)
def test_gradients_equal_central_differences(kind: str) -> None:
    doc = make_doc()
    model = randomize(BUILDERS[kind]().initialize(X=[doc]))
    check_param_gradients(
        model, [doc], lambda vectors: vectors[0], eps=1e-3, atol=1e-2, wrap=lambda d: [d]
    )


@pytest.mark.parametrize("texts", [["", ""], []])
@pytest.mark.parametrize("kind", BUILDERS)
def test_docs_without_tokens(kind: str, texts: list[str]) -> None:
    model = set_dropout_rate(BUILDERS[kind]().initialize(X=[make_doc()]), 0.2)
    vectors, backprop = model.begin_update([spacy.blank("en").make_doc(text) for text in texts])
    assert [each.shape for each in vectors] == [(0, 4)] * len(texts)
    assert backprop(vectors) == []


def test_slices_equal_prefix_and_suffix_to_the_last_bit(ops: Ops) -> None:
    docs, vectors = [make_doc()] * 9, []
    for attrs in (["PREFIX", "SUFFIX"], ["ORTH[:1]", "ORTH[-3:]"]):
        fix_random_seed(1)
        vectors.append(to_numpy(build_hash(attrs).initialize(X=docs).predict(docs)[0]))
    assert_array_equal(*vectors)


def test_tokens_that_differ_in_a_base_are_not_one() -> None:
    vocab = Vocab()
    docs = [
        Doc(vocab, words=["x"] * 40, morphs=["Case=Nom"] * 20 + ["Case=Acc"] * 20),
        Doc(vocab, words=["x"] * 40, lemmas=["a"] * 20 + ["b"] * 20),
    ]
    model = build_hash(["MORPH[Case]", "LEMMA[:1]"]).initialize(X=docs)
    for vectors in model.predict(docs):
        assert abs(vectors[0] - vectors[39]).max() > 0.01
        assert_array_equal(vectors[0], vectors[19])
        assert_array_equal(vectors[20], vectors[39])


def test_docs_of_several_vocabs_in_a_batch_are_refused() -> None:
    docs = [Doc(Vocab(), words=[word]) for word in ("one", "other")]
    model = build_hash(["ORTH[:2]"]).initialize(X=docs[:1])
    with pytest.raises(ValueError, match="The vocab of a batch has no string .* of one vocab"):
        model.predict(docs)


# Features that have one value in training are pointed out

SAME = ["Anna", "met", "Bob", "in", "Rome"] * 50
FEATURES = ["TAG", "POS", "LEMMA", "LEMMA[:2]", "MORPH", "MORPH[Case]", "_.kinds"]


def annotated() -> Doc:
    doc = Doc(spacy.blank("en").vocab, words=SAME)
    for token in doc:
        token.tag_ = token.pos_ = "NOUN" if token.i % 2 else "VERB"
        token.lemma_ = token.text.lower()
        token.set_morph("Case=Nom" if token.i % 2 else "Case=Acc")  # type: ignore[attr-defined]
        token._.kinds = bool(token.i % 2)
    return doc


@pytest.mark.parametrize(
    ("attr", "is_set"),
    [(attr, is_set) for attr in FEATURES for is_set in (True, False)]
    + [("DEP", False), ("ENT_TYPE", False), ("LIKE_URL", True)],
)
def test_feature_that_no_component_sets_is_named(
    attr: str, is_set: bool, messages: Callable[[], str]
) -> None:
    doc = annotated() if is_set else Doc(spacy.blank("en").vocab, words=SAME)
    model = build_hash(["SHAPE", attr]).initialize(X=[doc])
    for _ in range(5):
        model([doc, doc], is_train=True)
    if is_set:
        assert messages() == ""
    else:
        (message,) = set(messages().splitlines())
        assert f"The feature {attr} has the same value" in message
        assert "annotating_components" in message


def test_ngrams_of_texts_look_too(messages: Callable[[], str]) -> None:
    doc = Doc(spacy.blank("en").vocab, words=SAME)
    model = build_textcat_hash_embed_v1(True, rows=50, attr="LEMMA", nO=2)
    model.initialize(X=[doc])
    model([doc] * 4, is_train=True)
    assert "The feature LEMMA has" in messages()
