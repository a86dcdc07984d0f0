"""Splits that are counted in pieces, and what is told of the whole."""

import json
import pickle
from collections.abc import Sequence
from dataclasses import asdict
from operator import add

from hypothesis import given, settings
from hypothesis import strategies as st
from spacy.lang.en import English
from spacy.tokens import Doc
from spacy.vocab import Vocab, create_vocab

from spacy_multihash.corpus.evaluation import Matching
from spacy_multihash.corpus.statistics import (
    DEFAULT_ATTRS,
    SplitCounts,
    count_split,
    describe_counts,
    word_attrs,
)
from tests.helpers.pieces import TEXTS, cut, merged

Words = list[str]
TAGS = {"Anna": "B-PER", "Bob": "B-PER", "Rome": "B-GPE", "1999": "B-DATE"}
MATCHINGS = st.builds(Matching, ignore_case=st.booleans(), match_label=st.booleans())


def make(vocab: Vocab, texts: Sequence[Words]) -> list[Doc]:
    """Make docs with entities, sentences that a dot ends, and labels of texts."""
    docs = []
    for words in texts:
        starts = [i == 0 or words[i - 1] == "." for i in range(len(words))]
        tags = [TAGS.get(word, "O") for word in words]
        doc = Doc(vocab, words=words, ents=tags, sent_starts=starts)
        doc.cats = {word: 1.0 for word in words[:1]}
        docs.append(doc)
    return docs


def count(
    texts: Sequence[Words], matching: Matching, wanted: frozenset[int] | None = None
) -> SplitCounts:
    """Count docs that are made with a vocab of their own, as in another process."""
    vocab = create_vocab("en", English.Defaults)
    return count_split(make(vocab, texts), vocab, matching, wanted)


def described(train: SplitCounts, dev: SplitCounts, matching: Matching) -> str:
    vocab = create_vocab("en", English.Defaults)
    counts = {"train": train, "dev": dev}
    attrs = word_attrs(DEFAULT_ATTRS, vocab)
    stats = describe_counts(counts, vocab, vocab.vectors, attrs, matching)
    return json.dumps(asdict(stats))


@settings(max_examples=25)
@given(train=TEXTS.filter(bool), dev=TEXTS, matching=MATCHINGS, data=st.data())
def test_pieces_have_the_statistics_of_the_whole(
    train: list[Words], dev: list[Words], matching: Matching, data: st.DataObject
) -> None:
    of_dev = merged([count(piece, matching) for piece in cut(dev, data)], add, data)
    wanted = frozenset(of_dev.sentences)
    parts = [count(piece, matching, wanted) for piece in cut(train, data)]
    whole = count(train, matching, wanted)
    assert described(merged(parts, add, data), of_dev, matching) == described(
        whole, count(dev, matching), matching
    )


@settings(max_examples=25)
@given(texts=TEXTS, data=st.data())
def test_counts_stand_in_the_order_of_reading(texts: list[Words], data: st.DataObject) -> None:
    parts = [count(piece, Matching()) for piece in cut(texts, data)]
    before = pickle.dumps(parts)
    assert repr(merged(parts, add, data)) == repr(count(texts, Matching()))
    assert pickle.dumps(parts) == before  # a part may be merged again


def test_what_was_counted_travels_and_does_not_grow_with_the_corpus() -> None:
    texts = [["Anna", "met", "Bob", "."], ["Bob", "met", "Rome"]]
    few, many = (pickle.dumps(count(texts * n, Matching())) for n in (10, 1000))
    assert len(many) < len(few) + 100  # larger numbers
    assert pickle.loads(few) == count(texts * 10, Matching())
    sentences = count([["Anna", "met", "Bob"]], Matching()).sentences
    assert sentences == {12108454575228462155: 1}  # the same key in every process


def test_sentences_that_nobody_wants_are_not_kept() -> None:
    texts = [[one, other] for one in "abcdefghij" for other in "abcdefghij"]
    wanted = frozenset(count(texts[:3], Matching()).sentences)
    counts = count(texts, Matching(), wanted)
    assert counts.num_sentences == 100
    assert counts.sentences.keys() == wanted and len(wanted) == 3
    assert not count(texts, Matching(), frozenset()).sentences
