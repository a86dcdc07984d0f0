"""Statistics of corpora: the functions, the command, and the report's own numbers."""

import json
import re
from collections.abc import Sequence
from functools import partial
from pathlib import Path
from random import Random

import numpy
import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Doc, DocBin
from spacy.vectors import Vectors
from spacy.vocab import Vocab

from spacy_multihash.corpus.evaluation import Matching
from spacy_multihash.corpus.statistics import (
    CorpusStats,
    SeenStats,
    Unknown,
    corpus_stats,
    find_repeats,
)
from tests.helpers import cli
from tests.helpers.corpora import make_docs, write_corpus

invoke = partial(cli.invoke, "corpus-stats")
ok = partial(cli.ok, "corpus-stats")
refused = partial(cli.refused, "corpus-stats")


@pytest.fixture
def vocab() -> Vocab:
    return spacy.blank("en").vocab


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write corpora: training knows Bob and Rome."""
    docs = make_docs()
    write_corpus(tmp_path / "train.spacy", [docs[1], docs[3]])
    write_corpus(tmp_path / "dev.spacy", docs[:1])  # Anna, Bob, Rome
    write_corpus(tmp_path / "test.spacy", docs)
    return tmp_path


def paths(folder: Path, *names: str) -> list[Path]:
    return [folder / f"{name}.spacy" for name in names]


def make_doc(vocab: Vocab, text: str, *ents: str) -> Doc:
    words = text.split()
    return Doc(vocab, words=words, ents=list(ents) or ["O"] * len(words))


def vectors_of(vocab: Vocab, *words: str, attr: str = "ORTH") -> Vectors:
    keys = [vocab.strings.add(word) for word in words]
    data = numpy.ones((len(keys), 2), dtype="float32")
    return Vectors(strings=vocab.strings, data=data, keys=keys, attr=attr)


def describe(vocab: Vocab, train: Sequence[Doc], *dev: Doc, **matching: bool) -> CorpusStats:
    return corpus_stats(train, dev or None, vectors=vocab, matching=Matching(**matching))


def test_split_is_counted(vocab: Vocab) -> None:
    docs = [
        make_doc(vocab, "Ana Paz met Bob", "B-PER", "I-PER", "O", "B-PER"),
        make_doc(vocab, "ana met", "O", "O"),
        make_doc(vocab, "Rome", "B-GPE"),
    ]
    train = corpus_stats(docs).splits["train"]
    assert (train.docs, train.tokens, train.entities) == (3, 7, 3)
    assert train.labels == {"GPE": 1, "PER": 2}
    assert (train.ents_per_doc, train.mean_doc_len, train.max_doc_len) == (1, 7 / 3, 4)
    assert (train.mean_ent_len, train.max_ent_len) == (4 / 3, 2)
    assert (train.vocab, train.unknown, train.missing) == (6, None, 0)
    # Ana and ana have one norm, and all but ana and met the shape Xxx or Xxxx
    assert train.attrs == {"NORM": 5, "PREFIX": 6, "SUFFIX": 6, "SHAPE": 3}


VOCAB = spacy.blank("en").vocab
WORDS = st.sampled_from(["Rome", "rome", "Anna", "met", "1999", "ab-1", "Ée", "£"])
TOKENS = st.lists(st.tuples(WORDS, st.sampled_from(["O", "B-PER", "B-GPE", "-"])), max_size=6)


@given(st.lists(TOKENS, min_size=1, max_size=4), st.lists(TOKENS, min_size=1, max_size=4))
def test_counts_equal_those_of_a_plain_loop(
    train: list[list[tuple[str, str]]], dev: list[list[tuple[str, str]]]
) -> None:
    def make(rows: list[tuple[str, str]]) -> Doc:
        return Doc(VOCAB, words=[w for w, _ in rows], ents=[t.strip("-") for _, t in rows])

    stats = corpus_stats(map(make, train), map(make, dev))
    known = {word for rows in train for word, tag in rows if tag[0] == "B"}
    for name, split in (("train", train), ("dev", dev)):
        tokens = [token for rows in split for token in rows]
        ents = [(word, tag[2:]) for word, tag in tokens if tag[0] == "B"]
        found = stats.splits[name]
        assert (found.docs, found.tokens, found.entities) == (len(split), len(tokens), len(ents))
        assert found.labels == {x: [e[1] for e in ents].count(x) for x in {e[1] for e in ents}}
        assert found.missing == sum(tag == "-" for _, tag in tokens)
        assert found.vocab == len({word for word, _ in tokens})
        assert found.attrs["SHAPE"] == len({VOCAB[word].shape_ for word, _ in tokens})
        assert found.max_doc_len == max(map(len, split), default=None)
        if name == "dev":
            assert stats.seen["dev"].seen == sum(word in known for word, _ in ents)
            assert stats.seen["dev"].unseen == sum(word not in known for word, _ in ents)


def test_attributes_are_the_vocabs_and_can_be_chosen(vocab: Vocab) -> None:
    train = make_doc(vocab, "Rome rome 1999")
    train[0].norm_ = "Roma"
    attrs = ["ORTH", "IS_DIGIT", "LOWER", "NORM"]
    found = corpus_stats([train], attrs=attrs).splits["train"].attrs
    assert found == {"ORTH": 3, "IS_DIGIT": 2, "LOWER": 2, "NORM": 2}


@pytest.mark.parametrize("attrs", [["NORM", "POS"], ["nonsense"], ["norm"], [""]])
def test_attribute_that_no_word_has_is_refused(vocab: Vocab, attrs: list[str]) -> None:
    with pytest.raises(ValueError, match="depend on a word alone, got '.*'. Choose from: IS_AL"):
        corpus_stats(make_docs(), attrs=attrs)


def test_words_without_a_vector_are_unknown(vocab: Vocab) -> None:
    vocab.vectors = vectors_of(vocab, "Rome", "met")
    stats = describe(vocab, [make_doc(vocab, "Anna met Anna in Rome")], make_doc(vocab, "Rome"))
    assert stats.splits["train"].unknown == Unknown(2, 0.5, 3, 0.6)  # Anna, in
    assert stats.splits["dev"].unknown == Unknown(0, 0.0, 0, 0.0)
    vocab.vectors.data[0] = 0  # of Rome: zeros stand for no vector
    stats = describe(vocab, [make_doc(vocab, "Anna met Anna in Rome")], make_doc(vocab, "Rome"))
    assert stats.splits["train"].unknown == Unknown(3, 0.75, 4, 0.8)


def test_words_are_looked_up_as_the_vectors_say(vocab: Vocab) -> None:
    train = [make_doc(vocab, "ROME Rome met")]
    vocab.vectors = vectors_of(vocab, "rome", attr="LOWER")
    assert describe(vocab, train).splits["train"].unknown == Unknown(1, 1 / 3, 1, 1 / 3)
    data = numpy.ones((4, 2), dtype="float32")
    vocab.vectors = Vectors(
        strings=vocab.strings, data=data, mode="floret", hash_count=1, minn=1, maxn=2
    )
    assert describe(vocab, train).splits["train"].unknown == Unknown(0, 0.0, 0, 0.0)


def test_seen_entities_follow_the_matching(vocab: Vocab) -> None:
    train = make_doc(vocab, "Rome", "B-GPE")
    dev = make_doc(vocab, "ROME Rome Rome Oslo", "B-GPE", "B-GPE", "B-PER", "B-GPE")

    def seen(**matching: bool) -> SeenStats:
        return describe(vocab, [train], dev, **matching).seen["dev"]

    assert seen() == SeenStats(2, 2, 0.5, 1, 0, 0.0)
    assert seen(ignore_case=True) == SeenStats(3, 1, 0.75, 1, 0, 0.0)
    assert seen(match_label=True) == SeenStats(1, 3, 0.25, 1, 0, 0.0)


def test_what_there_is_none_of_has_no_means_and_shares(vocab: Vocab) -> None:
    stats = describe(vocab, [make_doc(vocab, "met")], make_doc(vocab, "met"))
    train = stats.splits["train"]
    assert (train.entities, train.labels, train.ents_per_doc) == (0, {}, 0.0)
    assert (train.mean_ent_len, train.max_ent_len) == (None, None)
    assert stats.seen["dev"] == SeenStats(0, 0, None, 1, 1, 1.0)
    vocab.vectors = vectors_of(vocab, "Rome")
    stats = describe(vocab, [Doc(vocab, words=[])], Doc(vocab, words=[]))
    assert stats.seen["dev"].tokens_in_train is None
    assert stats.splits["train"].mean_doc_len == 0
    assert stats.splits["train"].attrs["NORM"] == 0
    assert stats.splits["train"].unknown == Unknown(0, None, 0, None)


def test_what_cannot_be_counted_is_refused(vocab: Vocab) -> None:
    with pytest.raises(ValueError, match="must share the vocab .* another vocab: a"):
        corpus_stats(make_docs()[1:], [make_doc(vocab, "a")])


def test_tables_show_all_splits(folder: Path) -> None:
    output = ok(*paths(folder, "train", "dev", "test")).output
    lines = {" ".join(line.split()) for line in output.splitlines()}
    rows = {"tokens 8 6 18", "mean entity length 1.00 1.00 1.00", "SHAPE 4 5 6", "dev 3 2 1 66.7"}
    assert rows <= lines and "unknown" not in output
    (warning,) = re.findall("Warning: (.*)", output)  # train is a part of test
    assert warning.startswith("Sentences of test that are in train")


def test_json_is_the_data_and_nothing_else_is_printed(folder: Path) -> None:
    file_ = folder / "out" / "stats.json"
    result = ok(*paths(folder, "train", "dev"), "--ignore-case", "--json", "--output", str(file_))
    printed = json.loads(result.stdout)
    assert json.loads(file_.read_text("utf8")) == printed
    assert set(printed["splits"]) == {"train", "dev"}
    assert printed["splits"]["train"]["labels"] == {"GPE": 1, "PER": 1}
    assert printed["seen"]["dev"]["unseen"] == 1
    assert printed["matching"] == {"ignore_case": True, "match_label": False}
    assert printed["lang"] == "xx"


def test_language_computes_the_attributes(tmp_path: Path) -> None:
    # Hindi's rules stem a word; a file that was written with another vocab changes nothing.
    docs = [make_doc(spacy.blank("xx").vocab, "लड़का लड़के")]
    train = write_corpus(tmp_path / "train.spacy", docs)
    for lang, number in (("hi", 1), ("xx", 2)):
        assert corpus_stats(train, lang=lang).splits["train"].attrs["NORM"] == number


@pytest.mark.parametrize("part", ["", "vocab"])
def test_vectors_of_a_pipeline_or_a_vocab_are_used(folder: Path, part: str) -> None:
    nlp = spacy.blank("en")
    nlp.vocab.vectors = vectors_of(nlp.vocab, "Bob", "Rome")
    nlp.to_disk(folder / "pipeline")
    (train,) = paths(folder, "train")
    stats = corpus_stats(train, vectors=folder / "pipeline" / part)
    assert stats.splits["train"].unknown == Unknown(5, 5 / 7, 6, 6 / 8)
    assert stats.lang == ("xx" if part else "en")
    assert corpus_stats(train, vectors=folder / "pipeline", lang="nl").lang == "nl"
    nlp = spacy.blank("zh")  # a vocab without lexemes
    nlp.vocab.vectors = vectors_of(nlp.vocab, "Bob")
    nlp.to_disk(folder / "zh")
    assert corpus_stats(train, vectors=folder / "zh" / part).lang == ("xx" if part else "zh")


def test_missing_annotation_is_named(vocab: Vocab) -> None:
    docs = [Doc(vocab, words=["Anna", "met"]), make_doc(vocab, "They met")]
    (warning,) = (x for x in corpus_stats(docs).warnings() if "Missing" in x)
    assert "in train: 2 of 4 tokens" in warning
    (warning,) = corpus_stats(docs[:1]).warnings()
    assert "No annotations in train: only texts are counted." in warning


def test_bad_input_is_named(folder: Path) -> None:
    DocBin().to_disk(folder / "empty.spacy")
    spacy.blank("en").to_disk(folder / "pipeline")
    for args, message in (
        (("train.spacy", "empty.spacy"), r"The corpus at .*empty\.spacy has no documents"),
        (("train.spacy", "--vectors", "nowhere"), "Cannot load the vectors of nowhere: expected"),
        (("train.spacy", "--vectors", "pipeline"), "has no vectors: its table is empty"),
        (("train.spacy", "--lang", "nolanguage"), "Can't import language nolanguage"),
        (("train.spacy", "--attrs", "NORM, PLACE"), "depend on a word alone, got 'PLACE'"),
        (("train.spacy", "--attrs", "MORPH[Case]"), r"got 'MORPH\[Case\]'"),
        (("train.spacy", "--attrs", "LOWER{3,5},ORTH[:2"), "each of attrs must be a name such"),
        (("train.spacy", "--attrs", "_.a b"), "must be the name of an extension"),
    ):
        error = refused(*(folder / x if (folder / x).exists() else x for x in args))
        assert re.search(message, error), error
    assert invoke(folder / "none.spacy").exit_code == 2


def sentences(vocab: Vocab, text: str, *starts: int) -> Doc:
    words = text.split(" ")
    return Doc(vocab, words=words, sent_starts=[i in starts for i in range(len(words))])


def test_sentences_that_are_in_training_are_counted(vocab: Vocab) -> None:
    train = [sentences(vocab, "Anna met Bob . He left .", 0, 4), make_doc(vocab, "a b")]
    dev = [
        sentences(vocab, "He left . Anna stayed .", 0, 3),
        Doc(vocab, words=["a", "\n", "b"]),  # whitespace makes no difference
        make_doc(vocab, "Anna met Bob . He left ."),
        make_doc(vocab, "b a"),
    ]
    seen = describe(vocab, train, *dev, *dev).seen["dev"]
    assert (seen.sentences, seen.sentences_in_train) == (10, 4)
    assert seen.tokens_in_train == (3 + 2) / (6 + 2 + 7 + 2)


def test_document_marks_labels_and_leaks_are_named(vocab: Vocab) -> None:
    train = [make_doc(vocab, "Anna met Bob", "B-PER", "O", "B-PER")]
    marks = [make_doc(vocab, "-DOCSTART-", "B-per")] * 5
    warnings = "\n".join(corpus_stats(train, [*marks, *train]).warnings())
    assert "PER, per" in warnings
    assert "Tokens -DOCSTART- in dev: 5." in warnings and "-DOCSTART- in train" not in warnings
    assert "Sentences of dev that are in train word for word: 1 of 6 (16.7 %)" in warnings


def test_texts_with_labels_need_no_entities(vocab: Vocab) -> None:
    docs = [Doc(vocab, words=["a", str(i)]) for i in range(4)]
    for i, doc in enumerate(docs):
        doc.cats = {"A": float(i % 2), "B": float(not i % 2)}
    stats = corpus_stats(docs)
    assert stats.splits["train"].cats == {"A": 2, "B": 2} and stats.warnings() == []
    assert "entit" not in str(stats)
    assert "entities per document" in str(corpus_stats(docs, [make_doc(vocab, "a", "B-X")]))


def placed(places: dict[str, list[int]], length: int) -> list[Doc]:
    """A doc for each token. Entities are at the given places."""
    words = ["word"] * length
    for word, at in places.items():
        for i in at:
            words[i] = word
    vocab = spacy.blank("xx").vocab
    return [Doc(vocab, words=[w], ents=["O" if w == "word" else "B-PER"]) for w in words]


def test_distant_share_is_of_entities_that_are_repeated_far_away() -> None:
    places = {"Anna": [0, 1, 60], "Bob": [40, 41], "Rome": [99]}
    repeats = find_repeats(placed(places, 100))
    assert repeats.distant_share == 3 / 6
    assert repeats.distant[0] == (2, 2) and repeats.distant[4] == (0, 2)
    assert repeats.is_shuffled is None
    assert find_repeats(placed({}, 10)).distant_share is None


@pytest.mark.parametrize("is_shuffled", [True, False])
def test_order_shows_whether_repeats_are_near(is_shuffled: bool) -> None:
    places = list(range(300))
    if is_shuffled:
        Random(0).shuffle(places)
    mentions = {f"name{i}": sorted(places[5 * i : 5 * i + 5]) for i in range(60)}
    assert find_repeats(placed(mentions, 300)).is_shuffled is is_shuffled


def test_more_seen_entities_than_distant_parts_have_are_a_warning() -> None:
    mentions = {f"name{i}": [4 * i, 4 * i + 1] for i in range(50)}
    train = placed(mentions, 200)
    vocab = train[0].vocab
    test = [Doc(vocab, words=[name], ents=["B-PER"]) for name in mentions]
    warnings = corpus_stats(train, test).warnings()
    assert any("in train: 100.0 %. Distant parts of train share 0.0 %" in x for x in warnings)
