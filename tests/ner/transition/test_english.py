"""A trained pipeline finds the same entities with batch_ner, in English and in other languages."""

from collections.abc import Iterator
from itertools import islice

import numpy
import pytest
import spacy
from spacy.pipeline import EntityRecognizer
from spacy.tokens import Doc

from experiments.corpora.convert import read_splits
from spacy_multihash import BatchEntityRecognizer
from tests.helpers.paths import SHARED
from tests.helpers.transition import Token, assert_same, make_doc

OTHERS = ["tok2vec", "tagger", "parser", "attribute_ruler", "lemmatizer", "senter"]
# Sentences of each data set: all of them take a quarter of an hour
SENTENCES = 150
Recognizers = tuple[EntityRecognizer, BatchEntityRecognizer]


@pytest.fixture(scope="module")
def recognizers() -> Iterator[Recognizers]:
    path = SHARED / "pipelines" / "en_core_web_md-3.7.1"
    if not path.is_dir():
        pytest.skip(f"the trained pipeline is not there: {path}")
    with pytest.warns(UserWarning, match="W095"):
        theirs = spacy.load(path, exclude=OTHERS)
        config = {"components": {"ner": {"factory": "batch_ner"}}}
        ours = spacy.load(path, vocab=theirs.vocab, exclude=OTHERS, config=config)
    yield theirs.get_pipe("ner"), ours.get_pipe("ner")


def sentences(dataset: str) -> list[list[str]]:
    assets = SHARED / "datasets"
    splits = (records for _, _, records in read_splits(dataset, assets))
    every = [record.words for records in splits for record in records]
    return every[:: max(1, len(every) // SENTENCES)]


def preset(words: list[str], labels: list[str], rng: numpy.random.Generator) -> list[Token]:
    """Set some entities, block some tokens, and begin sentences anywhere."""
    tokens: list[Token] = []
    while len(tokens) < len(words):
        kind = rng.choice(["entity", "blocked", "outside", "free"], p=[0.05, 0.03, 0.02, 0.9])
        iob = {"entity": 3, "blocked": 3, "outside": 2, "free": 0}[kind]
        label = str(rng.choice(labels)) if kind == "entity" else ""
        more = rng.integers(4) if kind == "entity" else 0
        for place in range(1 + more):
            start = int(rng.random() < 0.1)
            tokens.append(Token("", start, 1 if place else iob, label))
    pairs = zip(words, tokens, strict=False)
    return [Token(word, of.sent_start, of.iob, of.ent_type) for word, of in pairs]


@pytest.mark.parametrize("dataset", ["wnut17", "conll-es", "conll-nl-sentences", "archaeo"])
def test_entities_of_a_trained_model_are_those_of_ner(
    dataset: str, recognizers: Recognizers
) -> None:
    ner, ours = recognizers
    rng = numpy.random.default_rng(0)
    every = sentences(dataset)
    labels = [*ours.labels, "NEW"]
    free = [Doc(ner.vocab, words=words) for words in every]
    some = [make_doc(ner.vocab, preset(words, labels, rng)) for words in every]
    docs = iter([*free, *some])
    found = near_ties = 0
    while batch := list(islice(docs, 64)):
        near_ties += assert_same(ner, ours, batch)
        found += sum(len(doc.ents) for doc in ours.pipe([doc.copy() for doc in batch]))
    assert near_ties <= 2
    assert found > SENTENCES / 2
