"""A trained pipeline finds the same entities with batch_ner, in English and in other languages."""

from collections.abc import Iterator

import numpy
import pytest
import spacy
from spacy.attrs import ENT_IOB, ENT_TYPE, SENT_START
from spacy.pipeline import EntityRecognizer
from spacy.tokens import Doc

from experiments.corpora.convert import read_splits
from spacy_multihash import BatchEntityRecognizer
from tests.helpers.paths import SHARED
from tests.helpers.transition import annotate, annotations

# Docs of each data set: all of them take a quarter of an hour
DOCS = 60
Recognizers = tuple[EntityRecognizer, BatchEntityRecognizer]


@pytest.fixture(scope="module")
def recognizers() -> Iterator[Recognizers]:
    path = SHARED / "pipelines" / "en_core_web_md-3.7.1"
    if not path.is_dir():
        pytest.skip(f"the trained pipeline is not there: {path}")
    replaced = {"components": {"ner": {"factory": "batch_ner"}}}
    with pytest.warns(UserWarning, match="W095"):
        theirs = spacy.load(path)
        ours = spacy.load(path, config=replaced, vocab=theirs.vocab)
    yield theirs.get_pipe("ner"), ours.get_pipe("ner")


def preset(doc: Doc, labels: list[str], rng: numpy.random.Generator) -> Doc:
    """Set some entities of a doc, block some of its tokens, and begin sentences anywhere."""
    iob = rng.choice([0, 3, 2], size=len(doc), p=[0.92, 0.06, 0.02]).astype("uint64")
    types = numpy.zeros(len(doc), dtype="uint64")
    end = 0
    for start in numpy.flatnonzero(iob == 3):
        if start >= end and rng.random() < 0.6:  # the others are blocked
            end = start + rng.integers(1, 5)
            iob[start + 1 : end] = 1
            types[start:end] = doc.vocab.strings.add(str(rng.choice(labels)))
    starts = (rng.random(len(doc)) < 0.1).astype("uint64")
    doc.from_array([ENT_IOB, ENT_TYPE, SENT_START], numpy.column_stack([iob, types, starts]))
    return doc


@pytest.mark.parametrize("dataset", ["wnut17", "conll-es"])
def test_entities_of_a_trained_model_are_those_of_ner(
    dataset: str, recognizers: Recognizers
) -> None:
    splits = [records for _, _, records in read_splits(dataset, SHARED / "datasets")]
    every = [record.words for records in splits for record in records]
    ner, ours = recognizers
    docs = [Doc(ner.vocab, words=list(words)) for words in every[:: max(1, len(every) // DOCS)]]
    rng = numpy.random.default_rng(0)
    presets = [preset(doc.copy(), [*ours.labels, "NEW"], rng) for doc in docs]
    both = [*docs, *presets]
    expected = annotations(annotate(ner, [doc.copy() for doc in both]))
    found = annotations(annotate(ours, both))
    # Rounding may decide a near-tie otherwise
    assert sum((a != b).any() for a, b in zip(found, expected, strict=True)) <= 2
    assert sum(len(doc.ents) for doc in docs) > DOCS / 4
