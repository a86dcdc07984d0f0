"""Tests that our attribute ruler sets what spaCy's does."""

from collections.abc import Callable
from copy import deepcopy
from typing import Any

import hypothesis.strategies as st
import pytest
import spacy
from hypothesis import given
from spacy.attrs import IDS
from spacy.language import Language
from spacy.matcher import Matcher
from spacy.pipeline import AttributeRuler
from spacy.tokens import Doc, Token
from spacy.vocab import Vocab

from spacy_multihash.pipelines import attribute_ruler
from spacy_multihash.pipelines.attribute_ruler import IndexedAttributeRuler

WORDS = ["he", "He", "saw", "a", "dog", "1", " ", "n't"]
TAGS, POS, DEPS = ["NN", "VB", "DT", ""], ["NOUN", "VERB", ""], ["nsubj", "obj", ""]
SET = ["TAG", "POS", "MORPH", "LEMMA", "DEP", "NORM", "SHAPE", "ENT_TYPE"]

words = st.sampled_from(WORDS)
choices = {
    "LOWER": words,
    "ORTH": words,
    "TEXT": words,
    "lower": words,
    "TAG": st.sampled_from(TAGS),
    "POS": st.sampled_from(POS),
    "DEP": st.sampled_from(DEPS),
    "MORPH": st.sampled_from(["Number=Sing", ""]),
    "IS_SPACE": st.booleans(),
    "IS_DIGIT": st.booleans(),
    "LENGTH": st.integers(1, 3),
    "IS_SENT_START": st.booleans(),
}
regexes = st.sampled_from(["^n'?t$", "o", "^$", "."])
DICTS = {"LOWER", "TAG", "POS", "DEP", "ORTH"}


@st.composite
def tokens(draw: st.DrawFn) -> dict[str, Any]:
    names = draw(st.lists(st.sampled_from(list(choices)), max_size=3, unique=True))
    described: dict[str, Any] = {}
    for name in names:
        value: Any = draw(choices[name])
        if name in DICTS:
            some = draw(st.lists(choices[name], max_size=3))
            predicates = [{"IN": some}, {"NOT_IN": some}, {"IN": some, "NOT_IN": some[:1]}]
            value = draw(st.sampled_from([value, *predicates, {"REGEX": draw(regexes)}]))
        elif name == "LENGTH":
            value = draw(st.sampled_from([value, {">=": value}]))
        elif name == "MORPH":
            value = draw(st.sampled_from([value, {"IS_SUPERSET": ["Number=Sing"]}]))
        described[name] = value
    if draw(st.integers(0, 9)) == 0:
        described["OP"] = draw(st.sampled_from(["?", "+", "!", "1"]))
    return described


@st.composite
def rules(draw: st.DrawFn) -> dict[str, Any]:
    """Draw a rule: patterns, what they set, and the index of the token."""
    patterns = draw(st.lists(st.lists(tokens(), min_size=1, max_size=3), min_size=1, max_size=2))
    shortest = min(sum(token.get("OP", "1") in "+1" for token in pattern) for pattern in patterns)
    shortest = max(shortest, 1)
    index = draw(st.integers(-shortest, shortest - 1))
    attrs = draw(
        st.fixed_dictionaries(
            {},
            optional={
                "TAG": st.sampled_from(TAGS),
                "POS": st.sampled_from(POS),
                "DEP": st.sampled_from(DEPS),
                "LEMMA": words,
                "NORM": words,
                "MORPH": st.sampled_from(["Number=Plur", "_"]),
            },
        )
    )
    if draw(st.integers(0, 19)) == 0:
        attrs["SHAPE"] = "shape"
    return {"patterns": patterns, "attrs": attrs, "index": index}


@st.composite
def docs(draw: st.DrawFn) -> list[dict[str, Any]]:
    drawn = []
    for size in draw(st.lists(st.integers(0, 6), min_size=1, max_size=3)):

        def several(values: Any, size: int = size) -> list:
            return draw(st.lists(values, min_size=size, max_size=size))

        drawn.append(
            {
                "words": several(words),
                "tags": several(st.sampled_from(TAGS)),
                "pos": several(st.sampled_from(POS)),
                "morphs": several(st.sampled_from(["Number=Sing", "Case=Nom|Number=Sing", ""])),
                "deps": several(st.sampled_from(DEPS)),
                "heads": list(range(size)),
            }
        )
    return drawn


def attributes(ruler: AttributeRuler, vocab: Vocab, docs: list[dict[str, Any]]) -> list:
    """Apply a ruler, and read all that it may have set, or the error."""
    read = []
    for doc in [Doc(vocab, **kwargs) for kwargs in docs]:
        try:
            read.append(ruler(doc).to_array(SET).tolist())
        except ValueError as error:
            read.append(str(error))
    return read


@given(st.lists(rules(), min_size=1, max_size=6), docs(), st.integers(0, 3))
def test_any_patterns_set_what_spacys_ruler_sets(
    drawn: list[dict], written: list[dict], later: int
) -> None:
    read = []
    for kind in (AttributeRuler, IndexedAttributeRuler):
        vocab = Vocab()
        ruler = kind(vocab)
        before, after = deepcopy(drawn[later:]), deepcopy(drawn[:later])
        ruler.add_patterns(before)
        first = attributes(ruler, vocab, written) if before else []
        ruler.add_patterns(after)
        read.append((first, attributes(ruler, vocab, written * 2)))
    assert read[1] == read[0]


def make(*patterns: dict[str, Any]) -> tuple[Language, IndexedAttributeRuler]:
    nlp = spacy.blank("xx")
    ruler = nlp.add_pipe("indexed_attribute_ruler")
    assert isinstance(ruler, IndexedAttributeRuler)
    ruler.add_patterns(patterns)
    return nlp, ruler


def rule(pattern: list[dict], attrs: dict[str, str], index: int = 0) -> dict[str, Any]:
    return {"patterns": [pattern], "attrs": attrs, "index": index}


DOG = rule([{"LOWER": "dog"}], {"TAG": "NN", "LEMMA": "dog"})
A_DOG = rule([{"LOWER": "a"}, {"LOWER": {"REGEX": "^d"}}], {"LEMMA": "hound"}, 1)


def lemmas(nlp: Language, text: str) -> list[str]:
    return [token.lemma_ for token in nlp(text)]


def test_patterns_are_looked_up(monkeypatch: pytest.MonkeyPatch) -> None:
    nlp, ruler = make(DOG, A_DOG)
    monkeypatch.setattr(ruler, "match", lambda doc: pytest.fail("went through spaCy's Matcher"))
    assert lemmas(nlp, "Dog a dog") == ["dog", "", "hound"]


def test_patterns_that_cannot_be_looked_up_join_the_others() -> None:
    Token.set_extension("is_pet", getter=lambda token: token.lower_ == "cat", force=True)
    pet = rule([{"_": {"is_pet": True}}], {"LEMMA": "pet"})
    nlp, ruler = make(pet, DOG, rule([{"LOWER": "a", "OP": "+"}, {"LOWER": "cat"}], {"TAG": "DT"}))
    assert lemmas(nlp, "cat dog") == ["pet", "dog"]
    assert [token.tag_ for token in nlp("a a cat")] == ["DT", "DT", ""]
    assert ruler._current_index() is not None
    Token.remove_extension("is_pet")


@pytest.mark.parametrize("kind", [AttributeRuler, IndexedAttributeRuler])
def test_index_outside_of_a_match_raises_spacys_error(kind: type[AttributeRuler]) -> None:
    maybe_b = rule([{"LOWER": "a"}, {"LOWER": "b", "OP": "?"}], {"TAG": "X"}, 1)
    nlp = spacy.blank("xx")
    ruler = kind(nlp.vocab)
    ruler.add_patterns([rule([{"LOWER": "c"}], {"TAG": "C"}), maybe_b])
    doc = nlp.make_doc("a c")
    with pytest.raises(ValueError, match="E1001"):
        ruler(doc)
    assert [token.tag_ for token in doc] == ["", "C"]


def test_added_and_cleared_patterns_count_at_once() -> None:
    nlp, ruler = make(DOG)
    assert lemmas(nlp, "a dog cat") == ["", "dog", ""]
    ruler.add(patterns=[[{"LOWER": "cat"}]], attrs={"LEMMA": "feline"})
    assert lemmas(nlp, "a dog cat") == ["", "dog", "feline"]
    ruler.clear()
    ruler.add_patterns([A_DOG])
    assert lemmas(nlp, "a dog cat") == ["", "hound", ""]


CAT = [[{"LOWER": "cat"}]]
CHANGES: dict[str, Callable[[AttributeRuler], object]] = {
    "attrs of a rule": lambda ruler: ruler.attrs[0].update(normalized(ruler, "pet")),
    "all attrs of a rule": lambda ruler: ruler.attrs[0].clear(),
    "rule": lambda ruler: ruler.attrs.__setitem__(0, normalized(ruler, "pet")),
    "list of attrs": lambda ruler: setattr(ruler, "attrs", ruler.attrs[::-1]),
    "index": lambda ruler: ruler.indices.__setitem__(1, 0),
    "index outside": lambda ruler: ruler.indices.__setitem__(1, 5),
    "more patterns": lambda ruler: ruler.matcher.add("0", CAT),
    "other pattern": lambda ruler: replace_pattern(ruler),
    "no pattern": lambda ruler: ruler.matcher.remove("0"),
    "greedy pattern": lambda ruler: ruler.matcher.add("1", CAT, greedy="LONGEST"),
    "unknown rule": lambda ruler: ruler.matcher.add("7", CAT),
    "another matcher": lambda ruler: setattr(ruler, "matcher", matcher_of(ruler)),
}


def normalized(ruler: AttributeRuler, lemma: str) -> dict[int, int]:
    return {IDS["LEMMA"]: ruler.vocab.strings.add(lemma)}


def replace_pattern(ruler: AttributeRuler) -> None:
    ruler.matcher.remove("0")
    ruler.matcher.add("0", CAT)


def matcher_of(ruler: AttributeRuler) -> Matcher:
    matcher = Matcher(ruler.vocab)
    for name in "01":
        matcher.add(name, CAT)
    return matcher


def said_by(ruler: AttributeRuler) -> list[Any]:
    said: list[Any] = []
    for text in ("a dog", "dog", "cat", "a cat a dog"):
        try:
            doc = ruler(Doc(ruler.vocab, words=text.split()))
            said.append([token.lemma_ for token in doc])
        except (ValueError, IndexError) as error:
            said.append(repr(error))
    return said


@pytest.mark.parametrize("change", CHANGES)
def test_changes_in_place_count_at_once(change: str) -> None:
    said = []
    for kind in (AttributeRuler, IndexedAttributeRuler):
        ruler = kind(spacy.blank("xx").vocab)
        ruler.add_patterns([deepcopy(DOG), deepcopy(A_DOG)])
        before = said_by(ruler)
        CHANGES[change](ruler)
        said.append((before, said_by(ruler)))
    assert said[0] == said[1]
    assert said[0][0] != said[0][1]


def test_few_values_and_kinds_are_kept(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(attribute_ruler, "MAX_CACHED", 2)
    nlp, ruler = make(DOG, A_DOG, rule([{"LENGTH": 4}], {"TAG": "X"}))
    found = lemmas(nlp, "one more a dog and Dog some e f g")
    assert found == [*[""] * 3, "hound", "", "dog", *[""] * 4]
    index = ruler._current_index()
    assert index is not None and len(index.by_key) == 2
    assert {len(fitting) for fitting in index.fitting.values()} == {2}


def test_errors_go_to_the_handler() -> None:
    Token.set_extension("fails", getter=lambda token: 1 / 0, force=True)
    nlp, ruler = make(DOG, rule([{"_": {"fails": True}}], {"LEMMA": "x"}))
    handled = []
    ruler.set_error_handler(lambda name, pipe, docs, error: handled.append((name, repr(error))))
    ruler(nlp.make_doc("dog"))
    Token.remove_extension("fails")
    assert handled == [("indexed_attribute_ruler", "ZeroDivisionError('division by zero')")]
