"""Features that have one value in training are pointed out."""

from collections.abc import Callable, Iterator
from typing import Any

import pytest
import spacy
from spacy.tokens import Doc, Token

from spacy_multihash.embed.architectures import build_multi_hash_embed_v1
from spacy_multihash.textcat.architectures import build_textcat_hash_embed_v1

WORDS = ["Anna", "met", "Bob", "in", "Rome"] * 50


@pytest.fixture(autouse=True)
def _extension() -> Iterator[None]:
    Token.set_extension("gazetteer", default=False)
    yield
    Token.remove_extension("gazetteer")


def annotated() -> Doc:
    doc = Doc(spacy.blank("en").vocab, words=WORDS)
    for token in doc:
        token.tag_ = token.pos_ = "NOUN" if token.i % 2 else "VERB"
        token.lemma_ = token.text.lower()
        morph = "Case=Nom" if token.i % 2 else "Case=Acc"
        token.set_morph(morph)  # type: ignore[attr-defined]
        token._.gazetteer = bool(token.i % 2)
    return doc


def train(attr: str, doc: Any) -> None:
    model = build_multi_hash_embed_v1(8, ["SHAPE", attr], [50, 50], False)
    model.initialize(X=[doc])
    for _ in range(5):
        model([doc, doc], is_train=True)


FEATURES = ["TAG", "POS", "LEMMA", "LEMMA[:2]", "MORPH", "MORPH[Case]", "_.gazetteer"]


@pytest.mark.parametrize("attr", [*FEATURES, "DEP", "ENT_TYPE"])
def test_feature_that_no_component_sets_is_named(attr: str, messages: Callable[[], str]) -> None:
    train(attr, Doc(spacy.blank("en").vocab, words=WORDS))
    (message,) = set(messages().splitlines())
    assert f"The feature {attr} has the same value" in message
    assert "annotating_components" in message


@pytest.mark.parametrize("attr", [*FEATURES, "LIKE_URL"])
def test_feature_that_a_component_sets_is_not(attr: str, messages: Callable[[], str]) -> None:
    train(attr, annotated())
    assert messages() == ""


def test_ngrams_of_texts_look_too(messages: Callable[[], str]) -> None:
    doc = Doc(spacy.blank("en").vocab, words=WORDS)
    model = build_textcat_hash_embed_v1(True, rows=50, attr="LEMMA", nO=2)
    model.initialize(X=[doc])
    model([doc] * 4, is_train=True)
    assert "The feature LEMMA has" in messages()
