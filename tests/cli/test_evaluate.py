"""The command that scores seen and unseen entities."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import spacy
from spacy.tokens import Doc
from typer.testing import Result

from spacy_multihash.corpus.read import read_docs
from tests.helpers import cli
from tests.helpers.cli import said
from tests.helpers.corpora import make_docs, write_corpus

PARTS = ("seen", "unseen")


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Write a pipeline that knows Anna and Rome, and corpora."""
    nlp = spacy.blank("en")
    patterns = [{"label": "PER", "pattern": "Anna"}, {"label": "GPE", "pattern": "Rome"}]
    nlp.add_pipe("entity_ruler").add_patterns(patterns)  # type: ignore[attr-defined]
    nlp.to_disk(tmp_path / "model")
    docs = make_docs()
    write_corpus(tmp_path / "train.spacy", docs[1:2])  # Bob, Rome
    write_corpus(tmp_path / "dev.spacy", docs)
    return tmp_path


def invoke(folder: Path, *args: Any, data: str = "dev.spacy") -> Result:
    train = folder / "train.spacy"
    return cli.invoke("evaluate", folder / "model", folder / data, "--train", train, *args)


def test_tables_show_all_seen_and_unseen_entities(folder: Path) -> None:
    result = invoke(folder)
    assert result.exit_code == 0, result.output
    lines = [" ".join(line.split()) for line in result.output.splitlines()]
    assert "all 7 100.00 57.14 72.73" in lines
    assert "seen 4 100.00 50.00 66.67" in lines
    assert "unseen 3 100.00 66.67 80.00" in lines
    assert "Wrote" not in result.output


def test_json_holds_the_same_numbers_and_nothing_else_is_printed(folder: Path) -> None:
    result = invoke(folder, "--json", "--output", folder / "out" / "scores.json")
    printed = json.loads(result.stdout)
    assert printed == json.loads((folder / "out" / "scores.json").read_text("utf8"))
    assert printed["overall"]["entities"] == 7
    assert printed["masked"]["seen"]["per_label"]["GPE"]["r"] == 1.0


def test_matching_options_change_what_is_seen(folder: Path) -> None:
    doc = Doc(spacy.blank("en").vocab, words=["ROME", "Bob"], ents=["B-GPE", "B-ORG"])
    write_corpus(folder / "other.spacy", [doc])

    def seen(*args: str) -> int:
        result = invoke(folder, "--json", *args, data="other.spacy")
        return json.loads(result.output)["masked"]["seen"]["entities"]

    assert seen() == 1  # Bob
    assert seen("--ignore-case") == 2
    assert seen("--match-label") == 0
    assert seen("--ignore-case", "--match-label") == 1  # ROME


def test_masked_corpora_are_written(folder: Path) -> None:
    result = invoke(folder, "--masked", folder / "masked")
    assert "seen.spacy and unseen.spacy" in said(result)
    vocab = spacy.blank("en").vocab
    seen, unseen = (list(read_docs(folder / "masked" / f"{n}.spacy", vocab)) for n in PARTS)
    assert [ent.text for doc in seen for ent in doc.ents] == ["Bob", "Rome", "Bob", "Rome"]
    assert [ent.text for doc in unseen for ent in doc.ents] == ["Anna", "Anna", "Oslo"]
    assert seen[0][0].ent_iob_ == "" and unseen[0][0].ent_iob_ == "B"


def test_gold_entities_are_shown_beside_predicted_ones(folder: Path) -> None:
    result = invoke(folder, "--output", folder / "pages" / "entities.html")
    page = (folder / "pages" / "entities.html").read_text("utf8")
    assert "entities.html" in said(result) and page.count('class="pair side"') == 4
    body = page[page.index('class="pair side"') :]
    assert body.count('class="right"') == 2 * 4 and body.count('class="missed"') == 3
    assert "--force" in said(invoke(folder, "--output", folder / "pages" / "entities.html"))


def make_bad(folder: Path) -> None:
    """Write corpora and a pipeline that are of no use."""
    vocab = spacy.blank("en").vocab
    write_corpus(folder / "bare.spacy", [Doc(vocab, words=["Anna"])])
    spacy.blank("en").to_disk(folder / "blank")


@pytest.mark.parametrize(
    ("model", "data", "train", "message"),
    [
        ("model", "nothing.spacy", "train.spacy", r"There is no corpus at .*nothing\.spacy"),
        ("model", "bare.spacy", "train.spacy", "1 documents, but none with annotation"),
        ("model", "dev.spacy", "nothing.spacy", "There is no corpus at"),
        ("model", "dev.spacy", "bare.spacy", r"training corpus at .*bare\.spacy has no entities"),
        ("blank", "dev.spacy", "train.spacy", "no component that assigns entities"),
    ],
)
def test_what_is_wrong_is_named_and_nothing_written(
    folder: Path, model: str, data: str, train: str, message: str
) -> None:
    make_bad(folder)
    args = ("--train", folder / train, "--masked", folder / "masked")
    error = cli.refused("evaluate", folder / model, folder / data, *args)
    assert re.search(message, error), error
    assert not (folder / "masked").exists()
