"""Texts with labels, as lines of JSON or CSV, to spaCy's binary format."""

import gzip
from pathlib import Path

import pytest
import spacy
import srsly
from spacy.tokens import Doc, DocBin

from experiments.corpora.convert_textcat import (
    CSV_FILES,
    DEV_SHARE,
    JSON_FILES,
    LABELS,
    convert_textcat,
    convert_textcat_cli,
)

TEXTS = [
    ("Oil rises  again.", "Business"),
    ("Don't look: a comet", "Sci/Tech"),
    ("Rome won 3-0\\in Oslo", "Sports"),
    ("Talks in Genève", "World"),
]


def lines_of(texts: list[tuple[str, str]]) -> str:
    return "".join(srsly.json_dumps({"label": b, "text": a}) + "\n" for a, b in texts)


def write_assets(folder: Path, train: str, test: str) -> None:
    for name, content in zip(JSON_FILES, (train, test), strict=True):
        (folder / name).write_bytes(gzip.compress(content.encode("utf8")))


# Quotes are doubled, and a backslash stands for itself.
CSV_TEST = """\
"3","Oil rises","again."
"4","Don't look","a ""comet"" of 1,000\\tons"
"2","Rome won","3-0\\in Oslo"
"1","Talks","in Genève"
"""


def write_csv(folder: Path, train: str, test: str = CSV_TEST) -> None:
    for name, content in zip(CSV_FILES, (train, test), strict=True):
        (folder / name).write_text(content, encoding="utf8")


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


def test_official_files_give_the_same_labels_and_title_and_description(tmp_path: Path) -> None:
    write_csv(tmp_path, CSV_TEST * 30)
    counts = convert_textcat(tmp_path, tmp_path / "out")
    assert counts["train"] + counts["dev"] == 120 and counts["dev"] > 0 and counts["test"] == 4
    docs = read_docs(tmp_path / "out" / "test.spacy")
    found = [(doc.text, [name for name, value in doc.cats.items() if value]) for doc in docs]
    assert found == [
        ("Oil rises again.", ["Business"]),
        ('Don\'t look a "comet" of 1,000\\tons', ["Sci/Tech"]),
        ("Rome won 3-0\\in Oslo", ["Sports"]),
        ("Talks in Genève", ["World"]),
    ]
    assert all(set(doc.cats) == set(LABELS) for doc in docs)


def test_missing_files_lead_to_the_generated_corpus(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / CSV_FILES[0]).touch()
    message = r"Expected ag_news_.*gz and .* or train\.csv and test\.csv in "
    with pytest.raises(FileNotFoundError, match=message):
        convert_textcat(tmp_path, tmp_path / "out")
    with pytest.raises(SystemExit, match="1"):
        convert_textcat_cli(tmp_path, tmp_path / "out")
    assert "Could not convert AG News" in capsys.readouterr().out
