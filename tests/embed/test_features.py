"""Features: their names, how symbols are cut from texts or read from extensions, and kept."""

import gc
import re
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy
import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.strings import StringStore, get_string_id
from spacy.tokens import Doc, Token
from spacy.vocab import Vocab

from spacy_multihash.embed import features as module
from spacy_multihash.embed.features import (
    Feature,
    Substrings,
    extension_texts,
    parse_feature,
    read_extension,
    substrings_of,
)


def parsed(name: str, **settings: bool) -> Feature:
    feature = parse_feature(name, **settings)
    assert feature is not None
    return feature


NAMES = {
    "ORTH[0:2]": "ORTH[:2]",
    "orth[ : 2 ]": "ORTH[:2]",
    " LOWER [-4:] ": "LOWER[-4:]",
    "NORM[1:3]": "NORM[1:3]",
    "LEMMA[:]": "LEMMA[:]",
    "ORTH[-0:]": "ORTH[:]",
    "ORTH[2:-2]": "ORTH[2:-2]",
    "ORTH[-2:1]": "ORTH[-2:1]",
    "LOWER{3, 5}": "LOWER{3,5}",
    "lower{3}": "LOWER{3,3}",
    "LOWER{1,20}": "LOWER{1,20}",
    "MORPH[Case]": "MORPH[Case]",
    "morph[ Number[psor] ]": "MORPH[Number[psor]]",
    " _.gazetteer": "_.gazetteer",
}


@pytest.mark.parametrize(("name", "canonical"), NAMES.items())
def test_names_have_one_canonical_form(name: str, canonical: str) -> None:
    assert parsed(name).name == canonical
    assert parsed(canonical) == parsed(name)


@pytest.mark.parametrize("name", ["NORM", "ENT_TYPE", "NROM", "", 67, None, "_gazetteer"])
def test_other_names_are_left_to_attributes(name: object) -> None:
    assert parse_feature(name) is None


REFUSED = {
    "a name such as ORTH": ["ORTH[", "ORTH[:2}"],
    "a slice or n-grams of ORTH": ["SHAPE[:2]", "MORPH{3,5}"],
    "a slice with a colon and without a step": ["ORTH[2]", "ORTH[:2:]", "ORTH[a:]", "ORTH[²:]"],
    "a slice that has characters": ["ORTH[3:3]", "ORTH[:0]", "ORTH[-2:-4]"],
    "the shortest and the longest n-grams, 1 to 20": ["LOWER{0,3}", "LOWER{3,21}", "LOWER{3,}"],
    "the name of one morphological feature": ["MORPH[]", "MORPH[Case=Nom]"],
    "the name of an extension attribute": ["_", "_.not_an identifier", "_gazetteer[:2]"],
}


@pytest.mark.parametrize(
    ("message", "name"), [(message, name) for message, names in REFUSED.items() for name in names]
)
def test_names_of_no_feature_are_refused_where_they_were_given(message: str, name: str) -> None:
    given_to = re.escape(f", got {name!r} (my-command). Give another name.")
    with pytest.raises(ValueError, match=f"^--names must be {message}.*{given_to}$"):
        parse_feature(name, where="my-command", setting="--names", advice="Give another name.")


ENDS = st.one_of(st.none(), st.integers(-12, 12))
WORDS = st.one_of(st.text(max_size=12), st.sampled_from(["", "a", "ab" * 5000, "👩‍👧é", "<>"]))


@given(word=WORDS, start=ENDS, stop=ENDS)
def test_slices_are_those_of_python(word: str, start: int | None, stop: int | None) -> None:
    def end(number: int | None) -> str:
        return "" if number is None else str(number)

    name = f"ORTH[{end(start)}:{end(stop)}]"
    # Whether some word has characters in the slice.
    if any("x" * n and ("x" * n)[start:stop] for n in range(30)):
        assert parsed(name).pieces(word) == [word[start:stop]]
        assert parsed(parsed(name).name) == parsed(name)
    else:
        with pytest.raises(ValueError, match="a slice that has characters"):
            parse_feature(name)


@given(word=WORDS, low=st.integers(1, 20), more=st.integers(0, 19))
def test_ngrams_are_all_substrings(word: str, low: int, more: int) -> None:
    high = min(low + more, 20)
    marked = f"<{word}>"
    expected = sorted(
        marked[i:j]
        for i in range(len(marked))
        for j in range(i + low, min(i + high, len(marked)) + 1)
    )
    found = parsed(f"LOWER{{{low},{high}}}").pieces(word)
    assert sorted(found) == (expected or [marked])
    once = parsed(f"LOWER{{{low},{high}}}", repeats=False).pieces(word)
    assert len(once) == len(set(once))
    assert set(once) == set(found)


@pytest.mark.parametrize(
    ("analysis", "values"),
    [
        ("Case=Acc,Nom|Number[psor]=Sing", ["Acc,Nom", "Sing"]),
        ("Number=Plur", ["", ""]),
        ("_", ["", ""]),
        ("", ["", ""]),
        ("Case", ["", ""]),
        ("Casexx=Nom", ["", ""]),
    ],
)
def test_values_of_morphology(analysis: str, values: list[str]) -> None:
    features = [parsed("MORPH[Case]"), parsed("MORPH[Number[psor]]")]
    assert [feature.pieces(analysis) for feature in features] == [[value] for value in values]


# Extension attributes: what may be a value, and what two values have in common

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


@pytest.mark.parametrize(
    ("value", "kind"),
    [
        (b"bytes", "bytes"),
        ({"a": 1}, "dict"),
        (numpy.zeros(2), "ndarray"),
        ([["a"]], "list"),
        (["a", b"b", 1], "bytes"),
    ],
    ids=str,
)
def test_values_are_refused(value: object, kind: str) -> None:
    message = rf"_\.{NAME} of token 1, 'word1', .* it has a value of the type {kind}\. Set"
    with pytest.raises(ValueError, match=message):
        bags_of(["a", value])


def test_an_attribute_that_is_not_registered_is_refused() -> None:
    feature = parsed("_.missing")
    message = r"attribute _\.missing of token 0, 'word0', is not registered. Call Token\.set_ext"
    with pytest.raises(ValueError, match=message):
        read_extension([doc_of(["a"])], feature, spacy.blank("en").vocab.strings)


# Symbols that are kept for a vocab: how many, how long, and with many threads

SLICES = parsed("ORTH[:2]"), parsed("ORTH[-1:]")
NGRAMS = (parsed("ORTH{3,5}"),)


class Counting:
    """A store of strings that counts how often each text is read."""

    def __init__(self, words: list[str]) -> None:
        self.store = StringStore(words)
        self.reads = 0

    def __getitem__(self, key: int | str) -> int | str:
        self.reads += isinstance(key, int)
        return self.store[key]


def ids(words: list[str]) -> numpy.ndarray:
    return numpy.array([get_string_id(word) for word in words], dtype="uint64")


def expected(words: list[str], features: tuple[Feature, ...]) -> list[list[int]]:
    return [[get_string_id(text) for f in features for text in f.pieces(word)] for word in words]


def read(bags: list[bytes]) -> list[list[int]]:
    return [numpy.frombuffer(bag, dtype="uint64").tolist() for bag in bags]


@pytest.mark.parametrize("features", [SLICES, NGRAMS])
def test_texts_are_cut_once(features: tuple[Feature, ...]) -> None:
    words = ["one", "two", "X", "DET", "three", "one", ""]
    strings, substrings = Counting(words), Substrings(features)
    for _ in range(3):
        assert read(substrings.of(strings, ids(words))) == expected(words, features)
    assert strings.reads == len(set(words))


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    bound = 25 * (16 + Substrings.ENTRY)  # 25 strings with two symbols each
    monkeypatch.setattr(Substrings, "MAX_BYTES", bound)
    words = [f"w{i}" for i in range(200)]
    strings, substrings = Counting(words), Substrings(SLICES)
    for start in range(0, 200, 20):
        batch = words[start : start + 20]
        assert read(substrings.of(strings, ids(batch))) == expected(batch, SLICES)
        assert substrings.size == len(substrings.cache) * (16 + Substrings.ENTRY) <= bound
    word = "ab" * 5000  # more than there's room for
    assert read(Substrings(NGRAMS).of(StringStore([word]), ids([word]))) == expected([word], NGRAMS)


@pytest.mark.parametrize("bound", [100, 5000, 10**6])
def test_many_threads_share_the_symbols(monkeypatch: pytest.MonkeyPatch, bound: int) -> None:
    monkeypatch.setattr(Substrings, "MAX_BYTES", bound)
    words = [f"word{i % 50}" for i in range(200)]
    vocab = Vocab(strings=words)

    def work(seed: int) -> bool:
        rng = numpy.random.default_rng(seed)
        batches = [(rng.choice(words, 9).tolist(), f) for _ in range(50) for f in (SLICES, NGRAMS)]
        return all(
            read(substrings_of(vocab, f).of(vocab.strings, ids(batch))) == expected(batch, f)
            for batch, f in batches
        )

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(work, range(16)))


def test_symbols_are_kept_for_each_vocab_as_long_as_it_lives() -> None:
    gc.collect()
    before = len(module._caches)
    vocab, other = Vocab(strings=["one"]), Vocab(strings=["one"])
    substrings_of(vocab, SLICES).of(vocab.strings, ids(["one"]))
    assert substrings_of(vocab, SLICES) is substrings_of(vocab, tuple(SLICES))
    assert substrings_of(vocab, SLICES) is not substrings_of(vocab, NGRAMS)
    assert substrings_of(other, SLICES).cache == {}
    assert len(module._caches) == before + 2
    del vocab, other
    gc.collect()
    assert len(module._caches) == before


def test_symbols_outlive_a_memory_zone() -> None:
    vocab = Vocab()
    with vocab.memory_zone():
        doc = Doc(vocab, words=["transient"])
        first = read(substrings_of(vocab, SLICES).of(vocab.strings, doc.to_array("ORTH")))
    doc = Doc(vocab, words=["transient", "other"])
    again = read(substrings_of(vocab, SLICES).of(vocab.strings, doc.to_array("ORTH")))
    assert again == expected(["transient", "other"], SLICES)
    assert again[:1] == first
