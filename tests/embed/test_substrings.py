"""Symbols that are kept for a vocab: how many, how long, and with many threads."""

import gc
from concurrent.futures import ThreadPoolExecutor

import numpy
import pytest
from spacy.strings import StringStore, get_string_id
from spacy.tokens import Doc
from spacy.vocab import Vocab

from spacy_multihash.embed import features as module
from spacy_multihash.embed.features import Feature, Substrings, parse_feature, substrings_of


def parsed(*names: str) -> tuple[Feature, ...]:
    return tuple(feature for name in names if (feature := parse_feature(name)))


SLICES = parsed("ORTH[:2]", "ORTH[-1:]")
NGRAMS = parsed("ORTH{3,5}")


class Counting:
    """A store of strings that counts how often each text is read."""

    def __init__(self, words: list[str]) -> None:
        self.store = StringStore(words)
        self.reads = 0

    def __getitem__(self, key: int | str) -> int | str:
        self.reads += isinstance(key, int)
        return self.store[key]


def ids(words: list[str]) -> numpy.ndarray:
    return numpy.array([get_string_id(word) for word in words], dtype="uint64")


def expected(words: list[str], features: tuple[Feature, ...]) -> list[list[int]]:
    return [[get_string_id(text) for f in features for text in f.pieces(word)] for word in words]


def read(bags: list[bytes]) -> list[list[int]]:
    return [numpy.frombuffer(bag, dtype="uint64").tolist() for bag in bags]


@pytest.mark.parametrize("features", [SLICES, NGRAMS])
def test_texts_are_cut_once(features: tuple[Feature, ...]) -> None:
    words = ["one", "two", "X", "DET", "three", "one", ""]
    strings, substrings = Counting(words), Substrings(features)
    for _ in range(3):
        assert read(substrings.of(strings, ids(words))) == expected(words, features)
    assert strings.reads == len(set(words))


def test_memory_is_bounded(monkeypatch: pytest.MonkeyPatch) -> None:
    bound = 25 * (16 + Substrings.ENTRY)  # 25 strings with two symbols each
    monkeypatch.setattr(Substrings, "MAX_BYTES", bound)
    words = [f"w{i}" for i in range(200)]
    strings, substrings = Counting(words), Substrings(SLICES)
    for start in range(0, 200, 20):
        batch = words[start : start + 20]
        assert read(substrings.of(strings, ids(batch))) == expected(batch, SLICES)
        assert substrings.size == len(substrings.cache) * (16 + Substrings.ENTRY) <= bound
    word = "ab" * 5000  # more than there's room for
    assert read(Substrings(NGRAMS).of(StringStore([word]), ids([word]))) == expected([word], NGRAMS)


@pytest.mark.parametrize("bound", [100, 5000, 10**6])
def test_many_threads_share_the_symbols(monkeypatch: pytest.MonkeyPatch, bound: int) -> None:
    monkeypatch.setattr(Substrings, "MAX_BYTES", bound)
    words = [f"word{i % 50}" for i in range(200)]
    vocab = Vocab(strings=words)

    def work(seed: int) -> bool:
        rng = numpy.random.default_rng(seed)
        batches = [(rng.choice(words, 9).tolist(), f) for _ in range(50) for f in (SLICES, NGRAMS)]
        return all(
            read(substrings_of(vocab, f).of(vocab.strings, ids(batch))) == expected(batch, f)
            for batch, f in batches
        )

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(work, range(16)))


def test_symbols_are_kept_for_each_vocab_as_long_as_it_lives() -> None:
    gc.collect()
    before = len(module._caches)
    vocab, other = Vocab(strings=["one"]), Vocab(strings=["one"])
    substrings_of(vocab, SLICES).of(vocab.strings, ids(["one"]))
    assert substrings_of(vocab, SLICES) is substrings_of(vocab, tuple(SLICES))
    assert substrings_of(vocab, SLICES) is not substrings_of(vocab, NGRAMS)
    assert substrings_of(other, SLICES).cache == {}
    assert len(module._caches) == before + 2
    del vocab, other
    gc.collect()
    assert len(module._caches) == before


def test_symbols_outlive_a_memory_zone() -> None:
    vocab = Vocab()
    with vocab.memory_zone():
        doc = Doc(vocab, words=["transient"])
        first = read(substrings_of(vocab, SLICES).of(vocab.strings, doc.to_array("ORTH")))
    doc = Doc(vocab, words=["transient", "other"])
    again = read(substrings_of(vocab, SLICES).of(vocab.strings, doc.to_array("ORTH")))
    assert again == expected(["transient", "other"], SLICES)
    assert again[:1] == first
