"""Docs with unknown symbols, for layers that embed attributes."""

from collections.abc import Iterator
from typing import Any

import numpy
import pytest
import spacy
from numpy.testing import assert_allclose, assert_array_equal
from spacy.attrs import LOWER, NORM, ORTH, SHAPE
from spacy.language import Language
from spacy.tokens import Doc, Token
from thinc.api import Model

from spacy_multihash import count_symbols, make_tables, set_tables
from spacy_multihash.embed.architectures import build_multi_embed_v1, build_multi_hash_embed_v1
from spacy_multihash.embed.features import attr_id
from spacy_multihash.embed.features import parse_feature as parse
from spacy_multihash.embed.unique_tokens import find_unique
from spacy_multihash.inspection.unknown import UnknownSymbols, features_of
from tests.helpers.several_vectors import floret_of, vectors_of

WORDS = ["Anna", "met", "Bob", "met", "Anna"]
ATTRS = ["NORM", "SHAPE"]


@pytest.fixture
def nlp() -> Language:
    return spacy.blank("en")


def embed(model: Model, doc: Any) -> numpy.ndarray:
    (vectors,) = model.predict([doc])
    return numpy.asarray(vectors)


def assert_close(found: numpy.ndarray, expected: numpy.ndarray) -> None:
    assert_allclose(found, expected, rtol=1e-3, atol=1e-6)


def test_symbols_of_some_tokens_are_unknown_and_all_else_is_the_docs(nlp: Language) -> None:
    doc = Doc(nlp.vocab, words=WORDS)
    before = doc.to_array([NORM, SHAPE])
    found = UnknownSymbols(doc, {NORM: numpy.array([1, 4])})
    ids = found.to_array([SHAPE, NORM])
    known = [0, 2, 3]
    assert_array_equal(ids[:, 0], before[:, 1])
    assert_array_equal(ids[known, 1], before[known, 0])
    assert ids[1, 1] == ids[4, 1] and ids[1, 1] not in before
    assert ids.dtype == before.dtype == "uint64"
    assert_array_equal(found.to_array(NORM), ids[:, 1])
    assert_array_equal(found.to_array([NORM]), ids[:, 1])  # as a Doc gives it
    assert_array_equal(doc.to_array([NORM, SHAPE]), before)
    assert len(found) == 5 and found.vocab is nlp.vocab and found.text == doc.text


def test_embedding_takes_them_for_words_that_it_does_not_know(nlp: Language) -> None:
    model = build_multi_embed_v1(8, ATTRS, False)
    doc = Doc(nlp.vocab, words=WORDS)
    counts = count_symbols([doc], {name: attr_id(name) for name in ATTRS})
    set_tables(model, make_tables(counts, min_freq=1))
    model.initialize(X=[doc])
    found = embed(model, UnknownSymbols(doc, {NORM: numpy.array([0, 1])}))
    other = embed(model, Doc(nlp.vocab, words=["Elsa", "saw", "Bob", "met", "Anna"]))
    assert_close(found, other)  # with the same shapes
    assert (found[0] != embed(model, doc)[0]).any()


@pytest.mark.parametrize("draws", [(0, 0), (0, 1)])
def test_hashing_takes_each_draw_for_another_symbol(nlp: Language, draws: tuple[int, int]) -> None:
    doc = Doc(nlp.vocab, words=WORDS)
    model = build_multi_hash_embed_v1(8, [*ATTRS, "NORM{2,3}"], [50, 20, 97], False)
    model.initialize(X=[doc])
    here = numpy.arange(5)
    for attr in (NORM, "NORM{2,3}"):
        found = [embed(model, UnknownSymbols(doc, {attr: here}, draw)) for draw in draws]
        assert numpy.allclose(found[0], found[1], atol=1e-5) == (draws[0] == draws[1])
    unknown = dict.fromkeys((NORM, SHAPE, "NORM{2,3}"), here)
    whole = embed(model, UnknownSymbols(doc, unknown, draws[1]))
    assert_close(whole, numpy.repeat(whole[:1], 5, axis=0))


def spacy_embed(**settings: Any) -> Model:
    build = spacy.registry.architectures.get("spacy.MultiHashEmbed.v2")
    return build(**{"width": 8, "attrs": ATTRS, "rows": [50, 20], **settings})


@pytest.mark.parametrize("build", [spacy_embed, build_multi_hash_embed_v1])
def test_features_of_a_model_are_found(nlp: Language, build: Any) -> None:
    settings = {"width": 8, "attrs": ATTRS, "rows": [50, 20]}
    plain = build(include_static_vectors=False, **settings)
    assert features_of(plain, nlp.vocab) == {"NORM": NORM, "SHAPE": SHAPE}
    both = build(include_static_vectors=True, **settings)
    assert features_of(both, nlp.vocab) == {"NORM": NORM, "SHAPE": SHAPE, "vector": ORTH}
    settings["attrs"] = ["ORTH", "SHAPE"]
    shared = build(include_static_vectors=True, **settings)
    assert features_of(shared, nlp.vocab) == {"ORTH": ORTH, "SHAPE": SHAPE}
    assert features_of(plain.layers[-1], nlp.vocab) == {}


def lookup_embed(**settings: Any) -> Model:
    model = build_multi_embed_v1(**{key: settings[key] for key in settings if key != "rows"})
    doc = Doc(spacy.blank("en").vocab, words=WORDS)
    set_tables(model, make_tables(count_symbols([doc], {"SHAPE": SHAPE}), min_freq=1))
    return model


@pytest.mark.parametrize(
    ("build", "mode"),
    [
        (spacy_embed, "words"),
        (build_multi_hash_embed_v1, "words"),
        (build_multi_hash_embed_v1, "floret"),
        (lookup_embed, "floret"),
    ],
)
def test_an_unknown_word_has_no_vector(nlp: Language, build: Any, mode: str) -> None:
    nlp.vocab.vectors = vectors_of(nlp, WORDS, 3) if mode == "words" else floret_of(nlp, 3)
    doc = Doc(nlp.vocab, words=WORDS * 10)  # more than a few, of which some are equal
    model = build(width=8, attrs=["SHAPE"], rows=[50], include_static_vectors=True)
    model.initialize(X=[doc])
    known = embed(model, doc)
    found = embed(model, UnknownSymbols(doc, {ORTH: numpy.array([0, 7])}))
    nlp.vocab.vectors.data[:] = 0
    without = embed(model, doc)
    assert_close(found[[0, 7]], without[[0, 7]])
    assert_close(numpy.delete(found, [0, 7], axis=0), numpy.delete(known, [0, 7], axis=0))
    assert (known[0] != without[0]).any()


@pytest.mark.parametrize("repeats", [1, 10])
@pytest.mark.parametrize(
    ("attr", "names"),
    [(NORM, ["NORM[:2]", "NORM{2,3}"]), (ORTH, ["ORTH[-2:]", "LOWER[:2]"]), (LOWER, ["LOWER[:2]"])],
)
def test_features_are_cut_from_an_attribute_that_is_unknown_itself(
    nlp: Language, attr: int, names: list[str], repeats: int
) -> None:
    doc = Doc(nlp.vocab, words=WORDS * repeats)
    features = {name: feature for name in names if (feature := parse(name))}
    expected, of_doc = find_unique([doc], [attr], features)
    docs: list[Any] = [UnknownSymbols(doc, {attr: numpy.array([0])}), doc]
    types, type_of = find_unique(docs, [attr], features)
    ids = types.to_array([attr])[type_of]
    assert ids[0] != ids[len(doc)] and (ids[1 : len(doc)] == ids[len(doc) + 1 :]).all()
    for name in names:
        (symbols, lengths), (others, sizes) = types.bags(name), expected.bags(name)
        bags = numpy.split(symbols, lengths.cumsum()[:-1])
        same = numpy.split(others, sizes.cumsum()[:-1])
        for i, kind in enumerate([*of_doc, *of_doc]):
            assert_array_equal(bags[type_of[i]], same[kind])


FEATURES = ["ORTH[:2]", "LOWER[-3:]", "NORM{2,3}", "_.place", "SHAPE"]


@pytest.fixture
def _place() -> Iterator[None]:
    Token.set_extension("place", getter=lambda token: [token.text, len(token.text)])
    yield
    Token.remove_extension("place")


@pytest.mark.usefixtures("_place")
@pytest.mark.parametrize("repeats", [1, 10])  # few tokens, and more, of which some are equal
def test_features_beyond_attributes_are_unknown_one_by_one(nlp: Language, repeats: int) -> None:
    doc = Doc(nlp.vocab, words=WORDS * repeats)
    model = build_multi_hash_embed_v1(8, FEATURES, [97] * 5, False, num_hashes=2)
    model.initialize(X=[doc])
    assert features_of(model, nlp.vocab) == {**{n: n for n in FEATURES[:-1]}, "SHAPE": SHAPE}
    known = embed(model, doc)
    changed = {}
    for name in FEATURES[:-1]:
        found = embed(model, UnknownSymbols(doc, {name: numpy.array([1])}))
        assert_close(numpy.delete(found, 1, axis=0), numpy.delete(known, 1, axis=0))
        assert not numpy.allclose(found[1], known[1], atol=1e-4)
        changed[name] = found[1]
    assert len({vector.tobytes() for vector in changed.values()}) == len(changed)
