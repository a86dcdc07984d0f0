"""Slices and values of morphology: features of which each token has one symbol."""

from typing import Any

import numpy
import pytest
import spacy
from numpy.testing import assert_allclose, assert_array_equal
from spacy.tokens import Doc
from spacy.vocab import Vocab
from thinc.api import Model, Ops, fix_random_seed, to_numpy

from spacy_multihash import (
    build_multi_hash_embed_v1,
    build_multi_weighted_hash_embed_v1,
)
from tests.helpers.features import ids_of, reference_vectors
from tests.helpers.gradients import check_param_gradients

WORDS = ["Anna", "saw", "é", "X", "DET", "Xerox", "a", "Zoë👩‍👧", "ab" * 5000, "saw", "NORM", " "]
MORPHS = ["Case=Nom|Number=Sing", "Tense=Past", "", "Case=Acc,Nom", *[""] * 8]
LEMMAS = ["Anna", "see", "", *WORDS[3:]]


def make_doc(vocab: Vocab | None = None) -> Doc:
    vocab = spacy.blank("en").vocab if vocab is None else vocab
    return Doc(vocab, words=WORDS, lemmas=LEMMAS, morphs=MORPHS)


def build(attrs: list[Any], **settings: Any) -> Model:
    given: dict[str, Any] = {"width": 4, "rows": [20] * len(attrs), "num_hashes": 2}
    return build_multi_hash_embed_v1(
        attrs=attrs, include_static_vectors=False, **(given | settings)
    )


@pytest.mark.parametrize("words", [WORDS, WORDS * 4])
def test_slices_equal_prefix_and_suffix_to_the_last_bit(ops: Ops, words: list[str]) -> None:
    vocab = spacy.blank("en").vocab
    docs = [Doc(vocab, words=words) for _ in range(2)]
    vectors = []
    for attrs in (["PREFIX", "SUFFIX"], ["ORTH[:1]", "ORTH[-3:]"]):
        fix_random_seed(1)
        model = build(attrs).initialize(X=docs)
        vectors.append(to_numpy(model.predict(docs)[0]))
    assert_array_equal(*vectors)


def test_vectors_of_all_kinds_equal_the_reference(ops: Ops) -> None:
    doc = make_doc()
    attrs = ["ORTH[:2]", "NORM", "LEMMA[-4:]", "MORPH[Case]", "ORTH[1:3]", "NORM[:-1]"]
    model = build(attrs).initialize(X=[doc])
    cases = ["Nom", "", "", "Acc,Nom", *[""] * 8]
    symbols = [
        [
            ids_of([text])
            for text in (
                token.orth_[:2],
                token.norm_,
                token.lemma_[-4:],
                case,
                token.orth_[1:3],
                token.norm_[:-1],
            )
        ]
        for token, case in zip(doc, cases, strict=True)
    ]
    expected = reference_vectors(model, doc, symbols, 2)
    assert_allclose(to_numpy(model.predict([doc])[0]), expected, atol=1e-5)


def test_tokens_that_differ_in_a_base_are_not_one() -> None:
    vocab = Vocab()
    docs = [
        Doc(vocab, words=["x"] * 40, morphs=["Case=Nom"] * 20 + ["Case=Acc"] * 20),
        Doc(vocab, words=["x"] * 40, lemmas=["a"] * 20 + ["b"] * 20),
    ]
    model = build(["MORPH[Case]", "LEMMA[:1]"]).initialize(X=docs)
    for vectors in model.predict(docs):
        assert abs(vectors[0] - vectors[39]).max() > 0.01
        assert_array_equal(vectors[0], vectors[19])
        assert_array_equal(vectors[20], vectors[39])


def test_nodes_are_those_of_attributes() -> None:
    features, attrs = build(["ORTH[:2]", "MORPH[Case]"]), build(["NORM", "SHAPE"])
    assert [n.name for n in features.walk()] == [n.name for n in attrs.walk()]
    assert "reduce" not in features.attrs


BUILDERS: dict[str, Any] = {
    "hash": lambda attrs: build(attrs),
    "weighted": lambda attrs: build_multi_weighted_hash_embed_v1(
        4, attrs, [20] * len(attrs), False, importance_rows=[9] * len(attrs)
    ),
}


@pytest.mark.parametrize("kind", BUILDERS)
def test_gradients_equal_central_differences(kind: str) -> None:
    doc, rng = make_doc(), numpy.random.default_rng(2)  # no step crosses a kink of maxout
    model = BUILDERS[kind](["ORTH[:2]", "MORPH[Case]"]).initialize(X=[doc])
    for node in model.walk():
        if "E" in node.param_names:
            values = rng.normal(size=node.get_param("E").shape)
            node.set_param("E", values.astype("float32"))
    check_param_gradients(
        model, [doc], lambda vectors: vectors[0], eps=1e-3, atol=1e-2, wrap=lambda d: [d]
    )


def test_docs_of_several_vocabs_in_a_batch_are_refused() -> None:
    docs = [Doc(Vocab(), words=[word]) for word in ("one", "other")]
    model = build(["ORTH[:2]"]).initialize(X=docs[:1])
    with pytest.raises(ValueError, match="The vocab of a batch has no string .* of one vocab"):
        model.predict(docs)
