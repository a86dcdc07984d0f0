"""A trained pipeline finds the same entities with batch_ner, in English and in other languages."""

from collections.abc import Iterator

import pytest
import spacy
from spacy.pipeline import EntityRecognizer

from spacy_multihash import BatchEntityRecognizer
from tests.helpers.compare_ner import DATASETS, compare, load_english, read_texts
from tests.helpers.paths import SHARED

# Docs of each data set: all of them take a quarter of an hour
DOCS = 60
Recognizers = tuple[EntityRecognizer, BatchEntityRecognizer]


@pytest.fixture(scope="module")
def recognizers() -> Iterator[Recognizers]:
    path = SHARED / "pipelines" / "en_core_web_md-3.7.1"
    if not path.is_dir():
        pytest.skip(f"the trained pipeline is not there: {path}")
    with pytest.warns(UserWarning, match="W095"):
        theirs = spacy.load(path)
        ours = load_english(str(path), vocab=theirs.vocab)
    yield theirs.get_pipe("ner"), ours.get_pipe("ner")


@pytest.mark.parametrize("dataset", DATASETS)
def test_entities_of_a_trained_model_are_those_of_ner(
    dataset: str, recognizers: Recognizers
) -> None:
    every = read_texts(dataset, SHARED / "datasets")
    found = compare(*recognizers, every[:: max(1, len(every) // DOCS)])
    assert sum(len(found[kind]["near_ties"]) for kind in ("free", "preset")) <= 2
    assert sum(found[kind]["entities"] for kind in ("free", "preset")) > DOCS / 2
