"""Texts with labels, as lines of JSON, to spaCy's binary format."""

import gzip
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
import spacy
import srsly
from _docbin import LabelSummary
from convert_textcat import (
    DEV_SHARE,
    LABELS,
    TEST_FILE,
    TRAIN_FILE,
    convert_textcat,
    convert_textcat_cli,
    read_texts,
)
from hypothesis import given
from hypothesis import strategies as st
from spacy.tokens import Doc, DocBin
from spacy.training import Corpus

TEXTS = [
    ("Oil rises  again.", "Business"),
    ("Don't look: a comet", "Sci/Tech"),
    ("Rome won 3-0\\in Oslo", "Sports"),
    ("Talks in Genève", "World"),
]


def lines_of(texts: list[tuple[str, str]]) -> str:
    return "".join(srsly.json_dumps({"label": b, "text": a}) + "\n" for a, b in texts)


def write_assets(folder: Path, train: str, test: str) -> None:
    for name, content in ((TRAIN_FILE, train), (TEST_FILE, test)):
        (folder / name).write_bytes(gzip.compress(content.encode("utf8")))


def read_docs(path: Path) -> list[Doc]:
    return list(DocBin().from_disk(path).get_docs(spacy.blank("en").vocab))


def test_every_text_keeps_its_words_and_has_all_labels(tmp_path: Path) -> None:
    write_assets(tmp_path, lines_of(TEXTS * 30), lines_of(TEXTS))
    convert_textcat(tmp_path, tmp_path / "out")
    docs = read_docs(tmp_path / "out" / "test.spacy")
    assert [doc.text for doc in docs] == [text for text, _ in TEXTS]
    assert [doc.cats for doc in docs] == [
        {name: float(name == label) for name in LABELS} for _, label in TEXTS
    ]
    nlp = spacy.blank("en")
    assert [[t.text for t in doc] for doc in docs] == [[t.text for t in nlp(a)] for a, _ in TEXTS]


def test_training_sees_the_same_tokens_as_a_pipeline_in_use(tmp_path: Path) -> None:
    write_assets(tmp_path, lines_of(TEXTS * 30), lines_of(TEXTS))
    convert_textcat(tmp_path, tmp_path / "out")
    nlp = spacy.blank("en")
    examples = Corpus(tmp_path / "out" / "test.spacy")(nlp)
    words = [[token.text for token in example.predicted] for example in examples]
    assert words == [[token.text for token in nlp(text)] for text, _ in TEXTS]


def test_dev_is_a_small_part_of_training_and_the_same_each_time(tmp_path: Path) -> None:
    texts = [(f"word {i}", LABELS[i % 4]) for i in range(2000)]
    write_assets(tmp_path, lines_of(texts), lines_of(TEXTS))
    parts = []
    for name in ("first", "second"):
        convert_textcat(tmp_path, tmp_path / name)
        parts.append(
            {
                split: [doc.text for doc in read_docs(tmp_path / name / f"{split}.spacy")]
                for split in ("train", "dev")
            }
        )
    assert parts[0] == parts[1]
    assert sorted(parts[0]["train"] + parts[0]["dev"]) == sorted(text for text, _ in texts)
    assert len(parts[0]["dev"]) / len(texts) == pytest.approx(DEV_SHARE, abs=0.02)


def test_convert_counts_what_it_wrote(tmp_path: Path) -> None:
    write_assets(tmp_path, lines_of(TEXTS * 30), lines_of(TEXTS))
    train, dev, test = convert_textcat(tmp_path, tmp_path / "out")
    assert train.docs + dev.docs == 120 and dev.docs > 0
    tokens = sum(len(doc) for doc in read_docs(tmp_path / "out" / "test.spacy"))
    assert test == LabelSummary("test", docs=4, tokens=tokens)


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", r"train_part\.jsonl\.gz:2: expected a JSON object on each line, found '\{'"),
        ("[1]", r'train_part\.jsonl\.gz:2: expected words as "text", found None in'),
        ('{"label": "World"}', r':2: expected words as "text", found None'),
        ('{"label": "World", "text": " "}', r':2: expected words as "text", found \' \''),
        ('{"label": "World", "text": 3}', r':2: expected words as "text", found 3'),
        ('{"text": "a"}', r':2: expected as "label" one of Business, .*; found None'),
        ('{"label": "world", "text": "a"}', r"World; found 'world'. Correct the line"),
        ('{"label": ["World"], "text": "a"}', r"World; found \['World'\]"),
        ("", r":2: expected a JSON object on each line, found ''"),
    ],
)
def test_a_malformed_line_is_named_and_nothing_is_written(
    tmp_path: Path, line: str, message: str
) -> None:
    write_assets(tmp_path, lines_of(TEXTS[:1]) + line + "\n", lines_of(TEXTS))
    with pytest.raises(ValueError, match=message):
        convert_textcat(tmp_path, tmp_path / "out")
    assert not (tmp_path / "out").exists()


@given(st.text(max_size=40))
def test_any_line_is_read_or_refused_with_its_place(line: str) -> None:
    with TemporaryDirectory() as folder:
        path = Path(folder) / "texts.jsonl"
        path.write_bytes(line.encode("utf8", errors="surrogatepass"))
        with pytest.raises(ValueError, match=r"texts\.jsonl:"):
            list(read_texts(path))


def test_a_file_that_is_cut_off_is_named_with_the_line(tmp_path: Path) -> None:
    write_assets(tmp_path, lines_of(TEXTS * 500), lines_of(TEXTS))
    path = tmp_path / TRAIN_FILE
    path.write_bytes(path.read_bytes()[:-20])
    with pytest.raises(ValueError, match=r"gz is cut off or damaged after line \d+ .*Copy it"):
        convert_textcat(tmp_path, tmp_path / "out")
    path.write_bytes(b"no gzip")
    with pytest.raises(ValueError, match=r"gz is cut off or damaged after line 0 "):
        convert_textcat(tmp_path, tmp_path / "out")


def test_an_empty_file_is_refused(tmp_path: Path) -> None:
    write_assets(tmp_path, "", lines_of(TEXTS))
    with pytest.raises(ValueError, match=r"part\.jsonl\.gz: expected texts, found none\. Take"):
        convert_textcat(tmp_path, tmp_path / "out")


def test_missing_files_lead_to_the_generated_corpus(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    with pytest.raises(FileNotFoundError, match=r"is missing\. Copy it there, or .*make-topics"):
        convert_textcat(tmp_path, tmp_path / "out")
    with pytest.raises(SystemExit, match="1"):
        convert_textcat_cli(tmp_path, tmp_path / "out")
    assert "Could not convert AG News" in capsys.readouterr().out


def test_command_shows_the_counts(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    write_assets(tmp_path, lines_of(TEXTS * 300), lines_of(TEXTS))
    convert_textcat_cli(tmp_path, tmp_path / "out")
    out = capsys.readouterr().out
    assert "Converted AG News" in out
    (line,) = [line for line in out.splitlines() if line.startswith("train")]
    assert line.split()[1].startswith("1,1")


def test_real_texts_are_all_converted(shared: Path, tmp_path: Path) -> None:
    summaries = convert_textcat(shared / "datasets" / "textcat", tmp_path)
    assert [(summary.split, summary.docs) for summary in summaries] == [
        ("train", 44830),
        ("dev", 2341),
        ("test", 7600),
    ]
    counts = {
        label: sum(doc.cats[label] == 1.0 for doc in read_docs(tmp_path / "test.spacy"))
        for label in LABELS
    }
    assert counts == dict.fromkeys(LABELS, 1900)
