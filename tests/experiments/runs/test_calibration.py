"""The measurement of how true probabilities of entities are."""

from collections.abc import Mapping
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Optional

import pytest
import spacy
import srsly
from spacy.language import Language
from spacy.util import load_model_from_config

pytest.importorskip("scipy", reason="scipy is not installed: pip install -e '.[plots]'")

from experiments.arms.recipe import CHOSEN
from experiments.runs import calibration
from experiments.runs.calibration import CASES, WNUT, Case, calibration_cli, small_config
from experiments.runs.files import FORMAT, results_path
from experiments.runs.grid import Run, run_config
from experiments.runs.training import MARKER, MODEL
from experiments.tables.calibration import read_calibrations
from spacy_multihash.common.files import write_json
from tests.helpers.corpora import make_docs, write_corpus
from tests.helpers.paths import ROOT
from tests.helpers.recognizers import trained, wrong_docs


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A folder in which the case "small-tagger_ner" has a corpus and a model."""
    monkeypatch.chdir(tmp_path)
    Path("corpus/small").mkdir(parents=True)
    write_corpus(Path("corpus/small/dev.spacy"), wrong_docs())
    write_corpus(Path("corpus/small/test.spacy"), make_docs())
    nlp = trained("tagger_ner")
    monkeypatch.setattr(calibration, "CASES", {"small-tagger_ner": _case(nlp)})
    return tmp_path


def _case(nlp: Language, same: Optional[Mapping[str, str]] = None) -> Case:
    return Case("small", "tagger_ner", lambda _: nlp, same)


def test_temperature_is_that_of_dev_and_test_is_measured_with_it(
    folder: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    calibration_cli("none", Path("results"))
    result = srsly.read_json("results/small-tagger_ner.json")
    assert result["factory"] == "tagger_ner" and result["temperature"] > 1.2
    found = read_calibrations(Path("results"))["small-tagger_ner"]
    assert {one.temperature for one in found.values()} == {result["temperature"]}
    dev, test = found["dev"], found["test"]
    assert dev.before.share == 0.75 and test.before.share == 1.0
    assert dev.after.loss < dev.before.loss
    assert test.after.loss > test.before.loss  # all are right there, which dev could not tell
    assert f"temperature {result['temperature']}, error on test" in capsys.readouterr().out


def test_only_labels_that_count_are_measured(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    case = _case(calibration.CASES["small-tagger_ner"].load(""), {"PER": "PER"})
    monkeypatch.setattr(calibration, "CASES", {"small-people": case})
    calibration_cli("none", Path("results"))
    assert {*read_calibrations(Path("results"))["small-people"]["test"].labels} == {"PER"}


def test_missing_corpus_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    with pytest.raises(SystemExit, match="1"):
        calibration_cli("none", Path("results"))
    said = " ".join(capsys.readouterr().out.split())
    assert "There is no corpus at corpus/wnut17" in said
    assert "python -m experiments convert wnut17 assets corpus/wnut17" in said
    assert not Path("results").exists()


def test_damaged_results_are_named(tmp_path: Path) -> None:
    (tmp_path / "conll-es-batch_ner.json").write_text('{"format": 0}')
    with pytest.raises(ValueError, match=r"conll-es-batch_ner\.json holds results in format 0"):
        read_calibrations(tmp_path)


def test_small_model_is_a_run_with_fewer_steps() -> None:
    config, run = small_config(), run_config(Run("conll-es", "batch_ner"))
    assert config["training"].pop("max_steps") < run["training"].pop("max_steps")
    for one in (config, run):
        one["training"].pop("eval_frequency")
        one["training"].pop("logger")
    assert config == run
    nlp = load_model_from_config(small_config(), auto_fill=True)
    assert nlp.get_pipe_meta(CASES["conll-es-batch_ner"].component).factory == "batch_ner"


def test_models_with_the_recommended_settings_are_those_of_runs(
    folder: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    case, record = CASES["turku-one-recommended"], {"date": "2026-11-24T10:00:00"}
    run = Run("turku-one", CHOSEN)
    Path("corpus/small").rename("corpus/turku-one")
    first = replace(calibration.CASES["small-tagger_ner"], dataset="turku-one")
    monkeypatch.setattr(calibration, "CASES", {"a": first, "b": case})

    def said() -> str:
        with pytest.raises(SystemExit, match="1"):
            calibration_cli("none", Path("out"))
        assert not Path("out").exists()  # all is checked before anything is measured
        return " ".join(capsys.readouterr().out.split())

    expected = f"python -m experiments run-one turku-one/{CHOSEN}/no-vectors/seed0"
    assert f"There is no file {results_path(run)}. Train the run with: {expected}" in said()
    write_json(results_path(run), {"format": FORMAT, "record": record})
    assert "to be the model of" in (found := said()) and expected in found
    run.folder.mkdir(parents=True)
    trained("tagger_ner").to_disk(run.folder / MODEL)
    write_json(run.folder / MARKER, {"record": record})
    calibration_cli("none", Path("out"))
    assert [path.name for path in sorted(Path("out").iterdir())] == ["a.json", "b.json"]


def test_small_model_is_trained_once(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done = []

    def train(config: Path, output: Path) -> None:
        done.append(config)
        assert config.is_file()
        trained("tagger_ner").to_disk(output / "model-best")

    monkeypatch.setattr(calibration, "spacy_train", train)
    load = partial(CASES["conll-es-batch_ner"].load, "none")
    assert load().pipe_names == load().pipe_names == ["tagger_ner"]
    assert len(done) == 1


def test_interrupted_training_leaves_no_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)

    def train(config: Path, output: Path) -> None:
        trained("tagger_ner").to_disk(output / "model-best")
        raise KeyboardInterrupt

    monkeypatch.setattr(calibration, "spacy_train", train)
    for _ in range(2):
        with pytest.raises(KeyboardInterrupt):
            CASES["conll-es-batch_ner"].load("none")


def test_english_pipeline_finds_the_labels_that_count() -> None:
    path = ROOT.parent / "shared" / "pipelines" / "en_core_web_md-3.7.1"
    if not path.is_dir():
        pytest.skip(f"there is no pipeline at {path}")
    with pytest.warns(UserWarning, match="W095"):
        nlp = CASES["wnut17-en_core_web_md"].load(str(path))
    assert nlp.get_pipe_meta("ner").factory == "batch_ner"
    assert {*WNUT.values()} <= {*nlp.pipe_labels["ner"]}
    assert {label for label in WNUT if label.isupper()} <= {*nlp.pipe_labels["ner"]}
    assert isinstance(nlp, spacy.language.Language)
