import random
from collections import defaultdict
from pathlib import Path

import pytest
import sample_words as material
import spacy
from make_sample import (
    SIZES,
    Sentence,
    entity_texts,
    make_sample,
    make_sample_cli,
    make_sentences,
    summarise,
)
from spacy.tokens import DocBin

Splits = dict[str, list[Sentence]]


@pytest.fixture(scope="module")
def splits() -> Splits:
    return make_sentences(0)


def test_sizes_are_as_declared(splits: Splits) -> None:
    assert {split: len(sentences) for split, sentences in splits.items()} == SIZES


def test_same_seed_gives_the_same_bytes(tmp_path: Path) -> None:
    for name in ("one", "two"):
        make_sample(tmp_path / name, seed=3)
    for split in SIZES:
        one, two = (tmp_path / name / f"{split}.spacy" for name in ("one", "two"))
        assert one.read_bytes() == two.read_bytes()


def test_other_seed_gives_other_sentences(splits: Splits) -> None:
    assert make_sentences(1)["train"][:20] != splits["train"][:20]


def test_files_hold_the_sentences_and_their_entities(tmp_path: Path, splits: Splits) -> None:
    make_sample(tmp_path, seed=0)
    for split, sentences in splits.items():
        docs = DocBin().from_disk(tmp_path / f"{split}.spacy").get_docs(spacy.blank("en").vocab)
        for doc, sentence in zip(docs, sentences, strict=True):
            assert [token.text for token in doc] == sentence.words
            assert [ent.text.split() for ent in doc.ents] == [
                text.split() for text in entity_texts(sentence)
            ]
            assert doc.has_unknown_spaces


def test_every_label_occurs_in_every_split(splits: Splits) -> None:
    for sentences in splits.values():
        labels = {tag[2:] for sentence in sentences for tag in sentence.tags} - {""}
        assert labels == {"PERSON", "ORG", "GPE", "DATE"}


def test_tags_are_iob2(splits: Splits) -> None:
    for sentence in (sentence for sentences in splits.values() for sentence in sentences):
        for before, tag in zip(["O", *sentence.tags], sentence.tags, strict=False):
            assert tag[0] != "I" or before[2:] == tag[2:]


def test_most_test_entities_never_occur_in_training(splits: Splits) -> None:
    summary = {row.split: row for row in summarise(splits)}
    for split in ("dev", "test"):
        assert 0.5 < summary[split].unseen / summary[split].entities < 0.8
    assert summary["train"].unseen == 0


def test_ambiguous_names_have_several_labels(splits: Splits) -> None:
    labels = defaultdict(set)
    for sentence in splits["train"]:
        for word, tag in zip(sentence.words, sentence.tags, strict=True):
            labels[word].add(tag[2:])
    for name in ("Washington", "Ford", "Chelsea", "Amazon", "May", "Jordan"):
        assert len(labels[name] - {""}) >= 2, name


def test_some_names_are_in_lower_case_and_some_sentences_have_none(splits: Splits) -> None:
    train = splits["train"]
    lower = [text for s in train for text in entity_texts(s) if text.islower()]
    assert len(lower) > 100
    assert sum(not entity_texts(sentence) for sentence in train) > 300


def test_no_word_of_a_name_is_shared_by_dev_and_test_pools() -> None:
    pools = material.make_pools(random.Random(0))
    for kind in pools["train"]:
        words = [set(pools[split][kind]) for split in ("train", "dev", "test")]
        assert sum(map(len, words)) == len(set.union(*words))


def test_summary_counts_by_hand() -> None:
    known = Sentence(["Ana", "Paz", "met", "Bo"], ["B-PERSON", "I-PERSON", "O", "B-PERSON"])
    new = Sentence(["Ana", "met", "Bo"], ["B-PERSON", "O", "B-PERSON"])
    train, test = summarise({"train": [known], "test": [new]})
    assert (train.sentences, train.tokens, train.entities, train.unseen) == (1, 4, 2, 0)
    assert (test.sentences, test.tokens, test.entities, test.unseen) == (1, 3, 2, 1)


def test_folder_that_cannot_be_written_to_is_named(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(SystemExit, match="1"):
        make_sample_cli(blocked / "corpus")
    assert "Could not write to" in capsys.readouterr().out
