"""The command that scores seen and unseen entities."""

import json
import re
from pathlib import Path
from typing import Any

import pytest
import spacy
from spacy.tokens import Doc

from spacy_multihash.corpus.read import read_docs
from tests.helpers import cli
from tests.helpers.corpora import make_docs, write_corpus


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """Write a pipeline that knows Anna and Rome, and corpora, and go there."""
    monkeypatch.chdir(tmp_path)
    nlp, docs = spacy.blank("en"), make_docs()
    nlp.to_disk("blank")
    patterns = [{"label": "PER", "pattern": "Anna"}, {"label": "GPE", "pattern": "Rome"}]
    nlp.add_pipe("entity_ruler").add_patterns(patterns)  # type: ignore[attr-defined]
    nlp.to_disk("model")
    write_corpus(tmp_path / "train.spacy", docs[1:2])  # Bob, Rome
    write_corpus(tmp_path / "dev.spacy", docs)
    write_corpus(tmp_path / "bare.spacy", [Doc(nlp.vocab, words=["Anna"])])
    return tmp_path


DEV = ("model", "dev.spacy", "--train", "train.spacy")


@pytest.mark.usefixtures("folder")
def test_tables_and_a_page_show_seen_and_unseen_entities() -> None:
    result = cli.ok("evaluate", *DEV, "--output", "pages/entities.html")
    lines = [" ".join(line.split()) for line in result.output.splitlines()]
    assert "all 7 100.00 57.14 72.73" in lines
    assert "seen 4 100.00 50.00 66.67" in lines
    assert "unseen 3 100.00 66.67 80.00" in lines
    page = Path("pages/entities.html").read_text("utf8")
    assert page.count('class="pair side"') == 4
    body = page[page.index('class="pair side"') :]
    assert body.count('class="right"') == 2 * 4 and body.count('class="missed"') == 3


def test_matching_options_change_what_is_seen(folder: Path) -> None:
    doc = Doc(spacy.blank("en").vocab, words=["ROME", "Bob"], ents=["B-GPE", "B-ORG"])
    write_corpus(folder / "other.spacy", [doc])
    for options, seen in (("", 1), ("--ignore-case", 2), ("--match-label", 0)):
        args = ("model", "other.spacy", *DEV[2:], "--json", *options.split())
        scores = json.loads(cli.ok("evaluate", *args).stdout)
        assert scores["masked"]["seen"]["entities"] == seen


def test_masked_corpora_are_written(folder: Path) -> None:
    cli.ok("evaluate", *DEV, "--masked", "masked")
    vocab = spacy.blank("en").vocab
    seen, unseen = (
        list(read_docs(folder / "masked" / f"{name}.spacy", vocab)) for name in ("seen", "unseen")
    )
    assert [ent.text for doc in seen for ent in doc.ents] == ["Bob", "Rome", "Bob", "Rome"]
    assert [ent.text for doc in unseen for ent in doc.ents] == ["Anna", "Anna", "Oslo"]
    assert seen[0][0].ent_iob_ == "" and unseen[0][0].ent_iob_ == "B"


@pytest.mark.usefixtures("folder")
@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("model", "nothing.spacy", *DEV[2:]), r"There is no corpus at .*nothing\.spacy"),
        (("model", "bare.spacy", *DEV[2:]), "1 documents, but none with annotation"),
        (("model", "dev.spacy", "--train", "bare.spacy"), r"corpus at .*bare\.spacy has no entit"),
        (("blank", *DEV[1:]), "no component that assigns entities"),
    ],
)
def test_what_is_wrong_is_named_and_nothing_written(args: Any, message: str) -> None:
    assert re.search(message, cli.refused("evaluate", *args, "--masked", "masked"))
    assert not Path("masked").exists()
