"""The configs of configs/report and configs/ablations: current, complete, and trained."""

import re
from pathlib import Path

import pytest
from spacy.cli.train import train
from spacy.tokens import DocBin
from spacy.util import load_config
from thinc.api import Config
from typer.testing import CliRunner

from experiments.__main__ import app
from experiments.arms import MULTI_EMBED_ROWS, arm_config, find_arm, language
from experiments.configs import ABLATIONS, REPORT, SOURCES, write_configs
from experiments.corpora.convert import convert
from experiments.runs import Run, run_config
from tests.helpers.corpora import SENTENCES, make_docs
from tests.helpers.paths import ROOT
from tests.helpers.vectors import random_vectors, write_pipeline

CONFIGS = ROOT / "configs"
STEPS = {"training.max_steps": 3, "training.eval_frequency": 3}


@pytest.fixture(scope="module")
def corpus(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A corpus of entities and of labels."""
    folder = tmp_path_factory.mktemp("corpus")
    docs = make_docs(3)
    for number, doc in enumerate(docs):
        doc.cats = {"A": float(number % 2), "B": float(not number % 2)}
    for split in ("train", "dev"):
        DocBin(docs=docs).to_disk(folder / f"{split}.spacy")
    return folder


def test_committed_configs_are_written_again_to_the_byte(tmp_path: Path) -> None:
    (tmp_path / ABLATIONS).mkdir()
    (tmp_path / ABLATIONS / "old.cfg").write_text("of no arm", "utf8")
    assert len(write_configs(tmp_path)) == len(SOURCES) + 1
    made, ours = (
        {path.relative_to(root): path.read_bytes() for path in sorted(root.glob("*/*.cfg"))}
        for root in (tmp_path, CONFIGS)
    )
    committed = {path: text for path, text in ours.items() if path.parts[0] in (REPORT, ABLATIONS)}
    assert made == committed, "run: python -m experiments configs"
    assert write_configs(tmp_path) == []


@pytest.mark.parametrize("name", SOURCES)
def test_config_trains(
    name: str, corpus: Path, tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    path, dataset = CONFIGS / f"{name}.cfg", SOURCES[name].dataset
    lang = load_config(path)["nlp"]["lang"]
    assert not dataset or lang == language(dataset)
    overrides = {f"paths.{split}": str(corpus / f"{split}.spacy") for split in ("train", "dev")}
    if SOURCES[name].vectors:
        words = sorted({word for words, _ in SENTENCES for word in words})
        vectors = write_pipeline(tmp_path / "vectors", random_vectors(len(words)), words, lang)
        overrides["paths.vectors"] = str(vectors)
    train(path, overrides=overrides | STEPS)
    assert re.search(r"^ +\d+ +3 .* [01]\.\d+$", capsys.readouterr().out, re.M)  # the third step


def test_config_of_an_arm_is_written(
    corpus: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(ROOT)
    run = CliRunner().invoke
    shown = run(app, ["config", "hashes_2"])
    assert Config().from_str(shown.output, interpolate=False) == arm_config(find_arm("hashes_2"))
    refused = run(app, ["config", "rows_10_percent"])
    assert refused.exit_code == 1 and "--corpus" in refused.output
    path = tmp_path / "rows.cfg"
    options = ["--corpus", str(corpus), "--lang", "en", "--vectors", "en_core_web_md"]
    written = run(app, ["config", "rows_10_percent", str(path), *options])
    assert written.exit_code == 0, written.output
    config = load_config(path)
    assert config["paths"]["train"] == str(corpus / "train.spacy")
    assert (config["nlp"]["lang"], config["paths"]["vectors"]) == ("en", "en_core_web_md")
    embed = config["components"]["tok2vec"]["model"]["embed"]
    assert embed["include_static_vectors"] and max(embed["rows"]) == 1  # nothing occurs ten times
    assert run(app, ["config", "no_such_arm"]).exit_code == 1


def test_rows_as_multi_embed_are_those_of_the_corpus(shared: Path, tmp_path: Path) -> None:
    for dataset in ("wnut17", "anem"):
        convert(dataset, shared / "datasets", tmp_path / dataset)
        config = run_config(Run(tmp_path / dataset, "rows_as_multi_embed"))
        embed = config["components"]["tok2vec"]["model"]["embed"]
        assert embed["rows"] == [*MULTI_EMBED_ROWS[dataset]]
