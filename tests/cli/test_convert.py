"""The command and the function that convert a corpus of one's own."""

import json
import os
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import spacy
from spacy.tokens import Doc, DocBin
from spacy.training import Corpus

from spacy_multihash import Reading, convert
from spacy_multihash.corpus.read import read_docs
from tests.helpers import cli
from tests.helpers.cli import said

ok = partial(cli.ok, "convert")
refused = partial(cli.refused, "convert")

CONLL = "-DOCSTART- -X- O\n\nEU NNP I-ORG\nrejects VBZ O\n\nAnna NNP I-PER\nPaz NNP I-PER\n"
JSONL = (
    '{"text": "Anna met Bob.", "label": [[0, 4, "PER"], [9, 11, "PER"]]}\n'
    '{"text": " ", "label": []}\n{"text": "Rome", "label": [[0, 4, "LOC"]]}\n'
)
CSV = "text,label\n" + "".join(f"word {i},{'AB'[i % 2]}\n" for i in range(20))


def write(folder: Path, content: str, name: str) -> Path:
    path = folder / name
    path.write_text(content, encoding="utf8")
    return path


def read(path: Path) -> list[Doc]:
    return list(read_docs(path, spacy.blank("en").vocab))


def test_conll_becomes_a_file_that_training_reads(tmp_path: Path) -> None:
    path = write(tmp_path, CONLL, "my.conll")
    result = ok(path, tmp_path / "new" / "my.spacy", "--docs", "documents")
    assert "is CoNLL with IOB1 tags" in said(result)
    assert "documents 1 tokens 4 entities 2 ORG 1 PER 1" in said(result)
    (example,) = Corpus(tmp_path / "new" / "my.spacy")(spacy.blank("en"))
    assert [token.text for token in example.predicted] == ["EU", "rejects", "Anna", "Paz"]
    assert [ent.text for ent in example.reference.ents] == ["EU", "Anna Paz"]
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["my.spacy"]


def test_all_options_reach_the_reader(tmp_path: Path) -> None:
    lines = CONLL.replace("I-ORG", "I-ORG x").replace(" O\n", " O x\n").replace("I-PER", "I-PER x")
    path, output = write(tmp_path, lines, "my.txt"), tmp_path / "my.spacy"
    options = ["--format", "conll", "--token-column", "-4", "--tag-column", "3"]
    assert "documents 2 tokens 4 entities 2" in said(ok(path, output, *options))
    path = write(tmp_path, '{"tokens": ["Anna", "met"], "ner_tags": [1, 0]}\n', "my.jsonl")
    result = ok(path, output, "--labels", "O, B-PER", "--force")
    assert "entities 1 PER 1" in said(result)
    path = write(tmp_path, "body,kinds\na,A/B\nb,\n", "my.csv")
    options = ["--text-column", "body", "--label-column", "kinds", "--label-separator", "/"]
    result = ok(path, output, *options, "--force", "--json")
    assert json.loads(result.stdout)["splits"]["my"]["cats"] == {"A": 1, "B": 1}


def test_files_are_converted_together(tmp_path: Path) -> None:
    paths = [write(tmp_path, CONLL, "my.conll"), write(tmp_path, JSONL, "my.jsonl")]
    result = ok(*paths, tmp_path / "my.spacy", "--lang", "en")
    assert "documents 4" in said(result)
    assert "my.conll 7 4 0 0 1 2" in said(result) and "my.jsonl 3 2 1 0 0 0" in said(result)
    assert len(read(tmp_path / "my.spacy")) == 4


def test_a_file_without_blank_lines_is_pointed_out_and_cut(tmp_path: Path) -> None:
    lines = "".join(f"It O\nrains O\n{i} O\nAnna B-PER\n" for i in range(300))
    path = write(tmp_path, lines, "my.conll")
    (note,) = convert(path).files[0].notes
    assert "1,200 tokens" in note and "--docs 100" in note
    with pytest.raises(ValueError, match="1 document, which --split can't part. A sentence has 1,"):
        convert(path, split=[0.8, 0.2])
    done = convert(path, split=[0.8, 0.2], reading=Reading(docs="100"))
    assert sum(split.docs for split in done.splits.values()) == 12 and not done.files[0].notes


def test_what_is_left_out_is_shown_with_its_lines(tmp_path: Path) -> None:
    path = write(tmp_path, JSONL, "my.jsonl")
    result = ok(path, tmp_path / "my.spacy", "--lang", "en")
    assert "documents 2 tokens 5" in said(result) and "entities 2 LOC 1 PER 1" in said(result)
    assert "does not align with tokens (1 of 3)" in said(result)
    assert "my.jsonl:1: PER 'Bo' (9 to 11), in 'Bob'" in said(result)
    assert "text without words (1)" in said(result)
    lines = (
        '{"text": "Rome", "label": [[0, 4, "X"]]}\n{"text": "Eve", "label": [[0, 1, "X"]]}\n' * 12
    )
    path = write(tmp_path, lines, "my.jsonl")
    result = ok(path, tmp_path / "my.spacy", "--force")
    assert "(12 of 24)" in said(result) and "and 9 more" in said(result)
    result = ok(path, tmp_path / "my.spacy", "--force", "--verbose")
    assert all(f"my.jsonl:{line}: " in said(result) for line in range(2, 25, 2))


@pytest.mark.parametrize(
    ("offsets", "spans"),
    [
        ("characters", [[2, 6], [18, 22]]),
        ("utf16", [[3, 7], [20, 24]]),
        ("inclusive", [[2, 5], [18, 21]]),
        ("utf8", [[5, 9], [24, 28]]),
        ("from-1", [[3, 6], [19, 22]]),
        ("-1", [[3, 7], [19, 23]]),
        ("1", [[1, 5], [17, 21]]),
        ("2", [[0, 4], [16, 20]]),
    ],
)
def test_other_offsets_are_named_and_read(offsets: str, spans: list[list[int]]) -> None:
    text = "😀 Anna met 😀 Bob, Rome."
    record = {"text": text, "label": [[*span, "X"] for span in spans]}
    if offsets != "characters":
        with pytest.raises(ValueError, match=rf"2 of 2 .* 0 do now.*--offsets {offsets}\)"):
            convert([record])
    (doc,) = convert([record], reading=Reading(offsets=offsets)).docs["docs"]
    assert [ent.text for ent in doc.ents] == ["Anna", "Rome"]


def test_lists_of_texts_are_converted() -> None:
    records: list[Any] = [
        ("Anna met Bob", [(0, 4, "PER"), (9, 12, "PER")]),
        ("Rome", {"entities": [(0, 4, "LOC")]}),
        {"text": "It rains", "spans": []},
    ]
    docs = convert(records, lang="en").docs["docs"]
    assert [len(doc.ents) for doc in docs] == [2, 1, 0]
    docs = convert([("good", "pos"), ("bad", "neg")]).docs["docs"]
    assert [doc.cats for doc in docs] == [{"neg": 0, "pos": 1}, {"neg": 1, "pos": 0}]
    with pytest.raises(ValueError, match="texts:2: expected an entity"):
        convert([("a", "x"), ("b", [(0, "X")])])


def test_all_wrong_lines_are_counted_in_one_run(tmp_path: Path) -> None:
    lines = ["EU\tB-ORG", *["\xa0\tO", "\u2028\tO", "\x1c\tO", "\u3000\tO"] * 2, "Peter\tB-PER"]
    error = refused(write(tmp_path, "\n".join(lines), "my.conll"), tmp_path / "my.spacy")
    assert all(f"my.conll:{line}: expected a token" in error for line in range(2, 7))
    assert "my.conll:7" not in error and "8 lines are wrong" in error


def test_csv_is_split_with_a_seed(tmp_path: Path) -> None:
    path = write(tmp_path, CSV, "my.csv")
    texts = []
    for seed in (0, 0, 1):
        args = ("--split", "0.5,0.25,0.25", "--seed", seed, "--force")
        assert "documents 10 5 5" in said(ok(path, tmp_path / "out", *args))
        parts = [read(tmp_path / "out" / f"{name}.spacy") for name in ("train", "dev", "test")]
        texts.append([[doc.text for doc in part] for part in parts])
        assert all(set(doc.cats) == {"A", "B"} for part in parts for doc in part)
    assert texts[0] == texts[1] != texts[2]
    assert sorted(sum(texts[0], [])) == sorted(sum(texts[2], [])) and len(sum(texts[0], [])) == 20


@pytest.mark.parametrize(
    ("name", "row"), [("my.csv", "text {},A{}\n"), ("my.conll", "text O\n{} B-PER\n\n")]
)
def test_same_texts_stay_in_one_split(name: str, row: str, tmp_path: Path) -> None:
    rows = "".join(row.format(i % 10, i % 2) for i in range(30))
    path = write(tmp_path, f"text,label\n{rows}" if name == "my.csv" else rows, name)
    docs = convert(path, split="0.5,0.5").docs
    parts = [{doc.text for doc in docs[x]} for x in ("train", "dev")]
    assert not parts[0] & parts[1] and len(parts[0] | parts[1]) == 10


def test_a_folder_of_another_split_is_not_mixed_with_a_new_one(tmp_path: Path) -> None:
    path, folder = write(tmp_path, CSV, "my.csv"), tmp_path / "out"
    convert(path, folder, split="0.5,0.25,0.25")
    with pytest.raises(ValueError, match=r"has train\.spacy, dev\.spacy, test\.spacy"):
        convert(path, folder, split="0.5,0.5")
    with pytest.raises(ValueError, match=r"test\.spacy is of another split"):
        convert(path, folder, split="0.5,0.5", force=True)
    assert len(read(folder / "train.spacy")) == 10
    (folder / "test.spacy").unlink()
    convert(path, folder, split="0.25,0.75", force=True)
    assert len(read(folder / "train.spacy")) == 5


@pytest.mark.parametrize(
    ("output", "options", "message"),
    [
        ("out", {}, r"OUTPUT the name of a .spacy file"),
        ("x.spacy", {"split": "0.8,0.2"}, r"Expected a folder as OUTPUT with --split"),
        ("my.conll/out", {"split": "0.8,0.2"}, r"my\.conll isn't a writable folder"),
        ("out", {"split": "0.8,rest"}, r"Expected numbers with commas .* got '0.8,rest'"),
        ("x.spacy", {"lang": "nolanguage"}, r"Can't import language nolanguage"),
        ("x.spacy", {"reading": Reading(format="csv")}, r"my\.conll:1: expected a header"),
    ],
)
def test_a_bad_option_is_named_and_nothing_is_written(
    tmp_path: Path, output: str, options: dict[str, Any], message: str
) -> None:
    path = write(tmp_path, CONLL, "my.conll")
    with pytest.raises((ImportError, ValueError), match=message):
        convert(path, tmp_path / output, **options)
    assert [file_.name for file_ in tmp_path.iterdir()] == ["my.conll"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_refused_since_it_is_read_more_than_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "my.conll")
    with pytest.raises(ValueError, match="read more than once"):
        convert(tmp_path / "my.conll")


def test_nothing_is_left_where_writing_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: DocBin, path: Path) -> None:
        raise OSError("disk full")

    path = write(tmp_path, CSV, "my.csv")
    monkeypatch.setattr(DocBin, "to_disk", fail)
    with pytest.raises(OSError, match="disk full"):
        convert(path, tmp_path / "out", split=[0.5, 0.5])
    assert list((tmp_path / "out").iterdir()) == []
