"""Masked noise in texts: how much of it there is, and what it leaves as it is."""

import random
from collections import Counter
from pathlib import Path
from typing import Any

import numpy
import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Doc, Span
from spacy.training import Example
from thinc.api import fix_random_seed

from spacy_multihash.corpus.noise import (
    CharNoise,
    make_char_noise_v1,
    noisy_example,
    read_alphabet,
    with_text,
)
from tests.helpers.corpora import write_corpus

NAME = "spacy-multihash.char_noise.v1"
NLP = spacy.blank("en")
ALPHABET = "abcdefghij"


rng = numpy.random.default_rng


def example_of(text: str, **annotation: Any) -> Example:
    return Example.from_dict(NLP.make_doc(text), annotation)


def texts(**settings: Any) -> list[list[str]]:
    augment = make_char_noise_v1(alphabet=ALPHABET, **settings)
    return [[e.x.text for e in augment(NLP, example_of("Some words"))] for _ in range(100)]


def assert_binomial(count: int, size: int, probability: float) -> None:
    """Hold that a count is within five standard deviations of its expectation."""
    deviation = (size * probability * (1 - probability)) ** 0.5
    assert abs(count - size * probability) <= 5 * deviation


def test_shares_of_changed_and_masked_characters_are_those_of_the_paper() -> None:
    size = 200_000
    text = "x" * size  # outside the alphabet, so that each change is seen
    counts = Counter(CharNoise(0.1, ALPHABET).change(text, rng(0)))
    assert set(counts) == {"x", "¶", *ALPHABET}
    assert_binomial(size - counts["x"], size, 0.1)
    assert_binomial(counts["¶"], size, 0.02)
    for character in ALPHABET:
        assert_binomial(counts[character], size, 0.08 / len(ALPHABET))
    noisy = CharNoise(0.3, ALPHABET).change(text, rng(0))
    changed = numpy.array([character != "x" for character in noisy])
    assert_binomial(int((changed[1:] & changed[:-1]).sum()), size, 0.09)  # independent
    text = "Tea for\t2"
    assert CharNoise(0, ALPHABET).change(text, rng(0)) == text
    assert CharNoise(1, ALPHABET, mask_share=1).change(text, rng(0)) == "¶¶¶ ¶¶¶\t¶"


# Beyond the basic plane, combining marks, the character 0, and whitespace within tokens.
TEXTS = st.text(st.one_of(st.characters(codec="utf-8"), st.sampled_from("😀́\0 \n\u3000 ab")))


@given(TEXTS, st.floats(0, 1), st.integers(0, 9))
def test_offsets_and_whitespace_stay(text: str, level: float, seed: int) -> None:
    noise = CharNoise(level, "a😀\u0301\0.")
    noisy = noise.change(text, rng(seed))
    assert len(noisy) == len(text)
    assert all(after == c for c, after in zip(text, noisy, strict=True) if c.isspace())
    assert [c.isspace() for c in noisy] == [c.isspace() for c in text]
    assert {*noisy} <= {*text} | {*noise.alphabet, noise.mask}


def test_tokens_of_predicted_and_gold_doc_may_differ() -> None:
    gold = Doc(
        NLP.vocab, words=["can", "not", "\n", "U.", "S."], ents=["O", "O", "O", "B-X", "I-X"]
    )
    met = Doc(NLP.vocab, words=["cannot", "U.S."], spaces=[True, False])
    noisy = noisy_example(Example(met, gold), CharNoise(0.9, ALPHABET), 0)
    assert [len(token) for token in noisy.x] == [6, 4]
    assert noisy.y[2].text == "\n"
    assert (met.text, gold[0].text) == ("cannot U.S.", "can")  # not changed themselves
    visible = ["".join(doc.text.split()) for doc in (noisy.x, noisy.y)]
    assert visible[0] == visible[1] != "cannotU.S."
    assert noisy.get_aligned_ner() == ["O", "U-X"]


def test_every_annotation_of_a_doc_is_kept() -> None:
    doc = Doc(
        NLP.vocab,
        words=["Anna", "met", "Bob", "in", "Rome"],
        spaces=[True, True, True, False, False],
        tags=list("NVNPN"),
        pos=["PROPN", "VERB", "PROPN", "ADP", "PROPN"],
        morphs=["A=b"] * 5,
        lemmas=list("12345"),
        heads=[1, 1, 1, 1, 3],
        deps=list("sROpq"),
        sent_starts=[True, False, False, False, False],
    )
    doc.set_ents([Span(doc, 0, 1, "PER", kb_id="Q1", span_id="I1")], missing=[doc[2:3]])
    doc.spans["some"] = [Span(doc, 0, 3, "S"), Span(doc, 2, 5, "T")]
    doc.cats = {"X": 0.5}
    doc.tensor = numpy.ones((5, 2), dtype="float32")
    doc.user_data["key"] = thing = object()  # which no file could hold
    doc.user_hooks["vector"] = lambda doc: doc.tensor
    copied = with_text(doc, "AnnX met Bob i.Rome")
    assert copied.text == "AnnX met Bob i.Rome" != doc.text
    attrs = ["TAG", "POS", "MORPH", "LEMMA", "HEAD", "DEP", "SENT_START", "ENT_IOB", "ENT_TYPE"]
    attrs += ["ENT_KB_ID", "ENT_ID", "SPACY", "IDX"]
    assert (copied.to_array(attrs) == doc.to_array(attrs)).all()
    spans = [[(s.start, s.end, s.label_) for s in each.spans["some"]] for each in (copied, doc)]
    assert spans[0] == spans[1]
    assert copied.cats == doc.cats and (copied.tensor == doc.tensor).all()
    assert copied.user_data["key"] is thing
    assert copied[0].norm_ == "annx" and doc[0].norm_ == "anna"
    # tokens that stay keep their norm: ca, n't
    copied = with_text(NLP.make_doc("I can't go"), "I cXn't go")
    assert [token.norm_ for token in copied] == ["i", "cx", "not", "go"]


def test_example_of_two_texts_is_refused() -> None:
    example = Example(NLP.make_doc("ab c"), NLP.make_doc("abcd"))
    with pytest.raises(ValueError, match=r"got 3 and 4 visible ones, in 'abcd'"):
        noisy_example(example, CharNoise(0.1, ALPHABET), 0)


def test_share_of_docs_gets_noise_and_copies() -> None:
    found = texts(level=1, share_of_docs=0.3)
    assert all(len(each) == 1 for each in found)
    assert_binomial(sum(each != ["Some words"] for each in found), 100, 0.3)
    assert texts(level=1, share_of_docs=0) == [["Some words"]] * 100
    found = texts(level=1, share_of_docs=0.5, keep_original=True)
    assert {len(each) for each in found} == {1, 2}
    assert all(each[0] == "Some words" != each[-1] for each in found if len(each) == 2)
    assert all(each == ["Some words"] for each in found if len(each) == 1)
    found = texts(level=1, copies=3, keep_original=True)
    assert all(len({*each}) == len(each) == 4 for each in found)
    assert all(len(each) in (1, 3) for each in texts(share_of_docs=0.5, copies=3))


def test_noise_depends_on_the_seed_of_training_alone() -> None:
    fix_random_seed(3)
    first = texts()
    assert texts() != first
    fix_random_seed(3)
    assert texts() == first
    after = set()
    for text in ("a", "some longer text"):  # other augmenters draw the same after any text
        random.seed(1)
        list(make_char_noise_v1(alphabet=ALPHABET)(NLP, example_of(text)))
        after.add(random.random())
    assert len(after) == 1


def test_alphabet_of_a_corpus_has_its_visible_characters_without_the_mask(tmp_path: Path) -> None:
    docs = [NLP.make_doc("na ¶\n"), NLP.make_doc("b😀 a")]
    path = write_corpus(tmp_path / "target.spacy", docs)
    assert read_alphabet(path) == "abn😀"
    augment = make_char_noise_v1(corpus=path, level=1, mask_share=0)
    (noisy,) = augment(NLP, example_of("x" * 200))
    assert {*noisy.x.text} == {*"abn😀"}
    path = write_corpus(tmp_path / "none.spacy", [Doc(NLP.vocab, words=["\n", "¶"])])
    with pytest.raises(ValueError, match=r"none\.spacy has no visible characters besides"):
        list(make_char_noise_v1(corpus=path)(NLP, example_of("x")))
    augment = make_char_noise_v1(corpus=tmp_path / "missing.spacy")
    with pytest.raises(FileNotFoundError, match=r"no corpus at .*missing\.spacy"):
        list(augment(NLP, example_of("x")))


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"level": 1.5}, "level must be a number from 0 to 1"),
        ({"mask_share": 2}, "mask_share must be a number from 0 to 1"),
        ({"share_of_docs": -1}, "share_of_docs must be a number from 0 to 1"),
        ({"copies": 0}, "copies must be an integer of 1 or more"),
        ({"keep_original": 1}, "keep_original must be true or false"),
        *(({"mask": mask}, "mask must be one visible character") for mask in ("##", " ")),
        ({"mask": "a"}, "without the mask 'a', got 'abcdefghij'"),
        *(({"alphabet": x}, "must be a string of distinct visible") for x in ("aba", "a b", ["a"])),
        ({"alphabet": None}, "expected alphabet or corpus, got neither"),
        ({"corpus": "x.spacy"}, "expected alphabet or corpus, got both"),
    ],
)
def test_wrong_settings_are_refused(settings: dict[str, Any], message: str) -> None:
    settings = {"alphabet": ALPHABET, **settings}
    with pytest.raises(ValueError, match=message):
        make_char_noise_v1(**settings)
