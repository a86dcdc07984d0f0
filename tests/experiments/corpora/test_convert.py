import random
from pathlib import Path

import pytest
import spacy
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Doc, DocBin

from experiments.corpora.convert import (
    DATASETS,
    DatasetSpec,
    SplitSummary,
    convert,
    convert_cli,
    read_records,
    read_split,
)
from spacy_multihash.corpus.conll import Record

ES = "Ana NP B-PER\nvive V O\nen SP O\nLa DA B-LOC\nPaz NP I-LOC\n\nEFE NC I-ORG\n. Fp O\n\n"
NL = (
    "-DOCSTART- -DOCSTART- O\nJan N B-PER\nslaapt V O\n\nIn Prep O\nGent N B-LOC\n\n"
    "-DOCSTART- -DOCSTART- O\nKBC N B-ORG\n\n"
)
ENGLISH_FILES = DatasetSpec("en", {})


def write_assets(folder: Path, dataset: str, content: str) -> None:
    for name in DATASETS[dataset].files.values():
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(content, encoding="utf8")


def replace_asset(folder: Path, dataset: str, split: str, content: bytes) -> Path:
    path = folder / DATASETS[dataset].files[split]
    path.write_bytes(content)
    return path


def read_docs(path: Path, lang: str) -> list[Doc]:
    return list(DocBin().from_disk(path).get_docs(spacy.blank(lang).vocab))


def entities(doc: Doc) -> list[tuple[str, str]]:
    return [(ent.text, ent.label_) for ent in doc.ents]


def test_convert_makes_a_doc_of_each_spanish_sentence(tmp_path: Path) -> None:
    write_assets(tmp_path, "conll-es", ES)
    convert("conll-es", tmp_path, tmp_path / "out")
    docs = read_docs(tmp_path / "out" / "dev.spacy", "es")
    assert [[token.text for token in doc] for doc in docs] == [
        ["Ana", "vive", "en", "La", "Paz"],
        ["EFE", "."],
    ]
    assert [entities(doc) for doc in docs] == [
        [("Ana", "PER"), ("La Paz", "LOC")],
        [("EFE", "ORG")],
    ]


def test_convert_makes_a_doc_of_each_dutch_document(tmp_path: Path) -> None:
    write_assets(tmp_path, "conll-nl", NL)
    convert("conll-nl", tmp_path, tmp_path / "out")
    docs = read_docs(tmp_path / "out" / "train.spacy", "nl")
    assert [[sent.text for sent in doc.sents] for doc in docs] == [
        ["Jan slaapt", "In Gent"],
        ["KBC"],
    ]
    assert [entities(doc) for doc in docs] == [[("Jan", "PER"), ("Gent", "LOC")], [("KBC", "ORG")]]


def test_convert_counts_what_it_wrote(tmp_path: Path) -> None:
    write_assets(tmp_path, "conll-es", ES)
    assert convert("conll-es", tmp_path, tmp_path / "out") == [
        SplitSummary("train", docs=2, tokens=7, entities=3, opened_by_i=1),
        SplitSummary("dev", docs=2, tokens=7, entities=3, opened_by_i=1),
        SplitSummary("test", docs=2, tokens=7, entities=3, opened_by_i=1),
    ]


def test_convert_writes_no_split_when_one_fails(tmp_path: Path) -> None:
    write_assets(tmp_path, "conll-es", ES)
    out = tmp_path / "out"
    convert("conll-es", tmp_path, out)
    before = {path.name: path.read_bytes() for path in out.iterdir()}
    write_assets(tmp_path, "conll-es", "Hola NC O\n")
    replace_asset(tmp_path, "conll-es", "test", b"Hola NC O\nbroken\n")
    with pytest.raises(ValueError, match="esp.testb:2"):
        convert("conll-es", tmp_path, out)
    assert {path.name: path.read_bytes() for path in out.iterdir()} == before


@pytest.mark.parametrize(
    ("line", "message"),
    [
        (b"vive V", r"esp\.testa:7: expected 3 columns as .* found 2 in 'vive V'"),
        (b"vive V PER", r"esp\.testa:7: expected the tag .* in the last column, found 'PER'"),
        (b"vivi\xf3 V O", r"esp\.testa:7: expected UTF-8, found byte 0xf3 at position 4"),
    ],
)
def test_convert_names_file_and_line_of_malformed_line(
    tmp_path: Path, line: bytes, message: str
) -> None:
    write_assets(tmp_path, "conll-es", ES)
    good = ES.split("\n\n")[0].encode() + b"\n\n"
    replace_asset(tmp_path, "conll-es", "dev", good + line + b"\n")
    with pytest.raises(ValueError, match=message):
        convert("conll-es", tmp_path, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_read_records_ignores_byte_order_mark_and_windows_line_ends(tmp_path: Path) -> None:
    path = tmp_path / "es.txt"
    path.write_bytes(b"\xef\xbb\xbfAna NP B-PER\r\n\r\nvive V O\r\n")
    records = list(read_records(path, DATASETS["conll-es"]))
    assert records == [
        Record(["Ana"], ["B-PER"], [True], [1]),
        Record(["vive"], ["O"], [True], [3]),
    ]


def test_read_records_skips_documents_without_tokens(tmp_path: Path) -> None:
    path = tmp_path / "nl.txt"
    path.write_text("-DOCSTART- -DOCSTART- O\n\n" + NL, encoding="utf8")
    assert [r.words for r in read_records(path, DATASETS["conll-nl"])] == [
        ["Jan", "slaapt", "In", "Gent"],
        ["KBC"],
    ]


def test_read_records_takes_two_columns_and_a_lone_tab_as_blank(tmp_path: Path) -> None:
    path = tmp_path / "two.tsv"
    path.write_text('"\tO\nnew york\tB-creative-work\n\t\nx\tO\n', encoding="utf8")
    records = list(read_records(path, ENGLISH_FILES))
    assert [record.words for record in records] == [['"', "new york"], ["x"]]
    assert records[0].tags == ["O", "B-creative-work"]


def test_convert_cli_exits_with_1_and_says_why(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(SystemExit, match="1"):
        convert_cli("conll-xx", tmp_path, tmp_path / "out")
    assert "Unknown data set 'conll-xx'" in capsys.readouterr().out


def test_convert_cuts_a_data_set_without_splits_in_the_report_s_way(tmp_path: Path) -> None:
    words = [f"w{i}" for i in range(20)]
    archaeo = "\n\n".join(f"{word} N [x] O" for word in words)
    write_assets(tmp_path, "archaeo", archaeo)
    summaries = convert("archaeo", tmp_path, tmp_path / "out")
    assert [(summary.split, summary.docs) for summary in summaries] == [
        ("train", 16),
        ("dev", 2),
        ("test", 2),
    ]
    random.seed(42)
    random.shuffle(words)
    docs = [
        doc[0].text
        for split in ("train", "dev", "test")
        for doc in read_docs(tmp_path / "out" / f"{split}.spacy", "nl")
    ]
    assert docs == words


def test_convert_cuts_dev_off_train_where_only_test_is_published(tmp_path: Path) -> None:
    write_assets(tmp_path, "anem", "\n\n".join(f"w{i}\t0\t2\tO" for i in range(10)))
    summaries = convert("anem", tmp_path, tmp_path / "out")
    assert [(s.split, s.docs) for s in summaries] == [("train", 8), ("dev", 2), ("test", 10)]


def test_convert_counts_unprintable_tokens_and_keeps_them(tmp_path: Path) -> None:
    write_assets(tmp_path, "wnut17", "a\x85b\tO\n\uf0b7\tB-person\nc\tO\n")
    (train, *_) = convert("wnut17", tmp_path, tmp_path / "out")
    assert (train.tokens, train.unprintable) == (3, 2)
    (doc,) = read_docs(tmp_path / "out" / "train.spacy", "en")
    assert [token.text for token in doc] == ["a\x85b", "\uf0b7", "c"]


# A contract: the words and spans that a file states are the words and entities of the Docs.
WORDS = st.text(st.characters(categories=["L", "N", "P", "S"]), min_size=1, max_size=6)
CHUNKS = st.tuples(
    st.lists(WORDS, min_size=1, max_size=3), st.sampled_from(["", "PER", "LOC", "creative-work"])
)
SENTENCES = st.lists(CHUNKS, min_size=1, max_size=5)
ENGLISH = spacy.blank("en").vocab


@given(corpus=st.lists(SENTENCES, min_size=1, max_size=4))
def test_read_split_gives_back_words_and_entities(
    tmp_path_factory: pytest.TempPathFactory, corpus: list[list[tuple[list[str], str]]]
) -> None:
    lines = []
    for sentence in corpus:
        for words, label in sentence:
            tags = [f"{'I' if i else 'B'}-{label}" if label else "O" for i in range(len(words))]
            lines.extend(f"{word}\t{tag}" for word, tag in zip(words, tags, strict=True))
        lines.append("")
    path = tmp_path_factory.mktemp("round-trip") / "corpus.tsv"
    path.write_text("\n".join(lines), encoding="utf8", newline="\n")
    doc_bin, _ = read_split(path, read_records(path, ENGLISH_FILES), ENGLISH, "train")
    loaded = DocBin().from_bytes(doc_bin.to_bytes())
    docs = list(loaded.get_docs(ENGLISH))
    assert [[token.text for token in doc] for doc in docs] == [
        [word for words, _ in sentence for word in words] for sentence in corpus
    ]
    assert [entities(doc) for doc in docs] == [
        [(" ".join(words), label) for words, label in sentence if label] for sentence in corpus
    ]


def test_convert_cuts_gum_by_blocks_of_neighbours(tmp_path: Path) -> None:
    sentences = "".join(f"s{i}\tO\n\n" for i in range(200))
    write_assets(tmp_path, "gum", sentences)
    convert("gum", tmp_path, tmp_path / "out")
    words = [[doc[0].text for doc in read_docs(tmp_path / "out" / f"{split}.spacy", "en")]
             for split in ("train", "dev")]  # fmt: skip
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
