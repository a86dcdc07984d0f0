"""Corpora of a few sentences."""

from pathlib import Path

import pytest
from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab

from experiments.corpora.cut import cut_corpus
from spacy_multihash.corpus.read import read_docs

SENTENCES = 3  # in each doc


def write_corpus(folder: Path, *, split: bool) -> Path:
    starts = [split] * SENTENCES if split else None
    docs = [Doc(Vocab(), words=[str(i), "b", "c"], sent_starts=starts) for i in range(20)]
    folder.mkdir()
    for name in ("train", "dev", "test"):
        DocBin(docs=docs).to_disk(folder / f"{name}.spacy")
    return folder


def first_words(path: Path) -> list[str]:
    return [doc[0].text for doc in read_docs(path, Vocab())]


def test_cut_takes_whole_docs_until_there_are_enough_sentences(tmp_path: Path) -> None:
    corpus, out = write_corpus(tmp_path / "a", split=True), tmp_path / "out"
    assert cut_corpus(corpus, out, 10) == 12
    assert len(first_words(out / "train.spacy")) == 4
    assert cut_corpus(write_corpus(tmp_path / "b", split=False), out, 10) == 10
    assert len(first_words(out / "train.spacy")) == 10
    for name in ("dev", "test"):
        assert first_words(out / f"{name}.spacy") == first_words(corpus / f"{name}.spacy")


def test_cuts_of_a_seed_are_the_same_and_nested(tmp_path: Path) -> None:
    corpus, words = write_corpus(tmp_path / "a", split=True), []
    for number, seed in ((10, 0), (10, 0), (30, 0), (10, 1)):
        cut_corpus(corpus, tmp_path / "out", number, seed)
        words.append(first_words(tmp_path / "out" / "train.spacy"))
    assert words[0] == words[1] == words[2][:4] != words[3]


def test_cut_of_more_than_there_is_is_an_error(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "a", split=True)
    with pytest.raises(ValueError, match="only 60 sentences"):
        cut_corpus(corpus, tmp_path / "out", 61)
    assert not (tmp_path / "out").exists()
