import random
from collections import defaultdict
from pathlib import Path

import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import DocBin

from experiments.corpora import sample_words
from experiments.corpora.sample import (
    Sentence,
    make_sample,
    make_sentences,
)

Splits = dict[str, list[Sentence]]


@pytest.fixture(scope="module")
def splits() -> Splits:
    return make_sentences(0)


@pytest.fixture(scope="module")
def sample_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sample")
    make_sample(folder)
    return folder


def test_same_seed_gives_same_bytes(sample_dir: Path, tmp_path: Path) -> None:
    make_sample(tmp_path, seed=0)
    names = sorted(path.name for path in sample_dir.iterdir())
    assert names == ["dev.spacy", "test.spacy", "train.spacy"]
    for name in names:
        assert (tmp_path / name).read_bytes() == (sample_dir / name).read_bytes()


def test_every_tag_is_iob2_of_the_four_labels(splits: Splits) -> None:
    labels = {"PERSON", "ORG", "GPE", "DATE"}
    for sentence in splits["train"] + splits["test"]:
        assert len(sentence.words) == len(sentence.tags)
        for before, tag in zip(["O", *sentence.tags], sentence.tags, strict=False):
            assert tag == "O" or tag[2:] in labels
            assert tag[0] != "I" or before in (f"B-{tag[2:]}", tag)


def test_pools_share_no_word() -> None:
    pools = sample_words.make_pools(random.Random(0))
    words = [w.lower() for pool in pools.values() for kind in pool.values() for w in kind]
    ambiguous = {n.lower() for names in sample_words.AMBIGUOUS_NAMES.values() for n in names}
    assert len(set(words)) == len(words) == sum(sample_words.POOL_SIZES.values())
    assert ambiguous.isdisjoint(words)


def entity_texts(sentence: Sentence) -> list[str]:
    """Return the text of each entity of a sentence, its tokens joined by spaces."""
    entities: list[list[str]] = []
    for word, tag in zip(sentence.words, sentence.tags, strict=True):
        if tag[0] == "B":
            entities.append([word])
        elif tag[0] == "I":
            entities[-1].append(word)
    return [" ".join(words) for words in entities]


@pytest.mark.parametrize("held_out", ["dev", "test"])
def test_held_out_names_occur_in_their_split_only(splits: Splits, held_out: str) -> None:
    pool = sample_words.make_pools(random.Random(0))[held_out]
    own = {word.lower() for words in pool.values() for word in words}
    for split, sentences in splits.items():
        found = own.intersection(word.lower() for s in sentences for word in s.words)
        assert bool(found) == (split == held_out)


def test_each_ambiguous_name_has_two_labels_or_more_in_train(splits: Splits) -> None:
    labels = defaultdict(set)
    for sentence in splits["train"]:
        for i, (word, tag) in enumerate(zip(sentence.words, sentence.tags, strict=True)):
            ends = i + 1 == len(sentence.tags) or sentence.tags[i + 1][0] != "I"
            if tag[0] == "B" and ends:
                labels[word].add(tag[2:])
    slots = defaultdict(set)
    for slot, names in sample_words.AMBIGUOUS_NAMES.items():
        for name in names:
            slots[name].add(sample_words.LABELS[slot])
    assert {"Washington", "Paris", "Jordan", "Ford", "Chelsea", "Amazon", "May"} <= set(slots)
    two = {name: expected for name, expected in slots.items() if len(expected) >= 2}
    assert set(two) == set(slots)
    assert {name: labels[name] for name in slots} == slots


def test_distort_lowers_misspells_or_keeps_by_the_roll() -> None:
    rng = random.Random(0)
    lower, typo = sample_words.LOWER_SHARE, sample_words.TYPO_SHARE
    words = ["Benson", "Holding"]
    assert sample_words.distort(rng, words, lower / 2, frozenset()) == ["benson", "holding"]
    assert sample_words.distort(rng, words, lower + typo, frozenset()) == words
    misspelt = sample_words.distort(rng, words, lower + typo / 2, frozenset())
    assert sum(a != b for a, b in zip(words, misspelt, strict=True)) == 1


@given(st.text("abcXYZ", min_size=3, max_size=9), st.integers(0, 2**32))
def test_misspell_changes_a_word_but_not_its_first_letter(word: str, seed: int) -> None:
    typo = sample_words.misspell(random.Random(seed), word)
    assert typo != word
    assert typo[0] == word[0]
    assert abs(len(typo) - len(word)) <= 1


def test_docs_hold_the_words_and_entities_with_unknown_spaces(
    splits: Splits, sample_dir: Path
) -> None:
    doc_bin = DocBin().from_disk(sample_dir / "test.spacy")
    docs = list(doc_bin.get_docs(spacy.blank("en").vocab))
    assert all(doc.has_unknown_spaces for doc in docs)
    assert [[t.text for t in doc] for doc in docs] == [s.words for s in splits["test"]]
    assert [[ent.text.strip() for ent in doc.ents] for doc in docs] == [
        entity_texts(s) for s in splits["test"]
    ]
