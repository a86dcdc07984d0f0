"""The command that converts a corpus of one's own."""

import os
import re
from functools import partial
from pathlib import Path

import pytest
import spacy
import srsly
from spacy.tokens import Doc, DocBin
from spacy.training import Corpus

from spacy_multihash.cli.convert import convert
from spacy_multihash.corpus.read import read_docs
from tests.helpers import cli
from tests.helpers.cli import said

invoke = partial(cli.invoke, "convert")
ok = partial(cli.ok, "convert")

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
    result = ok(write(tmp_path, CONLL, "my.conll"), tmp_path / "new" / "my.spacy")
    assert "my.conll is CoNLL with IOB1 tags" in said(result)
    assert "documents 1 tokens 4 entities 2 ORG 1 PER 1" in said(result)
    assert "⚠" not in result.output
    (example,) = Corpus(tmp_path / "new" / "my.spacy")(spacy.blank("en"))
    assert [token.text for token in example.predicted] == ["EU", "rejects", "Anna", "Paz"]
    assert [ent.text for ent in example.reference.ents] == ["EU", "Anna Paz"]
    assert [path.name for path in (tmp_path / "new").iterdir()] == ["my.spacy"]


def test_options_of_conll_reach_the_reader(tmp_path: Path) -> None:
    path = write(tmp_path, CONLL.replace("I-ORG", "I-ORG x").replace(" O\n", " O x\n"), "my.txt")
    path.write_text(path.read_text().replace("I-PER", "I-PER x"))
    options = ["--format", "conll", "--token-column", "-4", "--tag-column", "3"]
    result = ok(path, tmp_path / "my.spacy", *options, "--docs", "sentences")
    assert "documents 2 tokens 4 entities 2" in said(result)


def test_a_file_without_blank_lines_is_pointed_out_and_cut(tmp_path: Path) -> None:
    lines = "".join(f"It O\nrains O\n{i} O\nAnna B-PER\n" for i in range(300))
    path = write(tmp_path, lines, "my.conll")
    result = invoke(path, tmp_path / "my.spacy")
    assert "A sentence has 1,200 tokens" in said(result) and "--docs 100" in said(result)
    result = invoke(path, tmp_path / "split", "--split", "0.8,0.2")
    assert result.exit_code == 1
    assert "There is 1 document, which --split can't part. A sentence has 1,200" in said(result)
    result = invoke(path, tmp_path / "my.spacy", "--docs", "100", "--force")
    assert "documents 12 tokens 1,200" in said(result) and "A sentence has" not in said(result)
    ok(path, tmp_path / "s", "--docs", "100", "--split", "0.8,0.2")


def test_numbers_of_tags_are_named(tmp_path: Path) -> None:
    path = write(tmp_path, '{"tokens": ["Anna", "met"], "ner_tags": [1, 0]}\n', "my.jsonl")
    result = invoke(path, tmp_path / "my.spacy", "--labels", "O, B-PER")
    assert "is JSON lines with IOB2 tags" in said(result)
    assert "entities 1 PER 1" in said(result)
    result = invoke(path, tmp_path / "my.spacy", "--labels", "O, B-PER")
    assert "exists. Give another OUTPUT" in said(result)


def test_odd_tags_are_shown(tmp_path: Path) -> None:
    path = write(tmp_path, "Anna B-PER\n\nBob I-PER\n", "my.conll")
    result = invoke(path, tmp_path / "my.spacy")
    assert "⚠ I- tags without a B- before them, read as B- (1)" in said(result), result.output


def test_what_is_left_out_is_shown_with_its_lines(tmp_path: Path) -> None:
    path = write(tmp_path, JSONL, "my.jsonl")
    result = ok(path, tmp_path / "my.spacy", "--lang", "en")
    assert "documents 2 tokens 5 entities 2 LOC 1 PER 1" in said(result)
    assert "Left out: entity that does not align with tokens (1 of 3)" in said(result)
    assert "my.jsonl:1: PER 'Bo' (9 to 11), in 'Bob'" in said(result)
    assert "Left out: text without words (1)" in said(result)
    line = '{"text": "Anna", "label": [[0, 3, "X"]]}\n'
    lines = '{"text": "Rome", "label": [[0, 4, "X"]]}\n' + line * 12
    result = invoke(write(tmp_path, lines, "my.jsonl"), tmp_path / "my.spacy", "--force")
    assert "tokens (12 of 13)" in said(result)
    assert "my.jsonl:4: " in said(result) and "my.jsonl:5: " not in said(result)
    assert "and 9 more" in said(result)
    result = invoke(tmp_path / "my.jsonl", tmp_path / "my.spacy", "--force", "--verbose")
    assert all(f"my.jsonl:{line}: " in said(result) for line in range(2, 14))
    assert "12 of 13 entities would fit, 1 do now, if their offsets end at the last" in said(result)


@pytest.mark.parametrize(
    ("offsets", "spans"),
    [
        ("characters", [[2, 6], [18, 22]]),
        ("utf16", [[3, 7], [20, 24]]),
        ("utf8", [[5, 9], [24, 28]]),
        ("inclusive", [[2, 5], [18, 21]]),
        ("-1", [[3, 7], [19, 23]]),
    ],
)
def test_other_offsets_are_named_and_read(
    tmp_path: Path, offsets: str, spans: list[list[int]]
) -> None:
    record = {"text": "😀 Anna met 😀 Bob, Rome.", "label": [[*span, "X"] for span in spans]}
    path = write(tmp_path, srsly.json_dumps(record) + "\n", "my.jsonl")
    output = tmp_path / "my.spacy"
    if offsets != "characters":
        result = invoke(path, output)
        assert result.exit_code == 1 and not output.exists()
        assert "No entity is left. 2 of 2 entities would fit, 0 do now" in said(result)
        assert f"try --offsets {offsets} " in said(result)
        assert "\nLeft out: entity that" in result.output  # lines of an error stay lines
    ok(path, output, "--offsets", offsets)
    (doc,) = read(output)
    assert [ent.text for ent in doc.ents] == ["Anna", "Rome"]


def test_rejected_entities_are_kept_apart(tmp_path: Path) -> None:
    spans = [(0, 4, "accept"), (16, 20, "reject"), (9, 12, "ignore"), (0, 4, "reject")]
    record = {
        "text": "Anna met Bob in Oslo.",
        "spans": [{"start": s, "end": e, "label": "PER", "answer": a} for s, e, a in spans],
    }
    path = write(tmp_path, srsly.json_dumps(record) + "\n", "my.jsonl")
    result = ok(path, tmp_path / "my.spacy")
    assert "Put into doc.spans['incorrect_spans'], not doc.ents: entity that was" in said(result)
    (doc,) = read(tmp_path / "my.spacy")
    assert [ent.text for ent in doc.ents] == ["Anna"]
    assert [(span.text, span.label_) for span in doc.spans["incorrect_spans"]] == [("Oslo", "PER")]


def test_all_wrong_lines_are_counted_in_one_run(tmp_path: Path) -> None:
    lines = ["EU\tB-ORG", *["\xa0\tO", "\u2028\tO", "\x1c\tO", "\u3000\tO"] * 2, "Peter\tB-PER"]
    result = invoke(write(tmp_path, "\n".join(lines), "my.conll"), tmp_path / "my.spacy")
    assert result.exit_code == 1
    assert all(f"my.conll:{line}: expected a token" in said(result) for line in range(2, 7))
    assert "my.conll:7" not in said(result)
    assert "8 lines are wrong; these are the first five." in said(result)


def test_csv_is_split_with_a_seed(tmp_path: Path) -> None:
    path = write(tmp_path, CSV, "my.csv")
    texts = []
    for folder, seed in (("a", 0), ("b", 0), ("c", 1)):
        result = ok(path, tmp_path / folder, "--split", "0.5,0.25,0.25", "--seed", seed)
        assert "train dev test" in said(result) and "documents 10 5 5" in said(result)
        files = [tmp_path / folder / f"{name}.spacy" for name in ("train", "dev", "test")]
        texts.append([[doc.text for doc in read(file_)] for file_ in files])
        assert all(set(doc.cats) == {"A", "B"} for file_ in files for doc in read(file_))
    assert texts[0] == texts[1] != texts[2]
    assert sorted(sum(texts[0], [])) == sorted(sum(texts[2], [])) and len(sum(texts[0], [])) == 20


@pytest.mark.parametrize(
    ("name", "row"), [("my.csv", "text {},A\n"), ("my.conll", "text O\n{} B-PER\n\n")]
)
def test_same_texts_stay_in_one_split(name: str, row: str, tmp_path: Path) -> None:
    rows = "".join(row.format(i % 10) for i in range(30))
    path = write(tmp_path, f"text,label\n{rows}" if name == "my.csv" else rows, name)
    ok(path, tmp_path / "out", "--split", "0.5,0.5")
    parts = [{doc.text for doc in read(tmp_path / "out" / f"{x}.spacy")} for x in ("train", "dev")]
    assert not parts[0] & parts[1] and len(parts[0] | parts[1]) == 10


def test_columns_and_labels_of_csv_can_be_named(tmp_path: Path) -> None:
    path = write(tmp_path, "body,kinds\na,A/B\nb,\n", "my.csv")
    options = ["--text-column", "body", "--label-column", "kinds", "--label-separator", "/"]
    result = ok(path, tmp_path / "my.spacy", *options)
    assert "documents 2 tokens 2 labels of texts 2 A 1 B 1" in said(result)


def test_a_folder_of_another_split_is_not_mixed_with_a_new_one(tmp_path: Path) -> None:
    path, folder = write(tmp_path, CSV, "my.csv"), tmp_path / "out"
    ok(path, folder, "--split", "0.5,0.25,0.25")
    result = invoke(path, folder, "--split", "0.5,0.5")
    assert "out has train.spacy, dev.spacy, test.spacy. Give another OUTPUT" in said(result)
    result = invoke(path, folder, "--split", "0.5,0.5", "--force")
    assert result.exit_code == 1 and "test.spacy is of another split" in said(result)
    assert len(read(folder / "train.spacy")) == 10
    (folder / "test.spacy").unlink()
    ok(path, folder, "--split", "0.25,0.75", "--force")
    assert len(read(folder / "train.spacy")) == 5


@pytest.mark.parametrize(
    ("output", "options", "message"),
    [
        ("out", [], r"Expected as OUTPUT the name of a .spacy file, was: "),
        ("x.spacy", ["--split", "0.8,0.2"], r"Expected a folder as OUTPUT with --split, was: "),
        ("my.conll/out", ["--split", "0.8,0.2"], r"my\.conll isn't a writable folder"),
        ("out", ["--split", "0.8,rest"], r"Expected numbers with commas .* was: '0.8,rest'"),
        ("x.spacy", ["--lang", "nolanguage"], r"Can't import language nolanguage"),
        ("x.spacy", ["--format", "csv"], r"my\.conll:1: expected a header with the columns"),
        ("x.spacy", ["--tag-column", "0"], "Columns count from 1, or from -1 at the end"),
    ],
)
def test_a_bad_option_is_named_and_nothing_is_written(
    tmp_path: Path, output: str, options: list[str], message: str
) -> None:
    path = write(tmp_path, CONLL, "my.conll")
    result = invoke(path, tmp_path / output, *options)
    assert result.exit_code == 1
    assert re.search(message, said(result))
    assert [file_.name for file_ in tmp_path.iterdir()] == ["my.conll"]


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_a_pipe_is_refused_since_it_is_read_more_than_once(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "my.conll")
    result = invoke(tmp_path / "my.conll", tmp_path / "my.spacy")
    assert result.exit_code == 1
    assert "was a pipe or a device: " in said(result) and "Save it to a file first." in said(result)


def test_nothing_is_left_where_writing_fails(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: DocBin, path: Path) -> None:
        raise OSError("disk full")

    path = write(tmp_path, CSV, "my.csv")
    monkeypatch.setattr(DocBin, "to_disk", fail)
    with pytest.raises(OSError, match="disk full"):
        convert(path, tmp_path / "out", shares=[0.5, 0.5])
    assert list((tmp_path / "out").iterdir()) == []
