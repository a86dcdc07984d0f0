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
    SIZES,
    Sentence,
    make_sample,
    make_sample_cli,
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


def test_other_seed_gives_other_sentences(splits: Splits) -> None:
    assert make_sentences(1)["test"] != splits["test"]


def test_global_random_state_is_neither_used_nor_changed(splits: Splits) -> None:
    random.seed(5)
    before = random.getstate()
    assert make_sentences(0) == splits
    assert random.getstate() == before


def test_splits_have_their_sizes(splits: Splits) -> None:
    assert {split: len(sentences) for split, sentences in splits.items()} == SIZES


def test_every_tag_is_iob2_of_the_four_labels(splits: Splits) -> None:
    labels = {"PERSON", "ORG", "GPE", "DATE"}
    for sentence in splits["train"] + splits["test"]:
        assert len(sentence.words) == len(sentence.tags)
        for before, tag in zip(["O", *sentence.tags], sentence.tags, strict=False):
            assert tag == "O" or tag[2:] in labels
            assert tag[0] != "I" or before in (f"B-{tag[2:]}", tag)


def test_every_label_is_frequent_in_every_split(splits: Splits) -> None:
    for sentences in splits.values():
        opened = [tag[2:] for s in sentences for tag in s.tags if tag[0] == "B"]
        for label in ("PERSON", "ORG", "GPE", "DATE"):
            assert opened.count(label) / len(opened) > 0.1


def test_some_sentences_have_no_entity(splits: Splits) -> None:
    plain = [s for s in splits["train"] if set(s.tags) == {"O"}]
    assert 0.1 < len(plain) / SIZES["train"] < 0.3


def test_every_slot_is_filled(splits: Splits) -> None:
    words = [word for sentences in splits.values() for s in sentences for word in s.words]
    assert not [word for word in words if not word or "{" in word or "}" in word]


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


@pytest.mark.parametrize("split", ["dev", "test"])
def test_many_entities_are_unseen_and_many_are_seen(splits: Splits, split: str) -> None:
    train = {text for sentence in splits["train"] for text in entity_texts(sentence)}
    texts = [text for sentence in splits[split] for text in entity_texts(sentence)]
    assert 0.5 < sum(text not in train for text in texts) / len(texts) < 0.8


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


def test_some_names_are_lower_case(splits: Splits) -> None:
    names = [
        word
        for sentence in splits["train"]
        for word, tag in zip(sentence.words, sentence.tags, strict=True)
        if tag == "B-PERSON"
    ]
    assert 0.05 < sum(name.islower() for name in names) / len(names) < 0.15


def test_distort_lowers_misspells_or_keeps_by_the_roll() -> None:
    rng = random.Random(0)
    lower, typo = sample_words.LOWER_SHARE, sample_words.TYPO_SHARE
    words = ["Benson", "Holding"]
    assert sample_words.distort(rng, words, lower / 2, frozenset()) == ["benson", "holding"]
    assert sample_words.distort(rng, words, lower + typo, frozenset()) == words
    misspelt = sample_words.distort(rng, words, lower + typo / 2, frozenset())
    assert sum(a != b for a, b in zip(words, misspelt, strict=True)) == 1


def test_distort_makes_no_known_word_and_leaves_short_words() -> None:
    rng = random.Random(0)
    roll = sample_words.LOWER_SHARE
    known = frozenset({"Benon", "Bensno"})
    typos = {sample_words.distort(rng, ["Benson"], roll, known)[0] for _ in range(500)}
    assert len(typos) > 20
    assert typos.isdisjoint(known)
    assert sample_words.distort(rng, ["Jo"], roll, frozenset()) == ["Jo"]


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


def test_make_sample_cli_exits_with_1_and_names_a_folder_it_cannot_make(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(SystemExit, match="1"):
        make_sample_cli(tmp_path / "file", seed=0)
    assert "Could not write to" in capsys.readouterr().out
