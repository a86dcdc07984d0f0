"""Symbols of extension attributes: what may be a value, and what two values have in common."""

from collections.abc import Iterator
from typing import Any

import numpy
import pytest
import spacy
from spacy.strings import get_string_id
from spacy.tokens import Doc, Token
from spacy.vocab import Vocab

from spacy_multihash.embed.features import Feature, extension_texts, parse_feature, read_extension

NAME = "a_value"


@pytest.fixture(autouse=True)
def _extension() -> Iterator[None]:
    Token.set_extension(NAME, default=None)
    yield
    Token.remove_extension(NAME)


def doc_of(values: list[Any]) -> Doc:
    doc = Doc(Vocab(), words=[f"word{i}" for i in range(len(values))])
    for token, value in zip(doc, values, strict=True):
        token._.set(NAME, value)
    return doc


def parsed(name: str, **settings: bool) -> Feature:
    feature = parse_feature(name, **settings)
    assert feature is not None
    return feature


def bags_of(values: list[Any], *, repeats: bool = True) -> list[list[int]]:
    doc = doc_of(values)
    feature = parsed(f"_.{NAME}", repeats=repeats)
    values, value_of = read_extension([doc], feature, doc.vocab.strings)
    bags = [numpy.frombuffer(bag, dtype="uint64").tolist() for bag in values]
    return [bags[i] for i in value_of.tolist()]


def test_strings_have_the_ids_of_spacy() -> None:
    words = ["Rome", "", "DET", "é👩‍👧", numpy.str_("Rome")]
    assert bags_of(words) == [[get_string_id(str(word))] for word in words]


DIFFERENT = [True, False, None, 1, 1.0, -0.0, 0.0, 0, "1", "True", "None", "1.0", 2**70, "", 1e300]


def test_values_of_another_type_are_other_symbols() -> None:
    symbols = bags_of([*DIFFERENT, float("inf"), float("nan")])
    assert all(len(bag) == 1 for bag in symbols)
    assert len({bag[0] for bag in symbols}) == len(symbols)


@pytest.mark.parametrize(
    ("value", "same"),
    [
        (numpy.int64(3), 3),
        (numpy.uint8(3), 3),
        (numpy.float64(0.5), 0.5),
        (numpy.float32(0.5), 0.5),
        (numpy.bool_(True), True),
        (float("nan"), numpy.float32("nan")),
        (["b", "a"], ["a", "b"]),
        ({"a", "b"}, ["b", "a"]),
        (("a", 1), frozenset([1, "a"])),
        (["a"], "a"),
        ([], set()),
    ],
)
def test_values_that_are_one_symbol(value: object, same: object) -> None:
    first, second = bags_of([value, same])
    assert first == second


def test_lists_have_several_symbols() -> None:
    person, place = get_string_id("person"), get_string_id("place")
    values: list[Any] = [["person", "place", "person"], {"place"}, []]
    assert bags_of(values) == [sorted([person, place, person]), [place], []]
    assert bags_of(values, repeats=False) == [sorted([person, place]), [place], []]


def test_tokens_with_equal_values_share_them() -> None:
    feature = parsed(f"_.{NAME}")
    doc = doc_of(["a", "b", "a", ["a"], None])
    bags, value_of = read_extension([doc, doc_of([]), doc], feature, doc.vocab.strings)
    assert value_of.tolist() == [0, 1, 0, 0, 2] * 2
    assert value_of.dtype == "uint64"
    assert len(bags) == 3


def test_getters_are_read_and_raise_their_own_errors() -> None:
    Token.set_extension("share", getter=lambda token: 12 // (len(token.text) - 3))
    try:
        doc, feature = Doc(Vocab(), words=["three", "one"]), parsed("_.share")
        assert list(extension_texts(doc[:1], feature)) == [["\x1f6"]]
        with pytest.raises(ZeroDivisionError):
            list(extension_texts(doc, feature))
    finally:
        Token.remove_extension("share")


REFUSED: list[tuple[object, str]] = [
    (b"bytes", "bytes"),
    ({"a": 1}, "dict"),
    (numpy.zeros(2), "ndarray"),
    ([["a"]], "list"),
    (["a", b"b", 1], "bytes"),
]


@pytest.mark.parametrize(("value", "kind"), REFUSED, ids=[kind for _, kind in REFUSED])
def test_values_are_refused(value: object, kind: str) -> None:
    message = rf"_\.{NAME} of token 1, 'word1', .* it has a value of the type {kind}\. Set"
    with pytest.raises(ValueError, match=message):
        bags_of(["a", value])


def test_an_attribute_that_is_not_registered_is_refused() -> None:
    feature = parsed("_.missing")
    message = r"attribute _\.missing of token 0, 'word0', is not registered. Call Token\.set_ext"
    with pytest.raises(ValueError, match=message):
        read_extension([doc_of(["a"])], feature, spacy.blank("en").vocab.strings)
