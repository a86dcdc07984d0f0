"""The command that corrects probabilities of entities."""

import json
from pathlib import Path
from typing import Any

import spacy

from tests.helpers import cli
from tests.helpers.corpora import write_corpus
from tests.helpers.recognizers import wrong_docs


def test_pipeline_is_written_and_its_figures_are_printed(recognizer: Any, tmp_path: Path) -> None:
    write_corpus(tmp_path / "dev.spacy", wrong_docs())
    output, plot = tmp_path / "out", tmp_path / "reliability.png"
    args = ("calibrate", recognizer("tagger_ner"), tmp_path / "dev.spacy", output, "--plot", plot)
    figures = json.loads(cli.ok(*args, "--bins", 5, "--json").stdout)
    tagger: Any = spacy.load(output).get_pipe("tagger_ner")
    assert tagger.temperature == figures["temperature"] > 1.2
    assert plot.read_bytes().startswith(b"\x89PNG")
    assert "exists. Give another OUTPUT" in cli.refused(*args)
    assert f"temperature = {tagger.temperature:.3f}" in cli.said(cli.ok(*args, "--force"))
