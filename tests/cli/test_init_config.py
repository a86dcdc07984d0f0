"""The command that writes complete configs."""

import os
import sys
from pathlib import Path
from typing import Any

import numpy
import pytest
import spacy
from spacy.cli.init_config import fill_config
from spacy.cli.train import train
from spacy.tokens import Doc
from spacy.util import load_config, load_model_from_config
from spacy.vectors import Vectors
from thinc.api import Config
from typer.testing import CliRunner, Result

from spacy_multihash.cli.group import multihash_cli
from spacy_multihash.cli.init_config import Pipeline, init_config
from tests.helpers.cli import said
from tests.helpers.corpora import make_docs, write_corpus
from tests.helpers.paths import ROOT
from tests.helpers.streams import into, linux, run_into

PIPELINES = [kind.value for kind in Pipeline]
ENTITIES = ("ner", "batch_ner")


def invoke(*args: Any) -> Result:
    return CliRunner().invoke(multihash_cli, ["init-config", *map(str, args)])


def embeds(config: Any) -> list[Any]:
    """All sections with static vectors on or off."""
    if not isinstance(config, dict):
        return []
    own = [config] if "include_static_vectors" in config else []
    return own + [found for value in config.values() for found in embeds(value)]


def make_vectors(folder: Path) -> Path:
    nlp = spacy.blank("en")
    keys = [nlp.vocab.strings.add(word) for word in ("Anna", "Rome", "left")]
    data = numpy.ones((3, 8), dtype="float32")
    nlp.vocab.vectors = Vectors(strings=nlp.vocab.strings, data=data, keys=keys)
    nlp.to_disk(folder / "vectors")
    return folder / "vectors"


def make_texts() -> list[Doc]:
    docs = [Doc(doc.vocab, words=[t.text for t in doc]) for doc in make_docs()]
    for i, doc in enumerate(docs):
        doc.cats = {"A": float(i % 2), "B": float(not i % 2)}
    return docs


@pytest.mark.parametrize(
    ("pipeline", "name"),
    [
        ("ner", "recommended"),
        ("batch_ner", "training/regularized"),
        ("textcat", "textcat/hash_embed"),
        ("textcat_multilabel", "textcat/multilabel"),
    ],
)
def test_settings_are_those_of_a_config_of_the_experiments(pipeline: str, name: str) -> None:
    config = load_config(ROOT / "configs" / f"{name}.cfg")
    expected = load_model_from_config(config, auto_fill=True).config
    assert init_config(pipeline, config["nlp"]["lang"]) == expected


@pytest.mark.parametrize("vectors", [None, "my_vectors"])
@pytest.mark.parametrize("pipeline", PIPELINES)
def test_config_is_complete(tmp_path: Path, pipeline: str, vectors: str | None) -> None:
    path = tmp_path / "new" / "my.cfg"
    options = [] if vectors is None else ["--vectors", vectors]
    result = invoke(pipeline, path, "--lang", "nl", *options)
    assert result.exit_code == 0, result.output
    command = f"python -m spacy train {path} --output training --paths.train train.spacy "
    assert f"Train with:\n    {command}--paths.dev dev.spacy\n" in result.output
    config = load_config(path)
    nlp = load_model_from_config(config, auto_fill=False, validate=True)
    assert nlp.lang == "nl"
    assert config["paths"] == {
        "train": None,
        "dev": None,
        "vectors": vectors,
        "init_tok2vec": None,
    }
    _, filled = fill_config(tmp_path / "filled.cfg", path, silent=True)
    assert filled == config
    assert all(section["include_static_vectors"] is bool(vectors) for section in embeds(config))
    assert embeds(config) or (pipeline.startswith("textcat") and not vectors)


@pytest.mark.parametrize("with_vectors", [False, True])
@pytest.mark.parametrize("pipeline", PIPELINES)
def test_config_trains_as_it_is(tmp_path: Path, pipeline: str, with_vectors: bool) -> None:
    docs = make_docs() if pipeline in ENTITIES else make_texts()
    corpus = write_corpus(tmp_path / "train.spacy", docs)
    options = ["--vectors", make_vectors(tmp_path)] if with_vectors else []
    assert invoke(pipeline, tmp_path / "my.cfg", "--lang", "en", *options).exit_code == 0
    overrides = {
        "paths.train": str(corpus),
        "paths.dev": str(corpus),
        "training.max_steps": 3,
        "training.eval_frequency": 1,
    }
    train(tmp_path / "my.cfg", tmp_path / "out", overrides=overrides)
    nlp = spacy.load(tmp_path / "out" / "model-last")
    doc = nlp("Anna left Rome .")
    assert (nlp.vocab.vectors_length == 8) is with_vectors
    assert doc.has_annotation("ENT_IOB") if pipeline in ENTITIES else set(doc.cats) == {"A", "B"}


def test_dash_prints_the_config_and_nothing_else() -> None:
    result = invoke("ner", "-", "--lang", "en", "--vectors", "my vectors")
    assert result.exit_code == 0, result.output
    lines = result.stdout.splitlines()
    assert lines[0] == (
        "# Made by: python -m spacy multihash init-config ner --lang en --vectors 'my vectors'"
    )
    config = Config().from_str(result.stdout, interpolate=False)
    assert config == init_config("ner", "en", vectors="my vectors")


def test_vectors_of_another_language_are_refused(tmp_path: Path) -> None:
    vectors = make_vectors(tmp_path)
    result = invoke("ner", tmp_path / "my.cfg", "--lang", "nl", "--vectors", vectors)
    assert result.exit_code == 1 and "are of the language en, and spaCy takes" in said(result)
    assert not (tmp_path / "my.cfg").exists()


def test_vectors_of_a_package_in_another_language_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "en_mine").mkdir()
    (tmp_path / "en_mine" / "__init__.py").touch()
    (tmp_path / "en_mine" / "meta.json").write_text('{"lang": "en"}')
    (tmp_path / "en_mine-0.0.0.dist-info").mkdir()
    metadata = "Metadata-Version: 2.1\nName: en-mine\nVersion: 0.0.0\n"
    (tmp_path / "en_mine-0.0.0.dist-info" / "METADATA").write_text(metadata)
    monkeypatch.syspath_prepend(tmp_path)
    with pytest.raises(ValueError, match="--lang is nl, but the vectors of en_mine are of the"):
        init_config("ner", "nl", vectors="en_mine")
    sys.modules.pop("en_mine", None)


def test_a_device_is_written_to_without_force() -> None:
    result = invoke("ner", Path(os.devnull), "--lang", "en")
    assert result.exit_code == 0, result.output
    assert Path(os.devnull).is_char_device()


def test_what_is_there_is_replaced_only_by_force(tmp_path: Path) -> None:
    path = tmp_path / "my.cfg"
    path.write_text("mine")
    result = invoke("ner", path, "--lang", "en")
    assert result.exit_code == 1 and "Give another OUTPUT, or --force" in said(result)
    assert path.read_text() == "mine"
    assert invoke("ner", path, "--lang", "en", "--force").exit_code == 0
    assert load_config(path)["nlp"]["lang"] == "en"
    assert [file_.name for file_ in tmp_path.iterdir()] == ["my.cfg"]


def test_a_language_that_is_none_is_named(tmp_path: Path) -> None:
    result = invoke("ner", tmp_path / "my.cfg", "--lang", "nolanguage")
    assert result.exit_code == 1
    assert "Can't import language nolanguage" in said(result)
    assert list(tmp_path.iterdir()) == []


def test_a_pipeline_that_is_none_is_refused() -> None:
    with pytest.raises(ValueError, match="Expected a pipeline of ner, .*, was: 'parser'"):
        init_config("parser", "en")
    result = invoke("parser", "-", "--lang", "en")
    assert result.exit_code == 2 and "textcat_multilabel" in result.output


@linux
@into
def test_stdout_holds_the_config_alone(into: str, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "spacy", "multihash", "init-config", "--lang", "en", "ner"]
    found = run_into(command, into, tmp_path).read_text("utf8")
    assert found.endswith("\n") and "Wrote" not in found
    assert Config().from_str(found, interpolate=False) == init_config("ner", "en")


def test_vectors_that_a_config_cannot_name_are_refused() -> None:
    with pytest.raises(ValueError, match=r"A config cannot name my\$, since a \$ in it stands"):
        init_config("ner", "en", vectors="my$")
