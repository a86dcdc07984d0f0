"""The command that shows mistakes."""

import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from spacy.tokens import Doc, Span

from tests.helpers import cli
from tests.helpers.cli import said
from tests.helpers.corpora import make_docs, write_corpus

invoke = partial(cli.invoke, "errors")
ok = partial(cli.ok, "errors")


@pytest.fixture
def model(recognizer: Any) -> Path:
    return recognizer("tagger_ner")


@pytest.fixture
def gold(tmp_path: Path) -> Path:
    """A corpus in which the first entity of each doc is missing."""
    docs: list[Doc] = [doc.copy() for doc in make_docs()]
    for doc in docs:
        doc.set_ents([Span(doc, ent.start, ent.end, ent.label) for ent in doc.ents[1:]])
    return write_corpus(tmp_path / "gold.spacy", docs)


def test_mistakes_are_counted_and_written_to_a_page(
    model: Path, gold: Path, tmp_path: Path
) -> None:
    train = write_corpus(tmp_path / "train.spacy", make_docs())
    page = tmp_path / "errors.html"
    result = ok(model, gold, "--train", train, "--output", page, "--explain", 1, "--sure", 0.5)
    output = said(result)
    assert "all 4 0 0 0 3 0" in output and "no entity · 3 ·" in output
    assert "In 3 of the mistakes, the annotation may be wrong" in output and f"to {page}" in output
    text = page.read_text("utf8")
    assert text.count("<article") == 3 and text.count("Why PER?") + text.count("Why GPE?") == 1
    assert text.count(" · seen · ") == 3
    assert "exists. Give another --output" in said(invoke(model, gold, "--output", page))


@pytest.mark.parametrize("tool", ["prodigy", "labelstudio"])
def test_export_has_a_line_for_each_doc_with_mistakes(model: Path, gold: Path, tool: str) -> None:
    result = ok(model, gold, "--export", tool)
    assert len([json.loads(line) for line in result.stdout.splitlines()]) == 3


def test_what_cannot_be_read_is_named(model: Path, gold: Path) -> None:
    assert "There is no corpus at nowhere" in said(invoke(model, "nowhere"))
    assert "There is no pipeline 'nowhere'" in said(invoke("nowhere", gold))
