"""A text that is small enough to measure on in a moment."""

import pytest
import spacy
from spacy.tokens import Doc

from benchmarks.common.text import Text
from experiments.corpora.sample import make_sentences


@pytest.fixture(scope="session")
def text() -> Text:
    vocab = spacy.blank("en").vocab
    sentences = make_sentences(0)["dev"][:40]
    docs = [Doc(vocab, words=sentence.words, ents=sentence.tags) for sentence in sentences]
    return Text("tiny", "en", docs)
