"""The command that makes the files of a pipeline small."""

import importlib
import json
from pathlib import Path
from typing import Any

import pytest
import spacy

from spacy_multihash.common.timing import Ratio
from spacy_multihash.pipelines.measure import Figure
from tests.helpers import cli
from tests.helpers.corpora import make_docs, write_corpus

CODE = """
import spacy
from pathlib import Path

@spacy.Language.component("of_package")
def of_package(doc):
    return doc

def load(**settings):
    return spacy.load(Path(__file__).parent / "model", **settings)
"""


@pytest.fixture(autouse=True)
def measured_quickly(monkeypatch: pytest.MonkeyPatch) -> None:
    loads = ([Figure("load", "s", 2.0, 1.0, Ratio(1.9, 2.0, 2.1), 3)], "")
    monkeypatch.setattr("spacy_multihash.pipelines.compress.compare_loads", lambda *_, **__: loads)


def test_pipeline_is_written_and_its_figures_are_printed(recognizer: Any, tmp_path: Path) -> None:
    write_corpus(tmp_path / "dev.spacy", make_docs())
    args = (recognizer("tagger_ner"), tmp_path / "out", "--data", tmp_path / "dev.spacy")
    result = cli.ok("compress", *args, "--weights", "int8")
    assert "F1 of entities 100.00 100.00" in cli.said(result)
    assert "load (s) 2 1 2.00 1.90 to 2.10" in cli.said(result)
    callback = spacy.load(tmp_path / "out").config["nlp"]["after_creation"]
    assert (callback["weights"], callback["vectors"]) == ("int8", "int8")
    figures = json.loads(cli.ok("compress", *args, "--json", "--force").stdout)
    assert figures["predictions"]["f1"]["after"] == 1
    assert figures["bytes_after"] < figures["bytes_before"]


def test_package_that_brings_its_own_code_is_compressed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "with_code"
    information = tmp_path / "with_code-1.0.dist-info"
    information.mkdir()
    (information / "METADATA").write_text("Metadata-Version: 2.1\nName: with_code\nVersion: 1.0\n")
    package.mkdir()
    (package / "__init__.py").write_text(CODE)
    monkeypatch.syspath_prepend(tmp_path)
    importlib.import_module("with_code")
    nlp = spacy.blank("en")
    nlp.add_pipe("of_package")
    nlp.to_disk(package / "model")
    cli.ok("compress", "with_code", tmp_path / "out")
    assert spacy.load(tmp_path / "out").pipe_names == ["of_package"]


def test_refusals_write_nothing(recognizer: Any, tmp_path: Path) -> None:
    model, output = recognizer("tagger_ner"), tmp_path / "out"
    assert "'int4' is not one of" in cli.refused("compress", model, output, "--weights", "int4")
    error = cli.refused("compress", model, output, "--data", "missing.spacy")
    assert "Cannot compress the pipeline There is no corpus at missing.spacy" in error
    assert not list(tmp_path.iterdir())
