"""The command that turns a pipeline into one of spaCy's own."""

import json
from pathlib import Path

import spacy

from tests.helpers import cli
from tests.helpers.spacy_pipelines import CNN, TEXTS, build, ner, predictions, with_listener


def test_pipeline_is_written_and_what_was_replaced_is_printed(tmp_path: Path) -> None:
    nlp = build(with_listener(ner=ner(CNN)))
    nlp.to_disk(tmp_path / "model")
    cli.ok("accelerate", tmp_path / "model", tmp_path / "fast", "--name", "en_quick")
    fast = spacy.load(tmp_path / "fast")
    assert fast.meta["name"] == "quick"
    cli.ok("compress", tmp_path / "fast", tmp_path / "small")
    assert spacy.load(tmp_path / "small").meta["name"] == "quick_small"
    args = ("restore", tmp_path / "fast", tmp_path / "back")
    assert "Restored: 6" in cli.said(cli.ok(*args))
    assert predictions(spacy.load(tmp_path / "back"), TEXTS) == predictions(nlp, TEXTS)
    figures = json.loads(cli.ok(*args, "--force", "--json").stdout)
    assert figures["replaced"][-1]["after"] == "ner" and figures["lost"] == []
    error = cli.refused("accelerate", tmp_path / "model", tmp_path / "new", "--name", "a-b")
    assert "--name must be a name" in error


def test_refusal_names_all_parts_and_writes_nothing(tmp_path: Path) -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("tagger_ner")
    nlp.to_disk(tmp_path / "model")
    error = cli.refused("restore", tmp_path / "model", tmp_path / "out")
    assert "components.tagger_ner (tagger_ner)" in error and "MaxoutWindow" not in error
    assert not (tmp_path / "out").exists()
