import multiprocessing
import os
import shutil
import signal
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest
import spacy
from spacy.language import Language
from typer.testing import CliRunner, Result

from spacy_multihash.cli.accelerate import accelerate_pipeline
from spacy_multihash.cli.group import multihash_cli
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


def invoke(*args: Any) -> Result:
    return CliRunner().invoke(multihash_cli, ["accelerate", *map(str, args)])


def files(folder: Path) -> dict[Path, bytes]:
    return {path: path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def test_pipeline_is_written_and_loads(model: Path, tmp_path: Path) -> None:
    result = invoke(model, tmp_path / "out")
    assert result.exit_code == 0, result.output
    loaded = spacy.load(tmp_path / "out")
    assert_equal_tensors(loaded, spacy.load(model))
    architecture = loaded.config["components"]["ner"]["model"]["tok2vec"]["encode"]
    assert architecture["@architectures"] == "spacy-multihash.MaxoutWindowEncoder.v1"


def test_what_is_written_is_readable_as_any_pipeline(model: Path, tmp_path: Path) -> None:
    accelerate_pipeline(model, tmp_path / "out")
    assert (tmp_path / "out").stat().st_mode == model.stat().st_mode


def test_result_is_returned(model: Path, tmp_path: Path) -> None:
    done = accelerate_pipeline(str(model), tmp_path / "out")
    assert [entry.component for entry in done.replaced] == ["tok2vec", "tok2vec", "ner", "ner"]


def test_disabled_component_is_kept_and_stays_disabled(model: Path, tmp_path: Path) -> None:
    spacy.load(model, disable=["ner"]).to_disk(model)
    accelerate_pipeline(model, tmp_path / "out")
    loaded = spacy.load(tmp_path / "out")
    assert loaded.component_names == ["tok2vec", "tagger", "ner"]
    assert loaded.disabled == ["ner"]


def test_nothing_else_is_written(model: Path, tmp_path: Path) -> None:
    before = files(model)
    assert invoke(model, tmp_path / "deep" / "out").exit_code == 0
    assert sorted(path.name for path in tmp_path.iterdir()) == ["deep", "model"]
    assert [path.name for path in (tmp_path / "deep").iterdir()] == ["out"]
    assert files(model) == before


def test_output_tells_what_was_replaced(model: Path, tmp_path: Path) -> None:
    output = said(invoke(model, tmp_path / "out"))
    assert "Replaced: 4" in output
    assert "ner.model.tok2vec spacy.HashEmbedCNN.v2 spacy-multihash.MultiHashEmbed.v1" in output
    assert f"Wrote the pipeline to {tmp_path / 'out'}" in output


def test_output_tells_what_is_ours_already(model: Path, tmp_path: Path) -> None:
    assert invoke(model, tmp_path / "once").exit_code == 0
    output = said(invoke(tmp_path / "once", tmp_path / "twice"))
    assert "Nothing was replaced" in output
    assert "Ours already: 5" in output
    assert "tok2vec.model.embed spacy-multihash.MultiHashEmbed.v1" in output
    assert spacy.load(tmp_path / "twice")(TEXTS[0]).has_annotation("TAG")


def test_output_tells_what_was_left_and_why(tmp_path: Path) -> None:
    build({"tagger": tagger({**TOK2VEC, "encode": MISH})}).to_disk(tmp_path / "model")
    output = said(invoke(tmp_path / "model", tmp_path / "out"))
    assert "Left as they are: 1" in output
    assert (
        "tagger.model.tok2vec.encode spacy.MishWindowEncoder.v2 there is no layer of ours for it"
        in output
    )


def refused(*args: Any) -> str:
    result = invoke(*args)
    assert result.exit_code == 1
    return said(result)


def test_model_that_is_not_there_is_refused(tmp_path: Path) -> None:
    assert "Can't find model 'no_such_model'" in refused("no_such_model", tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_model_that_is_damaged_is_refused(model: Path, tmp_path: Path) -> None:
    (model / "config.cfg").write_text("[nlp]\nlang = ${no.such}\n")
    assert "Cannot accelerate the pipeline" in refused(model, tmp_path / "out")
    assert not (tmp_path / "out").exists()


def test_output_that_is_there_is_refused(model: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    (tmp_path / "out" / "mine").write_text("precious")
    assert "exists, and is not an empty directory" in refused(model, tmp_path / "out")
    assert (tmp_path / "out" / "mine").read_text() == "precious"


def make_old(folder: Path) -> None:
    """Make a folder that looks like a pipeline."""
    folder.mkdir()
    for name in ("meta.json", "config.cfg", "old"):
        (folder / name).write_text("precious")


def test_output_that_is_there_is_replaced_by_force(model: Path, tmp_path: Path) -> None:
    make_old(tmp_path / "out")
    assert invoke(model, tmp_path / "out", "--force").exit_code == 0
    assert not (tmp_path / "out" / "old").exists()
    assert spacy.load(tmp_path / "out").component_names == ["tok2vec", "tagger", "ner"]
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "out"]


def test_force_replaces_no_other_directory(model: Path, tmp_path: Path) -> None:
    make_old(tmp_path / "out")
    (tmp_path / "out" / "meta.json").unlink()
    assert "out is neither a pipeline (meta.json, config.cfg) nor a vocab" in refused(
        model, tmp_path / "out", "--force"
    )
    assert (tmp_path / "out" / "old").read_text() == "precious"


def test_force_replaces_no_directory_that_the_command_reads(model: Path, tmp_path: Path) -> None:
    make_old(tmp_path / "out")
    (tmp_path / "out" / "code.py").touch()
    args = ("--force", "--code", tmp_path / "out" / "code.py")
    assert "code.py is read, and OUTPUT at" in refused(model, tmp_path / "out", *args)
    assert (tmp_path / "out" / "code.py").exists()


def test_empty_output_is_used(model: Path, tmp_path: Path) -> None:
    (tmp_path / "out").mkdir()
    assert invoke(model, tmp_path / "out").exit_code == 0
    assert (tmp_path / "out" / "config.cfg").exists()


@pytest.mark.parametrize("place", [".", "inner", ".."])
def test_output_over_the_model_is_refused(place: str, model: Path) -> None:
    for name in ("meta.json", "config.cfg"):
        (model.parent / name).touch()
    before = files(model)
    assert "must not be the same directory" in refused(model, model / place, "--force")
    assert files(model) == before


def test_output_that_is_a_file_is_refused(model: Path, tmp_path: Path) -> None:
    (tmp_path / "out").write_text("precious")
    with pytest.raises(ValueError, match="exists, and is not an empty directory"):
        accelerate_pipeline(model, tmp_path / "out")


@pytest.mark.parametrize("kind", ["file", "pipe"])
def test_output_that_is_no_directory_is_refused_by_force_too(
    kind: str, model: Path, tmp_path: Path
) -> None:
    out = tmp_path / "out"
    out.touch() if kind == "file" else os.mkfifo(out)
    with pytest.raises(
        ValueError, match="exists, and is not an empty directory. Give another OUTPUT.$"
    ):
        accelerate_pipeline(model, out, force=True)
    assert out.is_file() if kind == "file" else out.is_fifo()


def test_link_to_the_output_stays(model: Path, tmp_path: Path) -> None:
    make_old(tmp_path / "real")
    (tmp_path / "out").symlink_to("real")
    assert invoke(model, tmp_path / "out", "--force").exit_code == 0
    assert (tmp_path / "out").is_symlink()
    assert (tmp_path / "real" / "config.cfg").exists()
    assert not (tmp_path / "real" / "old").exists()


def kill_in_the_exchange(monkeypatch: pytest.MonkeyPatch, model: Path, out: Path) -> None:
    """Replace a pipeline in a process that is killed before the new one takes its place."""
    rename = Path.rename

    def killed(self: Path, target: Path) -> Path:
        if self.name == "new":
            os.kill(os.getpid(), signal.SIGKILL)
        return rename(self, target)

    with monkeypatch.context() as patch:
        patch.setattr(Path, "rename", killed)
        process = multiprocessing.get_context("fork").Process(
            target=accelerate_pipeline, args=(model, out), kwargs={"force": True}
        )
        process.start()
        process.join()
    assert process.exitcode == -signal.SIGKILL


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # a fork beside threads
@pytest.mark.parametrize("force", [False, True])
def test_pipeline_of_a_killed_command_comes_back_with_the_next(
    force: bool, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    make_old(tmp_path / "out")
    kill_in_the_exchange(monkeypatch, model, tmp_path / "out")
    if force:
        accelerate_pipeline(model, tmp_path / "out", force=True)
        assert (tmp_path / "out" / "config.cfg").exists()
    else:
        assert "exists, and is not an empty directory" in refused(model, tmp_path / "out")
        assert (tmp_path / "out" / "old").read_text() == "precious"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "out"]


@pytest.mark.parametrize("renames", [1, 2])
def test_interrupted_exchange_leaves_the_old_pipeline(
    renames: int, model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename, done = Path.rename, []

    def interrupted(self: Path, target: Path) -> Path:
        done.append(self)
        if len(done) == renames:
            raise KeyboardInterrupt
        return rename(self, target)

    make_old(tmp_path / "out")
    monkeypatch.setattr(Path, "rename", interrupted)
    with pytest.raises(KeyboardInterrupt):
        accelerate_pipeline(model, tmp_path / "out", force=True)
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "out"]
    assert (tmp_path / "out" / "old").read_text() == "precious"


def test_failure_leaves_the_old_pipeline_alone(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(self: Language, path: Path) -> None:
        path.mkdir()
        (path / "part").write_text("half")
        raise OSError("No space left on device")

    make_old(tmp_path / "out")
    monkeypatch.setattr(Language, "to_disk", fail)
    assert "No space left on device" in refused(model, tmp_path / "out", "--force")
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model", "out"]
    assert (tmp_path / "out" / "old").read_text() == "precious"


def test_old_pipeline_comes_back_if_the_new_one_cannot_take_its_place(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    rename = Path.rename

    def fail(self: Path, target: Path) -> Path:
        if self.name == "new":
            raise OSError("Directory not empty")
        return rename(self, target)

    make_old(tmp_path / "out")
    monkeypatch.setattr(Path, "rename", fail)
    with pytest.raises(OSError, match="Directory not empty"):
        accelerate_pipeline(model, tmp_path / "out", force=True)
    assert (tmp_path / "out" / "old").read_text() == "precious"


def test_code_is_imported_before_the_pipeline_is_loaded(model: Path, tmp_path: Path) -> None:
    (tmp_path / "code.py").write_text(
        "from spacy.language import Language\n"
        "Language.component('spacy_multihash_tests_coded', func=lambda doc: doc)\n"
    )
    code = "import spacy, runpy, sys; runpy.run_path(sys.argv[1]); nlp = spacy.load(sys.argv[2]);"
    code += "nlp.add_pipe('spacy_multihash_tests_coded'); nlp.to_disk(sys.argv[3])"
    coded = tmp_path / "coded"
    subprocess.run([sys.executable, "-c", code, tmp_path / "code.py", model, coded], check=True)
    assert "spacy_multihash_tests_coded" in refused(coded, tmp_path / "out")
    result = invoke(coded, tmp_path / "out", "--code", tmp_path / "code.py")
    assert result.exit_code == 0, result.output


def test_help_of_the_command_explains_the_arguments() -> None:
    output = said(invoke("--help"))
    assert "Put our faster layers and recognizer into a trained pipeline" in output
    assert "Trained pipeline: a package's name, or a path" in output
    assert "DOCS: python -m pydoc spacy_multihash.accelerate" in output


def test_written_pipeline_loads_where_nothing_is_imported(model: Path, tmp_path: Path) -> None:
    command = [sys.executable, "-m", "spacy", "multihash", "accelerate", model, tmp_path / "out"]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    assert "Replaced: 4" in done.stdout
    code = "import spacy, sys; print(spacy.load(sys.argv[1])('Anna met Bob').tensor.shape)"
    loading = [sys.executable, "-c", code, tmp_path / "out"]
    loaded = subprocess.run(loading, capture_output=True, text=True, check=True)
    assert loaded.stdout.strip() == "(3, 16)"
