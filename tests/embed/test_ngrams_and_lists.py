"""Features of which a token may have several symbols, in whole models."""

from collections.abc import Callable, Iterator
from typing import Any

import numpy
import pytest
import spacy
from numpy.testing import assert_allclose, assert_array_equal
from spacy.tokens import Doc, Token
from spacy.vocab import Vocab
from thinc.api import Model, Ops, to_numpy

from spacy_multihash import (
    Table,
    Tables,
    build_multi_embed_v1,
    build_multi_hash_embed_v1,
    build_multi_weighted_hash_embed_v1,
    set_tables,
)
from tests.helpers.features import ids_of, ngrams, reference_vectors
from tests.helpers.gradients import check_param_gradients

LISTS: list[Any] = [["person", "place"], "person", [], None, {1, 2}, ["a", "a"]]
WORDS = ["Banana", "a", "ab", "Ÿ👩‍👧", "anana", "Banana"]
ATTRS = ["LOWER{2,4}", "NORM", "_.kinds", "ORTH[:1]"]


@pytest.fixture(autouse=True)
def _extension() -> Iterator[None]:
    Token.set_extension("kinds", default=None)
    yield
    Token.remove_extension("kinds")


def make_doc() -> Doc:
    doc = Doc(spacy.blank("en").vocab, words=WORDS, lemmas=["", *WORDS[1:]])
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
        ]
        for token, kinds in zip(doc, texts, strict=True)
    ]


def build_hash(attrs: list[Any] = ATTRS, **settings: Any) -> Model:
    given: dict[str, Any] = {"width": 4, "rows": [20] * len(attrs), "num_hashes": 2}
    return build_multi_hash_embed_v1(
        attrs=attrs, include_static_vectors=False, **(given | settings)
    )


def build_weighted(attrs: list[Any] = ATTRS, **settings: Any) -> Model:
    given: dict[str, Any] = {"rows": [20] * len(attrs), "importance_rows": [9] * len(attrs)}
    return build_multi_weighted_hash_embed_v1(
        4, attrs, include_static_vectors=False, **(given | settings)
    )


def build_lookup(attrs: list[Any] = ATTRS, **settings: Any) -> Model:
    model = build_multi_embed_v1(4, attrs, False, **settings)
    columns = zip(*symbols_of(make_doc(), True), strict=True)
    keys = [sorted({id_ for token in column for id_ in token}) for column in columns]
    set_tables(
        model,
        Tables(
            {
                name: Table(numpy.array(ids, "uint64"), numpy.ones(len(ids), "uint64"))
                for name, ids in zip(attrs, keys, strict=True)
            }
        ),
    )
    return model


BUILDERS: dict[str, Callable[..., Model]] = {
    "hash": build_hash,
    "weighted": build_weighted,
    "lookup": build_lookup,
}


def randomize(model: Model, seed: int = 0) -> Model:
    rng = numpy.random.default_rng(seed)
    for node in model.walk():
        if "E" in node.param_names:
            values = rng.normal(size=node.get_param("E").shape).astype("float32")
            node.set_param("E", model.ops.asarray(values))
    return model


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


def test_equal_lists_in_another_order_are_one_type() -> None:
    vocab = Vocab()
    docs = [Doc(vocab, words=["x"] * 40) for _ in range(2)]
    for i, token in enumerate(docs[0]):
        token._.kinds = ["a", "b"] if i % 2 else ["b", "a"]
    for token in docs[1]:
        token._.kinds = ["a", "c"]
    model = build_hash(["_.kinds"]).initialize(X=docs)
    first, second = model.predict(docs)
    assert (first == first[0]).all()
    assert abs(first[0] - second[0]).max() > 0.01


@pytest.mark.parametrize("kind", BUILDERS)
def test_gradients_equal_central_differences(kind: str) -> None:
    doc = make_doc()
    model = randomize(BUILDERS[kind]().initialize(X=[doc]), seed=1)
    check_param_gradients(
        model, [doc], lambda vectors: vectors[0], eps=1e-3, atol=1e-2, wrap=lambda d: [d]
    )


def test_node_names_are_stable() -> None:
    model = build_hash(["NORM", "LOWER{3,5}"])
    assert [node.name for node in model.walk()] == [
        "multi_hash_embed",
        "with_token_types",
        "dropout",
        "ragged2list",
        "embed_columns>>with_array(maxout_norm)",
        "embed_columns",
        "with_array(maxout_norm)",
        "multi_embed",
        "maxout_norm",
        "hash_rows>>table_embed",
        "embed_bags",
        "hash_rows",
        "table_embed",
        "hash_rows>>table_embed",
        "hash_rows",
        "table_embed",
    ]


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"reduce": "mean"}, r"reduce = .'mean', None, .*trained with reduce = .'sum', None, "),
        ({"count_repeats": False}, r"count_repeats = .False, None.* with count_repeats = .True, "),
        ({"attrs": ["LOWER{2,5}", *ATTRS[1:]]}, r"attrs = .'LOWER\{2,5\}'"),
    ],
)
def test_weights_of_other_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    data = build_hash().initialize(X=[make_doc()]).to_bytes()
    with pytest.raises(ValueError, match=message):
        build_hash(**settings).from_bytes(data)


@pytest.mark.parametrize("texts", [["", ""], []])
@pytest.mark.parametrize("kind", BUILDERS)
def test_docs_without_tokens(kind: str, texts: list[str]) -> None:
    nlp = spacy.blank("en")
    model = BUILDERS[kind]().initialize(X=[make_doc()])
    vectors, backprop = model.begin_update([nlp.make_doc(text) for text in texts])
    assert [each.shape for each in vectors] == [(0, 4)] * len(texts)
    assert backprop(vectors) == []


def test_static_vectors_beside_ngrams() -> None:
    nlp = spacy.blank("en")
    nlp.vocab.reset_vectors(width=3)
    nlp.vocab.set_vector("saw", numpy.ones(3, dtype="float32"))
    doc = Doc(nlp.vocab, words=["saw", "Saw"] * 20)
    model = build_multi_hash_embed_v1(4, ["LOWER{3,5}"], [9], True).initialize(X=[doc])
    vectors, backprop = model.begin_update([doc])
    assert_array_equal(vectors[0][2], vectors[0][0])
    assert abs(vectors[0][1] - vectors[0][0]).max() > 0.01  # only one has a static vector
    assert backprop(vectors) == []
