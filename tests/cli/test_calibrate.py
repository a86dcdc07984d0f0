"""The command that makes probabilities of entities truer."""

import json
import sys
from pathlib import Path
from typing import Any

import numpy
import pytest
import spacy
from spacy.training import Example
from typer.testing import Result

from spacy_multihash.cli.calibrate import calibrate, find_recognizer
from spacy_multihash.ner import calibration
from tests.helpers import cli
from tests.helpers.cli import said
from tests.helpers.corpora import make_docs, write_corpus
from tests.helpers.recognizers import CONFIGS, wrong_docs


@pytest.fixture(params=["tagger_ner"])
def folder(request: pytest.FixtureRequest, recognizer: Any, tmp_path: Path) -> Path:
    (tmp_path / "model").symlink_to(recognizer(request.param))
    write_corpus(tmp_path / "dev.spacy", wrong_docs())
    return tmp_path


both = pytest.mark.parametrize("folder", CONFIGS, indirect=True)


def invoke(folder: Path, *args: Any) -> Result:
    return cli.invoke("calibrate", folder / "model", folder / "dev.spacy", folder / "out", *args)


@both
def test_pipeline_is_written_with_the_temperature_of_the_lowest_loss(folder: Path) -> None:
    plot = folder / "reliability.png"
    result = invoke(folder, "--json", "--bins", 5, "--plot", plot)
    assert result.exit_code == 0, result.output
    found = json.loads(result.output)
    assert found["before"]["share"] == 0.75
    assert found["temperature"] > 1.2  # the pipeline is too sure
    assert found["after"]["loss"] < found["before"]["loss"]
    assert found["after"]["error"] < found["before"]["error"]
    assert {"PER", "GPE"} <= {*found["labels"]}
    assert (
        sum(one["before"]["entities"] for one in found["labels"].values())
        == (found["before"]["entities"])
    )
    assert plot.read_bytes().startswith(b"\x89PNG")
    former, nlp = (spacy.load(folder / name) for name in ("model", "out"))
    (name,) = nlp.pipe_names
    assert nlp.get_pipe(name).temperature == found["temperature"]  # type: ignore[attr-defined]
    for doc in make_docs():
        ents = [[(e.start, e.end, e.label_) for e in p(doc.text).ents] for p in (former, nlp)]
        assert ents[0] == ents[1]
    again = calibrate(nlp, name, [Example(nlp.make_doc(d.text), d) for d in wrong_docs()], bins=5)
    numpy.testing.assert_allclose(again.before.loss, found["after"]["loss"], rtol=1e-5)


def test_only_the_plot_needs_matplotlib(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    before = sorted(folder.iterdir())
    result = invoke(folder, "--plot", folder / "reliability.png")
    assert result.exit_code == 1 and "matplotlib" in said(result)
    assert sorted(folder.iterdir()) == before
    assert invoke(folder).exit_code == 0
    assert sorted(folder.iterdir()) == sorted([*before, folder / "out"])


def test_recognizer_is_the_only_one_or_the_one_named() -> None:
    nlp = spacy.blank("en")
    nlp.add_pipe("ner")
    for name, message in ((None, "no component of batch_ner or tagger_ner"), ("ner", "of none")):
        with pytest.raises(ValueError, match=message):
            find_recognizer(nlp, name)
    nlp.add_pipe("batch_ner")
    assert find_recognizer(nlp, None) == "batch_ner"
    nlp.add_pipe("tagger_ner")
    with pytest.raises(ValueError, match="Several components .* --component batch_ner"):
        find_recognizer(nlp, None)
    assert find_recognizer(nlp, "tagger_ner") == "tagger_ner"


def test_temperature_at_the_edge_is_warned_of(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert "at the edge" not in said(invoke(folder))
    assert "exists. Give another OUTPUT" in said(invoke(folder))
    monkeypatch.setattr(calibration, "HIGHEST", 1.05)  # the pipeline is too sure for that
    result = invoke(folder, "--force")
    assert result.exit_code == 0, result.output
    assert "is at the edge of the range" in said(result)
    as_json = invoke(folder, "--force", "--json")
    assert json.loads(as_json.stdout)["temperature"] > 1.03
    assert "at the edge" in as_json.stderr
