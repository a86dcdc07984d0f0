"""What is counted of a corpus before settings are recommended."""

from collections.abc import Callable, Iterable

import numpy
import pytest
import spacy
from spacy.tokens import Doc
from spacy.training import Example
from spacy.vectors import Vectors

from spacy_multihash.inspection.facts import FeatureFacts, VectorFacts, count_facts

NLP = spacy.blank("en")
ATTRS = ["NORM", "SHAPE", "ORTH[:1]", "LOWER{3}"]


def read(*texts: tuple[list[str], list[str]]) -> Callable[[], Iterable[Example]]:
    def examples() -> Iterable[Example]:
        for words, ents in texts:
            doc = Doc(NLP.vocab, words=words, ents=ents)
            yield Example(Doc(NLP.vocab, words=words), doc)

    return examples


TRAIN = read((["Anna", "met", "Bob", "in", "1999"], ["B-PER", "O", "B-PER", "O", "O"]), ([], []))
DEV = read(
    (["Anna", "Berg", "met", "Bob"], ["B-PER", "I-PER", "O", "B-PER"]),
    (["in", "Oslo"], ["O", "B-GPE"]),
)


def test_what_train_lacks_of_dev_is_counted() -> None:
    facts = count_facts(TRAIN, DEV, ATTRS, NLP.vocab)
    assert facts.train_tokens == 5
    assert facts.shaped == pytest.approx(3 / 5)
    assert facts.vectors is None
    assert facts.features == {
        # Berg and Oslo are unknown, so Anna Berg is too.
        "NORM": FeatureFacts(5, 2 / 6, 2 / 3, 1 / 5),
        "SHAPE": FeatureFacts(5, 0.0, 0.0, 1 / 5),
        "ORTH[:1]": FeatureFacts(5, 1 / 6, 1 / 3, 1 / 5),
        # <Berg> and <Oslo> share no three letters with TRAIN.
        "LOWER{3}": FeatureFacts(16, 2 / 6, 2 / 3, 1 / 16),
    }


def test_words_with_vectors_are_counted() -> None:
    vocab = spacy.blank("en").vocab
    keys = [vocab.strings.add(word) for word in ("Anna", "Oslo")]
    data = numpy.array([[1, 0, 0], [0, 0, 0]], dtype="float32")  # zeros stand for no vector
    vocab.vectors = Vectors(strings=vocab.strings, data=data, keys=keys)

    def dev() -> Iterable[Example]:
        doc = Doc(vocab, words=["Anna", "Anna", "Berg", "Oslo"], ents=["B-PER", "O", "O", "O"])
        yield Example(doc, doc)

    assert count_facts(dev, dev, ATTRS, vocab).vectors == VectorFacts(1 / 3, 2 / 4)


@pytest.mark.parametrize(
    ("train", "dev", "message"),
    [
        (read((["in"], ["O"])), DEV, "a corpus with entities as TRAIN, but it has none .*--lang"),
        (read(([], [])), DEV, "a corpus with tokens as TRAIN"),
        (TRAIN, read((["in"], ["O"])), "a corpus with entities as DEV"),
        (TRAIN, read(([], [])), "a corpus with tokens as DEV"),
    ],
)
def test_a_corpus_without_entities_is_refused(
    train: Callable[[], Iterable[Example]], dev: Callable[[], Iterable[Example]], message: str
) -> None:
    with pytest.raises(ValueError, match=message):
        count_facts(train, dev, ATTRS, NLP.vocab)
