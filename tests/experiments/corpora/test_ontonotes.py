"""OntoNotes in the CoNLL-2012 format, from handmade files."""

from pathlib import Path

import pytest
import spacy

from experiments.corpora.convert import SplitSummary, convert
from experiments.corpora.ontonotes import read_records
from spacy_multihash.corpus.read import read_docs

HEAD = "#begin document (bc/cctv/00/cctv_0000); part 000\n"
END = "#end document\n"


def row(word: str, entity: str) -> str:
    return f"bc/cctv/00/cctv_0000  0  0  {word}  NN  *  -  -  -  Speaker#1  {entity}  *  -\n"


def document(*sentences: list[tuple[str, str]]) -> str:
    text = "\n".join("".join(row(*token) for token in sentence) for sentence in sentences)
    return f"{HEAD}{text}\n{END}"


BEIJING = [("Beijing", "(GPE)"), ("grew", "*"), ("10", "(PERCENT*"), ("%", "*)")]
RAIN = [("Rain", "*")]


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / "data" / name / "data/english/annotations/bc/cctv.gold_conll"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf8")
    return path


def write_all(folder: Path) -> None:
    write(folder, "train", document(BEIJING, RAIN) + document(RAIN))
    write(folder, "development", document(RAIN))
    write(folder, "test", document(BEIJING))


def test_convert_reads_documents_sentences_and_entities(tmp_path: Path) -> None:
    write_all(tmp_path)
    assert convert("ontonotes", tmp_path, tmp_path / "out") == [
        SplitSummary("train", 2, 6, 2),
        SplitSummary("dev", 1, 1, 0),
        SplitSummary("test", 1, 4, 2),
    ]
    doc, _ = read_docs(tmp_path / "out" / "train.spacy", spacy.blank("en").vocab)
    assert [sent.text for sent in doc.sents] == ["Beijing grew 10 %", "Rain"]
    assert [(ent.text, ent.label_) for ent in doc.ents] == [("Beijing", "GPE"), ("10 %", "PERCENT")]


def test_convert_leaves_other_languages_out(tmp_path: Path) -> None:
    write_all(tmp_path)
    arabic = tmp_path / "data/train/data/arabic/annotations/x.gold_conll"
    arabic.parent.mkdir(parents=True)
    arabic.write_text(document(RAIN), encoding="utf8")
    (train, *_) = convert("ontonotes", tmp_path, tmp_path / "out")
    assert train.docs == 2


def test_convert_says_where_ontonotes_comes_from(tmp_path: Path) -> None:
    with pytest.raises(FileNotFoundError, match=r"train/.*found none.*LDC2013T19"):
        convert("ontonotes", tmp_path, tmp_path / "out")


@pytest.mark.parametrize(
    ("text", "message"),
    [
        (HEAD + "a b c\n", r"gold_conll:2: expected 11 columns or more, found 3"),
        (HEAD + row("[WORD]", "*"), r"gold_conll:2: .*Run skeleton2conll"),
        (HEAD + row("a", "*)"), r"gold_conll:2: expected an entity like .*found '\*\)'"),
        (
            HEAD + row("a", "(GPE*") + row("b", "(ORG)"),
            r"gold_conll:3: .*within GPE, found '\(ORG\)'",
        ),
        (HEAD + row("a", "(GPE*") + "\n", r"gold_conll:3: expected the end of the entity GPE"),
        (HEAD + row("a", "B-gpe"), r"gold_conll:2: .*found 'B-gpe'"),
        (HEAD + row("a", "PERSON"), r"gold_conll:2: .*found 'PERSON'"),
        (HEAD + row("a", "(GPE*") + row("b", "ORG*)"), r"gold_conll:3: .*found 'ORG\*\)'"),
        (HEAD + row("a", "*"), r"gold_conll:2: expected a line '#end document', found the end of"),
        (row("a", "*"), r"gold_conll:1: expected a line '#begin document' first, found"),
        (HEAD + HEAD, r"gold_conll:2: expected a line '#end document' first, found"),
    ],
)
def test_read_records_names_file_and_line(tmp_path: Path, text: str, message: str) -> None:
    path = write(tmp_path, "train", text)
    with pytest.raises(ValueError, match=message):
        list(read_records(path))


def test_read_records_refuses_another_encoding(tmp_path: Path) -> None:
    path = write(tmp_path, "train", "")
    path.write_bytes((HEAD + row("ni\xf1o", "*")).encode("latin-1"))
    with pytest.raises(ValueError, match=r"gold_conll:2: expected UTF-8, found byte 0xf1"):
        list(read_records(path))
