"""Corpora of the experiments: converted, cut to a few sentences, and generated."""

import random
from collections import Counter
from pathlib import Path

import pytest
from spacy.tokens import Doc, DocBin
from spacy.vocab import Vocab

from experiments.corpora import sample_words
from experiments.corpora.convert import DATASETS, SplitSummary, convert
from experiments.corpora.cut import cut_corpus
from experiments.corpora.sample import Sentence, make_sample, make_sentences
from experiments.corpora.topics import SIZES, TOPICS, make_topics
from spacy_multihash.corpus.read import read_docs
from spacy_multihash.corpus.splits import SPLITS

# Data sets


ES = "Ana NP B-PER\nvive V O\nen SP O\nLa DA B-LOC\nPaz NP I-LOC\n\nEFE NC I-ORG\n. Fp O\n\n"


def write_assets(folder: Path, dataset: str, content: str) -> None:
    for name in DATASETS[dataset].files.values():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf8")


def read(folder: Path, split: str) -> list[Doc]:
    return list(read_docs(folder / f"{split}.spacy", Vocab()))


def first_words(folder: Path, split: str = "train") -> list[str]:
    return [doc[0].text for doc in read(folder, split)]


def test_convert_makes_a_doc_of_each_spanish_sentence(tmp_path: Path) -> None:
    write_assets(tmp_path, "conll-es", ES)
    assert convert("conll-es", tmp_path, tmp_path / "out") == [
        SplitSummary(split, docs=2, tokens=7, entities=3, opened_by_i=1) for split in SPLITS
    ]
    docs = read(tmp_path / "out", "dev")
    words = [[token.text for token in doc] for doc in docs]
    assert words == ["Ana vive en La Paz".split(), ["EFE", "."]]
    ents = [[(ent.text, ent.label_) for ent in doc.ents] for doc in docs]
    assert ents == [[("Ana", "PER"), ("La Paz", "LOC")], [("EFE", "ORG")]]


def test_convert_writes_no_split_when_one_fails(tmp_path: Path) -> None:
    write_assets(tmp_path, "conll-es", ES)
    out = tmp_path / "out"
    convert("conll-es", tmp_path, out)
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    write_assets(tmp_path, "conll-es", "Hola NC O\n")
    (tmp_path / DATASETS["conll-es"].files["test"]).write_text("Hola NC O\nbroken\n")
    with pytest.raises(ValueError, match="esp.testb:2"):
        convert("conll-es", tmp_path, out)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


def test_convert_cuts_a_data_set_without_splits_in_the_report_s_way(tmp_path: Path) -> None:
    words = [f"w{i}" for i in range(20)]
    archaeo = "\n\n".join(f"{word} N [x] O" for word in words)
    write_assets(tmp_path, "archaeo", archaeo)
    summaries = convert("archaeo", tmp_path, tmp_path / "out")
    assert [(s.split, s.docs) for s in summaries] == [("train", 16), ("dev", 2), ("test", 2)]
    random.seed(42)
    random.shuffle(words)
    assert [doc[0].text for split in SPLITS for doc in read(tmp_path / "out", split)] == words


def test_convert_cuts_dev_off_train_where_only_test_is_published(tmp_path: Path) -> None:
    write_assets(tmp_path, "anem", "\n\n".join(f"w{i}\t0\t2\tO" for i in range(10)))
    summaries = convert("anem", tmp_path, tmp_path / "out")
    assert [(s.split, s.docs) for s in summaries] == [("train", 8), ("dev", 2), ("test", 10)]


def test_convert_counts_unprintable_tokens_and_keeps_them(tmp_path: Path) -> None:
    write_assets(tmp_path, "wnut17", "a\x85b\tO\n\uf0b7\tB-person\nc\tO\n")
    (train, *_) = convert("wnut17", tmp_path, tmp_path / "out")
    assert (train.tokens, train.unprintable) == (3, 2)
    (doc,) = read(tmp_path / "out", "train")
    assert [token.text for token in doc] == ["a\x85b", "\uf0b7", "c"]


def test_convert_cuts_gum_by_blocks_of_neighbours(tmp_path: Path) -> None:
    sentences = "".join(f"s{i}\tO\n\n" for i in range(200))
    write_assets(tmp_path, "gum", sentences)
    convert("gum", tmp_path, tmp_path / "out")
    words = [first_words(tmp_path / "out", split) for split in ("train", "dev")]
    assert [len(split) for split in words] == [180, 20]
    assert sorted(words[0] + words[1]) == sorted(f"s{i}" for i in range(200))
    for block in (words[1][:10], words[1][10:]):
        first = int(block[0][1:])
        assert first % 10 == 0 and block == [f"s{i}" for i in range(first, first + 10)]


@pytest.mark.parametrize(
    ("dataset", "assets", "message"),
    [
        ("conll-xx", ES, "'conll-xx'. Choose one of: conll-es, conll-nl"),
        ("conll-es", "\n\n", r"esp\.train: expected tagged tokens, found none"),
        ("conll-es", None, r"esp\.train is missing.*spacy project assets"),
        ("conll-nl", "Jan N B-PER\n", r"ned\.train:1: expected a line '-DOCSTART-'"),
    ],
)
def test_convert_says_what_is_missing(
    dataset: str, assets: str | None, message: str, tmp_path: Path
) -> None:
    if assets is not None and dataset in DATASETS:
        write_assets(tmp_path, dataset, assets)
    with pytest.raises((FileNotFoundError, ValueError), match=message):
        convert(dataset, tmp_path, tmp_path / "out")


# Corpora of a few sentences


SENTENCES = 3  # in each doc


def write_corpus(folder: Path, *, split: bool) -> Path:
    starts = [split] * SENTENCES if split else None
    docs = [Doc(Vocab(), words=[str(i), "b", "c"], sent_starts=starts) for i in range(20)]
    folder.mkdir()
    for name in ("train", "dev", "test"):
        DocBin(docs=docs).to_disk(folder / f"{name}.spacy")
    return folder


def test_cut_takes_whole_docs_until_there_are_enough_sentences(tmp_path: Path) -> None:
    corpus, out = write_corpus(tmp_path / "a", split=True), tmp_path / "out"
    assert cut_corpus(corpus, out, 10) == 12
    assert len(first_words(out)) == 4
    assert cut_corpus(write_corpus(tmp_path / "b", split=False), out, 10) == 10
    assert len(first_words(out)) == 10
    for split in ("dev", "test"):
        assert first_words(out, split) == first_words(corpus, split)


def test_cuts_of_a_seed_are_the_same_and_nested(tmp_path: Path) -> None:
    corpus, words = write_corpus(tmp_path / "a", split=True), []
    for number, seed in ((10, 0), (10, 0), (30, 0), (10, 1)):
        cut_corpus(corpus, tmp_path / "out", number, seed)
        words.append(first_words(tmp_path / "out"))
    assert words[0] == words[1] == words[2][:4] != words[3]


def test_cut_of_more_than_there_is_is_an_error(tmp_path: Path) -> None:
    corpus = write_corpus(tmp_path / "a", split=True)
    with pytest.raises(ValueError, match="only 60 sentences"):
        cut_corpus(corpus, tmp_path / "out", 61)
    assert not (tmp_path / "out").exists()


# The generated corpora: of sentences with entities, and of topics


Splits = dict[str, list[Sentence]]


@pytest.fixture(scope="module")
def splits() -> Splits:
    return make_sentences(0)


@pytest.fixture(scope="module")
def sample_dir(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("sample")
    make_sample(folder)
    return folder


def test_same_seed_gives_same_bytes(sample_dir: Path, tmp_path: Path) -> None:
    make_sample(tmp_path, seed=0)
    names = sorted(path.name for path in sample_dir.iterdir())
    assert names == ["dev.spacy", "test.spacy", "train.spacy"]
    for name in names:
        assert (tmp_path / name).read_bytes() == (sample_dir / name).read_bytes()


@pytest.mark.parametrize("held_out", ["dev", "test"])
def test_held_out_names_occur_in_their_split_only(splits: Splits, held_out: str) -> None:
    pool = sample_words.make_pools(random.Random(0))[held_out]
    own = {word.lower() for words in pool.values() for word in words}
    for split, sentences in splits.items():
        found = own.intersection(word.lower() for s in sentences for word in s.words)
        assert bool(found) == (split == held_out)


@pytest.fixture(scope="module")
def topics(tmp_path_factory: pytest.TempPathFactory) -> Path:
    path = tmp_path_factory.mktemp("topics")
    make_topics(path)
    return path


def test_every_text_has_one_of_all_topics_and_each_topic_as_many_texts(topics: Path) -> None:
    for split, size in SIZES.items():
        docs = read(topics, split)
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
        texts.append([doc.text for doc in read(tmp_path, "dev")])
    assert texts[0] == texts[1] != texts[2]
