"""Symbols that are kept for a vocab: how many, how long, and with many threads."""

import gc
import os
import signal
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from importlib import import_module

import numpy
import pytest
from spacy.strings import StringStore, get_string_id
from spacy.tokens import Doc
from spacy.vocab import Vocab

from spacy_multihash.common.features import Feature, parse_feature
from spacy_multihash.embed.cuts import Cuts, cuts_of

CUTS = import_module("spacy_multihash.embed.cuts")


def feature(name: str) -> Feature:
    found = parse_feature(name)
    assert found is not None
    return found


SLICES = (feature("ORTH[:2]"), feature("ORTH[-1:]"))
NGRAMS = (feature("ORTH{3,5}"),)


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
    return [
        [get_string_id(piece) for each in features for piece in each.pieces(word)] for word in words
    ]


def size_of(cuts: Cuts) -> int:
    return sum(len(symbols) + CUTS.ENTRY for symbols in cuts.kept.values())


def read(bags: list[bytes]) -> list[list[int]]:
    return [numpy.frombuffer(bag, dtype="uint64").tolist() for bag in bags]


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> Iterator[int]:
    bound = 25 * (16 + CUTS.ENTRY)  # 25 strings with two symbols each
    monkeypatch.setattr(CUTS, "MAX_BYTES", bound)
    yield bound


@pytest.mark.parametrize("features", [SLICES, NGRAMS])
def test_texts_are_cut_once(features: tuple[Feature, ...]) -> None:
    words = ["one", "two", "X", "DET", "three"]
    strings, cuts = Counting(words), Cuts(features)
    for _ in range(3):
        assert read(cuts.of(strings, ids([*words, "one", ""]))) == expected(
            [*words, "one", ""], features
        )
    assert strings.reads == len(words) + 1


def test_memory_is_bounded(small: int) -> None:
    words = [f"w{i}" for i in range(200)]
    strings, cuts = Counting(words), Cuts(SLICES)
    before = cuts.of(strings, ids(words[:20]))
    kept = read(before)
    for start in range(0, 200, 20):
        some = words[start : start + 20]
        assert read(cuts.of(strings, ids(some))) == expected(some, SLICES)
        assert cuts.size == size_of(cuts) <= small
    assert read(before) == kept  # a batch in progress keeps its symbols
    reads = strings.reads
    assert read(cuts.of(strings, ids(words[180:]))) == expected(words[180:], SLICES)
    assert strings.reads == reads


def test_a_batch_that_is_too_large_to_be_kept_is_cut(small: int) -> None:
    word, cuts = "ab" * 5000, Cuts(NGRAMS)
    (symbols,) = read(cuts.of(StringStore([word]), ids([word])))
    assert symbols == expected([word], NGRAMS)[0]
    assert len(symbols) > 29_000
    assert cuts.kept == {}


@pytest.mark.parametrize("bound", [100, 5000, 10**6])
def test_many_threads_share_the_symbols(monkeypatch: pytest.MonkeyPatch, bound: int) -> None:
    monkeypatch.setattr(CUTS, "MAX_BYTES", bound)
    vocab = Vocab(strings=[f"word{i % 50}" for i in range(200)])
    words = [f"word{i % 50}" for i in range(200)]

    def work(seed: int) -> bool:
        rng = numpy.random.default_rng(seed)
        for _ in range(50):
            some = rng.choice(words, 9).tolist()
            for features in (SLICES, NGRAMS):
                found = read(cuts_of(vocab, features).of(vocab.strings, ids(some)))
                if found != expected(some, features):
                    return False
        return True

    with ThreadPoolExecutor(16) as pool:
        assert all(pool.map(work, range(32)))
    for features in (SLICES, NGRAMS):
        cuts = cuts_of(vocab, features)
        assert cuts.size == size_of(cuts) <= bound


class Racing(Counting):
    """A store in which another thread cuts the same text while it is read."""

    def __getitem__(self, key: int | str) -> int | str:
        if isinstance(key, int) and not self.reads:
            self.reads += 1
            self.cuts.of(self.store, ids(["one"]))
        return self.store[key]

    cuts: Cuts


def test_a_text_that_two_threads_cut_is_kept_once() -> None:
    strings = Racing(["one"])
    strings.cuts = cuts = Cuts(SLICES)
    assert read(cuts.of(strings, ids(["one"]))) == expected(["one"], SLICES)
    assert cuts.size == size_of(cuts) > 0


def test_symbols_are_kept_for_each_vocab_as_long_as_it_lives() -> None:
    gc.collect()
    before = len(CUTS._kept)
    vocab, other = Vocab(strings=["one"]), Vocab(strings=["one"])
    cuts_of(vocab, SLICES).of(vocab.strings, ids(["one"]))
    assert cuts_of(vocab, SLICES) is cuts_of(vocab, tuple(SLICES))
    assert cuts_of(vocab, SLICES) is not cuts_of(vocab, NGRAMS)
    assert cuts_of(other, SLICES).kept == {}
    assert len(CUTS._kept) == before + 2
    del vocab, other
    gc.collect()
    assert len(CUTS._kept) == before


def test_symbols_outlive_a_memory_zone() -> None:
    vocab = Vocab()
    with vocab.memory_zone():
        doc = Doc(vocab, words=["transient"])
        found = read(cuts_of(vocab, SLICES).of(vocab.strings, doc.to_array("ORTH")))
    doc = Doc(vocab, words=["transient", "other"])
    again = read(cuts_of(vocab, SLICES).of(vocab.strings, doc.to_array("ORTH")))
    assert again == expected(["transient", "other"], SLICES)
    assert again[:1] == found


@pytest.mark.skipif(not hasattr(os, "fork"), reason="no fork on this system")
@pytest.mark.filterwarnings("ignore:.*fork.*:DeprecationWarning")
def test_a_fork_while_a_thread_inserts_does_not_block() -> None:
    with CUTS._locks[0]:  # as if another thread held it
        child = os.fork()
        if child == 0:
            signal.alarm(30)  # which ends it, if it waits for the lock
            found = read(Cuts(SLICES).of(StringStore(["one"]), ids(["one"])))
            os._exit(0 if found == expected(["one"], SLICES) else 1)
    assert os.waitpid(child, 0)[1] == 0
