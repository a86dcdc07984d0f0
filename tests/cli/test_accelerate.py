"""The command that writes a faster pipeline."""

import json
from pathlib import Path

import spacy

from tests.helpers import cli
from tests.helpers.corpora import write_corpus
from tests.helpers.spacy_pipelines import CNN, TEXTS, build, ner, with_listener


def test_pipeline_is_written_and_its_figures_are_printed(tmp_path: Path) -> None:
    build(with_listener(ner=ner(CNN))).to_disk(tmp_path / "model")
    write_corpus(tmp_path / "dev.spacy", map(spacy.blank("en"), TEXTS))
    args = ("accelerate", tmp_path / "model", tmp_path / "out", "--data", tmp_path / "dev.spacy")
    printed = cli.said(cli.ok(*args))
    assert "Replaced: 4" in printed and "TAG 100.00" in printed
    assert spacy.load(tmp_path / "out").get_pipe_meta("ner").factory == "batch_ner"
    figures = json.loads(cli.ok(*args, "--force", "--keep-ner", "--json").stdout)
    assert len(figures["replaced"]) == 3 and figures["gain"]["kept"]["TAG"] == 1
    code = tmp_path / "out" / "code.py"
    code.touch()
    assert "may not contain each other" in cli.refused(*args, "--force", "--code", code)
