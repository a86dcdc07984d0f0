"""Arms and configs: each loads, is current and trains, and the project file names what is there."""

import re
from pathlib import Path
from typing import Any

import pytest
import typer
from spacy.cli.train import train
from spacy.tokens import DocBin
from spacy.util import load_config, load_model_from_config
from thinc.api import Config
from typer.testing import CliRunner
from weasel.util.config import load_project_config

from experiments.__main__ import app
from experiments.arms import (
    ARMS,
    MULTI_EMBED_ROWS,
    OPTIONS,
    RECIPE,
    Arm,
    arm_config,
    find_arm,
    language,
)
from experiments.choice import CANDIDATES
from experiments.configs import ABLATIONS, REPORT, SOURCES, write_configs
from experiments.corpora.convert import DATASETS, convert
from experiments.runs import Run, run_config
from tests.helpers.corpora import SENTENCES, make_docs
from tests.helpers.paths import ROOT
from tests.helpers.vectors import random_vectors, write_pipeline

PATHS = [path.relative_to(ROOT / "configs") for path in ROOT.glob("configs/**/*.cfg")]


def build(arm: Arm) -> Any:
    config = arm_config(arm)
    config["nlp"]["lang"] = "en"
    config["corpora"]["train"]["augmenter"] = None  # which reads the corpus
    return load_model_from_config(config, auto_fill=True).config


def settings_of(value: Any) -> Any:
    """The names of settings in overrides, and the registered functions."""
    if not isinstance(value, dict):
        return None
    return tuple((key, value[key] if key[0] == "@" else settings_of(value[key])) for key in value)


# One of the arms with the same settings, whatever their values.
KINDS = {
    (arm.config, settings_of(arm.overrides)): name
    for name in (
        *ARMS,
        *CANDIDATES.values(),
        *(f"{RECIPE}-{option}" for option in OPTIONS),
        *(path.with_suffix("").as_posix() for path in PATHS),
    )
    for arm in [find_arm(name)]
}


@pytest.mark.parametrize("name", KINDS.values())
def test_arm_loads(name: str) -> None:
    assert build(find_arm(name))


def test_recommended_config_is_the_recipe_with_n_grams() -> None:
    assert build(find_arm("recipe-ngrams_sum")) == build(Arm("recommended"))
    assert build(find_arm("recipe")) != build(Arm("recommended"))


def test_unknown_arms_and_sections_are_errors() -> None:
    with pytest.raises(ValueError, match="Unknown arm 'recipe-nothing'"):
        find_arm("recipe-nothing")
    with pytest.raises(KeyError, match="no section for training.no.such"):
        arm_config(Arm(overrides={"training.no.such": 1}))


def test_arm_may_be_the_path_of_a_config(tmp_path: Path) -> None:
    path = tmp_path / "mine.cfg"
    path.write_text((ROOT / "configs" / "report.cfg").read_text("utf8"), encoding="utf8")
    assert arm_config(find_arm(str(path))) == arm_config(Arm("report"))


# The project file


@pytest.fixture
def project() -> Any:
    return load_project_config(ROOT)


def test_commands_and_configs_are_there(project: Any) -> None:
    lines = " ".join(line for command in project["commands"] for line in command["script"])
    configs = re.findall(r"configs/\S+\.cfg", lines)
    assert configs and [name for name in configs if not (ROOT / name).is_file()] == []
    experiments = set(re.findall(r"python -m experiments (\S+)", lines))
    assert "make-sample" in experiments
    assert experiments <= set(typer.main.get_command(app).commands)  # type: ignore[attr-defined]


def test_every_dependency_is_there_or_made_or_downloaded(project: Any) -> None:
    made = {path for command in project["commands"] for path in command.get("outputs", [])}
    for command in project["commands"]:
        for dep in set(command.get("deps", [])) - made:
            assert Path(dep).parts[0] == "assets" or (ROOT / dep).exists(), dep


def test_assets_have_checksums_and_lie_where_conversion_looks(project: Any) -> None:
    dests = [asset["dest"] for asset in project["assets"]]
    wanted = {f"assets/{name}" for spec in DATASETS.values() for name in spec.files.values()}
    assert sorted(dests) == sorted(wanted)
    for asset in project["assets"]:
        assert re.fullmatch("[0-9a-f]{32}", asset["checksum"])
        assert re.search("/[0-9a-f]{40}/", asset["url"])  # a commit: a branch may change
        assert asset["url"].endswith(asset["dest"].rsplit("/", 1)[1])


# The configs of configs/report and configs/ablations: current, complete, and trained


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
