"""What looks wrong with a corpus, in numbers and as warnings of the command."""

import json
from collections.abc import Sequence
from pathlib import Path

import pytest
import spacy
from spacy.tokens import Doc
from spacy.vocab import Vocab

from spacy_multihash.cli.corpus_stats import corpus_stats_cli
from spacy_multihash.corpus.statistics import describe_corpus
from spacy_multihash.corpus.suspicions import Dominant, Suspicions
from tests.helpers.cli import invoke_command, said
from tests.helpers.corpora import make_docs, write_corpus


@pytest.fixture
def vocab() -> Vocab:
    return spacy.blank("en").vocab


def make_doc(vocab: Vocab, text: str, *ents: str, starts: Sequence[int] = ()) -> Doc:
    words = text.split(" ")
    marks = [i in starts for i in range(len(words))] if starts else None
    return Doc(vocab, words=words, ents=list(ents) or ["O"] * len(words), sent_starts=marks)


def suspect(vocab: Vocab, train: Sequence[Doc], dev: Sequence[Doc] = ()) -> list[Suspicions]:
    return list(describe_corpus(train, {"dev": dev}, vocab).suspicions.values())


def test_nothing_is_suspicious_in_a_sound_corpus(vocab: Vocab) -> None:
    docs = [make_doc(vocab, "Anna met Bob", "B-PER", "O", "O"), make_doc(vocab, "so it is")]
    train, dev = suspect(vocab, docs, [make_doc(vocab, "Anna met Rome")])
    assert train == Suspicions(0, 0, 0, None, sentences=2, in_train=None, tokens_in_train=None)
    assert dev == Suspicions(0, 0, 0, None, sentences=1, in_train=0, tokens_in_train=0.0)


def test_traces_of_a_failed_conversion_are_counted(vocab: Vocab) -> None:
    docs = [
        make_doc(vocab, "-DOCSTART- Anna -DOCSTART-"),
        Doc(vocab, words=[]),
        make_doc(vocab, "\n\n \t".replace(" ", "") + " \n"),
        make_doc(vocab, "Anna \n met \n", "B-PER", "I-PER", "O", "B-PER"),
    ]
    train, _ = suspect(vocab, docs)
    assert (train.docstart, train.empty_docs, train.whitespace_entities) == (2, 2, 2)
    assert train.sentences == 2


def test_sentences_that_stand_in_training_are_counted(vocab: Vocab) -> None:
    train = [make_doc(vocab, "Anna met Bob . He left .", starts=[0, 4]), make_doc(vocab, "a b")]
    dev = [
        make_doc(vocab, "He left . Anna stayed .", starts=[0, 3]),
        make_doc(vocab, "a \n b"),  # whitespace makes no difference
        make_doc(vocab, "Anna met Bob . He left ."),
        make_doc(vocab, "b a"),
    ]
    found = suspect(vocab, train, [*dev, *dev])
    assert [(x.sentences, x.in_train) for x in found] == [(3, None), (10, 4)]
    assert [x.tokens_in_train for x in found] == [None, (3 + 2) / (6 + 2 + 7 + 2)]
    (_, nothing) = suspect(vocab, train)
    assert (nothing.in_train, nothing.tokens_in_train) == (0, None)


def test_a_label_on_nearly_all_tokens_is_found(vocab: Vocab) -> None:
    train, _ = suspect(vocab, [make_doc(vocab, "a b c", "B-X", "I-X", "B-X")])
    assert train.dominant == Dominant("X", "tokens", 1.0)
    train, _ = suspect(vocab, [make_doc(vocab, "a b c", "B-X", "I-X", "B-Y")])
    assert train.dominant is None


def test_a_label_of_nearly_all_entities_is_found_where_there_are_others(vocab: Vocab) -> None:
    docs = [make_doc(vocab, "a b c", "B-X", "O", "O")] * 19
    assert suspect(vocab, docs)[0].dominant is None
    docs = [*docs, make_doc(vocab, "a b c", "B-Y", "O", "O")]
    assert suspect(vocab, docs)[0].dominant == Dominant("X", "entities", 0.95)
    assert suspect(vocab, docs[1:])[0].dominant is None


def test_a_label_of_nearly_all_texts_is_found(vocab: Vocab) -> None:
    docs = [make_doc(vocab, "a b") for _ in range(20)]
    for i, doc in enumerate(docs):
        doc.cats = {"A": float(i > 0), "B": float(i == 0)}
    stats = describe_corpus(docs, {}, vocab)
    assert stats.suspicions["train"].dominant == Dominant("A", "texts", 0.95)
    assert stats.splits["train"].cats == {"A": 19, "B": 1}
    assert suspect(vocab, docs[:19])[0].dominant is None


def test_command_points_out_what_looks_wrong(tmp_path: Path, vocab: Vocab) -> None:
    bad = [
        make_doc(vocab, "-DOCSTART-", "B-X"),
        make_doc(vocab, "Anna \n", "B-X", "I-X"),
        make_doc(vocab, "\n", "O"),
    ]
    train = write_corpus(tmp_path / "train.spacy", make_docs())
    test = write_corpus(tmp_path / "test.spacy", [*bad * 5, *make_docs()[:1]])
    printed = said(invoke_command(corpus_stats_cli, train, test))
    assert "Tokens -DOCSTART- in dev: 5. They part documents" in printed
    assert "multihash convert" in printed
    assert "Empty documents in dev, without words: 5" in printed
    assert "Entities in dev that begin or end with whitespace: 5." in printed
    assert "Sentences of dev that stand in train word for word: 1 of 11 (9.1 %), with " in printed
    assert " in train:" not in printed
    write_corpus(test, bad[:1])
    printed = said(invoke_command(corpus_stats_cli, train, test))
    assert "X is on nearly everything in dev: 100.0 % of tokens. Is it the right" in printed
    as_json = json.loads(invoke_command(corpus_stats_cli, train, test, "--json").stdout)
    assert as_json["suspicions"]["dev"]["dominant"]["label"] == "X"


def test_texts_with_labels_are_shown_and_need_no_entities(tmp_path: Path, vocab: Vocab) -> None:
    docs = [Doc(vocab, words=["a", str(i)]) for i in range(4)]
    for i, doc in enumerate(docs):
        doc.cats = {"A": float(i % 2), "B": float(not i % 2)}
    result = invoke_command(corpus_stats_cli, write_corpus(tmp_path / "train.spacy", docs))
    assert "Texts that have each label" in result.output and "A 2 B 2" in said(result)
    assert "⚠" not in result.output and "entit" not in result.output
    assert "documents 4 tokens 8 mean document length 2.00" in said(result)
    dev = write_corpus(tmp_path / "dev.spacy", make_docs())
    result = invoke_command(corpus_stats_cli, tmp_path / "train.spacy", dev)
    assert "entities per document" in result.output and "Seen and unseen" in result.output
