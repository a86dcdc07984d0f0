"""The command that writes a faster pipeline, and how it replaces a former one."""

import shutil
from functools import partial
from pathlib import Path

import pytest
import spacy
from spacy.tokens import DocBin

from spacy_multihash.pipelines import accelerate
from tests.helpers import cli
from tests.helpers.cli import said
from tests.helpers.spacy_pipelines import (
    CNN,
    TEXTS,
    TOK2VEC,
    assert_equal_tensors,
    build,
    ner,
    tagger,
    with_listener,
)
from tests.helpers.vectors import files

invoke = partial(cli.invoke, "accelerate")
ok = partial(cli.ok, "accelerate")

MISH = {"@architectures": "spacy.MishWindowEncoder.v2", "width": 16, "depth": 1, "window_size": 1}


@pytest.fixture(scope="module")
def saved(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Build a pipeline once for all tests."""
    folder = tmp_path_factory.mktemp("saved") / "model"
    build(with_listener(ner=ner(CNN))).to_disk(folder)
    return folder


@pytest.fixture
def model(saved: Path, tmp_path: Path) -> Path:
    """Give each test a copy of its own."""
    return shutil.copytree(saved, tmp_path / "model")


def test_pipeline_is_written_and_loads_and_nothing_else_changes(
    model: Path, tmp_path: Path
) -> None:
    before = files(model)
    result = ok(model, tmp_path / "deep" / "out")
    assert "Replaced: 4" in said(result)
    loaded = spacy.load(tmp_path / "deep" / "out")
    assert_equal_tensors(loaded, spacy.load(model))
    architecture = loaded.config["components"]["ner"]["model"]["tok2vec"]["encode"]
    assert architecture["@architectures"] == "spacy-multihash.MaxoutWindowEncoder.v1"
    assert (tmp_path / "deep" / "out").stat().st_mode == model.stat().st_mode
    assert sorted(path.name for path in tmp_path.iterdir()) == ["deep", "model"]
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["out"]
    assert files(model) == before


def test_output_tells_what_is_ours_already_and_what_was_left(model: Path, tmp_path: Path) -> None:
    ok(model, tmp_path / "once")
    output = said(invoke(tmp_path / "once", tmp_path / "twice"))
    assert "Nothing was replaced" in output and "Ours already: 5" in output
    assert spacy.load(tmp_path / "twice")(TEXTS[0]).has_annotation("TAG")
    build({"tagger": tagger({**TOK2VEC, "encode": MISH})}).to_disk(tmp_path / "mish")
    output = said(invoke(tmp_path / "mish", tmp_path / "out"))
    assert "Left as they are: 1" in output
    assert "tagger.model.tok2vec.encode spacy.MishWindowEncoder.v2 there is no layer" in output


def test_gain_on_texts_is_shown(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    DocBin(docs=[spacy.blank("en")(text) for text in TEXTS]).to_disk(tmp_path / "dev.spacy")
    speeds = iter([[2000.0], [5000.0]])
    monkeypatch.setattr(accelerate, "tokens_per_second", lambda pipelines, texts: next(speeds))
    result = ok(model, tmp_path / "out", "--data", tmp_path / "dev.spacy")
    assert f"On {len(TEXTS)} docs" in said(result)
    assert "tokens a second 2,000 5,000 2.50" in said(result)
    assert "TAG 100.00" in said(result)


def make_old(folder: Path) -> None:
    """Make a folder that looks like a pipeline."""
    folder.mkdir()
    for name in ("meta.json", "config.cfg", "old"):
        (folder / name).write_text("precious")


@pytest.mark.parametrize(
    ("args", "message"),
    [
        (("no_such_model", "new"), "Can't find model 'no_such_model'"),
        (("damaged", "new"), "Cannot accelerate the pipeline"),
        (("model", "out"), "out exists. Give another OUTPUT"),
        (("model", "out", "--force", "--code", "out/code.py"), "may not contain each other"),
        (("model", "model/inner", "--force"), "may not contain each other"),
    ],
)
def test_what_is_wrong_is_refused_and_nothing_changes(
    args: tuple[str, ...],
    message: str,
    model: Path,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.chdir(tmp_path)
    make_old(tmp_path / "out")
    (tmp_path / "out" / "code.py").touch()
    shutil.copytree(model, "damaged")
    Path("damaged/config.cfg").write_text("[nlp]\nlang = ${no.such}\n")
    before = {*tmp_path.rglob("*")}, files(tmp_path)
    assert message in cli.refused("accelerate", *args)
    assert ({*tmp_path.rglob("*")}, files(tmp_path)) == before


def test_force_replaces_a_pipeline_and_a_link_stays(model: Path, tmp_path: Path) -> None:
    make_old(tmp_path / "real")
    (tmp_path / "out").symlink_to("real")
    ok(model, tmp_path / "out", "--force")
    assert (tmp_path / "out").is_symlink() and not (tmp_path / "real" / "old").exists()
    assert spacy.load(tmp_path / "real").component_names == ["tok2vec", "tagger", "ner"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "out", "real"]
