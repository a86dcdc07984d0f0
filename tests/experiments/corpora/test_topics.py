"""The generated corpus of topics."""

from collections import Counter
from pathlib import Path

import pytest
from spacy.vocab import Vocab

from experiments.corpora.topics import SIZES, TOPICS, make_topics
from spacy_multihash.corpus.read import read_docs


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("topics")
    make_topics(path)
    return path


def test_every_text_has_one_of_all_topics_and_each_topic_as_many_texts(folder: Path) -> None:
    for split, size in SIZES.items():
        docs = list(read_docs(folder / f"{split}.spacy", Vocab()))
        assert all(sorted(doc.cats) == sorted(TOPICS) for doc in docs)
        labels = Counter(label for doc in docs for label, value in doc.cats.items() if value)
        assert labels == dict.fromkeys(TOPICS, size // len(TOPICS))


def test_the_same_seed_makes_the_same_texts_and_another_one_others(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("experiments.corpora.topics.SIZES", dict.fromkeys(SIZES, 8))
    texts = []
    for seed in (0, 0, 1):
        make_topics(tmp_path, seed)
        texts.append([doc.text for doc in read_docs(tmp_path / "dev.spacy", Vocab())])
    assert texts[0] == texts[1] != texts[2]
