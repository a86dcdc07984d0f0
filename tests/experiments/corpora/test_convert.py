import random
from pathlib import Path

import pytest
from spacy.tokens import Doc
from spacy.vocab import Vocab

from experiments.corpora.convert import DATASETS, SplitSummary, convert
from spacy_multihash.corpus.read import read_docs
from spacy_multihash.corpus.splits import SPLITS

ES = "Ana NP B-PER\nvive V O\nen SP O\nLa DA B-LOC\nPaz NP I-LOC\n\nEFE NC I-ORG\n. Fp O\n\n"


def write_assets(folder: Path, dataset: str, content: str) -> None:
    for name in DATASETS[dataset].files.values():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf8")


def read(tmp_path: Path, split: str) -> list[Doc]:
    return list(read_docs(tmp_path / "out" / f"{split}.spacy", Vocab()))


def test_convert_makes_a_doc_of_each_spanish_sentence(tmp_path: Path) -> None:
    write_assets(tmp_path, "conll-es", ES)
    assert convert("conll-es", tmp_path, tmp_path / "out") == [
        SplitSummary(split, docs=2, tokens=7, entities=3, opened_by_i=1) for split in SPLITS
    ]
    docs = read(tmp_path, "dev")
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
    assert [doc[0].text for split in SPLITS for doc in read(tmp_path, split)] == words


def test_convert_cuts_dev_off_train_where_only_test_is_published(tmp_path: Path) -> None:
    write_assets(tmp_path, "anem", "\n\n".join(f"w{i}\t0\t2\tO" for i in range(10)))
    summaries = convert("anem", tmp_path, tmp_path / "out")
    assert [(s.split, s.docs) for s in summaries] == [("train", 8), ("dev", 2), ("test", 10)]


def test_convert_counts_unprintable_tokens_and_keeps_them(tmp_path: Path) -> None:
    write_assets(tmp_path, "wnut17", "a\x85b\tO\n\uf0b7\tB-person\nc\tO\n")
    (train, *_) = convert("wnut17", tmp_path, tmp_path / "out")
    assert (train.tokens, train.unprintable) == (3, 2)
    (doc,) = read(tmp_path, "train")
    assert [token.text for token in doc] == ["a\x85b", "\uf0b7", "c"]


def test_convert_cuts_gum_by_blocks_of_neighbours(tmp_path: Path) -> None:
    sentences = "".join(f"s{i}\tO\n\n" for i in range(200))
    write_assets(tmp_path, "gum", sentences)
    convert("gum", tmp_path, tmp_path / "out")
    words = [[doc[0].text for doc in read(tmp_path, split)] for split in ("train", "dev")]
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
