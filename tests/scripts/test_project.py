"""The project file: what it names is there, and its variables go together."""

import re
from typing import Any

import pytest
import srsly
from convert import DATASETS
from show_run import score_rows
from spacy.util import load_config
from weasel.util.config import load_project_config

from ..conftest import ROOT


@pytest.fixture(params=["es", "nl"])
def project(request: pytest.FixtureRequest) -> Any:
    return load_project_config(ROOT, overrides={"vars.lang": request.param})


def commands(project: Any) -> list[str]:
    return [line for command in project["commands"] for line in command["script"]]


def test_scripts_and_configs_that_commands_run_are_there(project: Any) -> None:
    named = re.findall(r"(?:scripts|configs)/\S+\.(?:py|cfg)", " ".join(commands(project)))
    assert len(named) >= 6
    assert [name for name in named if not (ROOT / name).is_file()] == []


def test_language_of_the_config_is_that_of_the_data(project: Any) -> None:
    lang = project["vars"]["dataset"].removeprefix("conll-")
    config = load_config(ROOT / "configs" / f"{project['vars']['config']}.cfg")
    assert config["nlp"]["lang"] == lang
    assert any(f"--nlp.lang {lang} " in line for line in commands(project))


def test_choices_of_config_are_all_there_are(project: Any) -> None:
    text = (ROOT / "project.yml").read_text("utf8")
    for path in (ROOT / "configs" / "ablation").glob("*.cfg"):
        assert re.search(rf"# .*\b{path.stem}\b", text), path.stem


def test_steps_of_workflows_are_commands(project: Any) -> None:
    names = {command["name"] for command in project["commands"]}
    for steps in project["workflows"].values():
        assert set(steps) <= names
    assert project["workflows"]["quickstart"] == ["make-sample", "train-sample", "evaluate-sample"]


def test_commands_do_not_write_their_own_input(project: Any) -> None:
    for command in project["commands"]:
        assert not set(command["deps"]) & set(command["outputs"])
        assert command["help"]


def test_assets_have_checksums_and_lie_where_conversion_looks(project: Any) -> None:
    dests = [asset["dest"] for asset in project["assets"]]
    wanted = [f"assets/{name}" for spec in DATASETS.values() for name in spec.files.values()]
    assert sorted(dests) == sorted(wanted)
    for asset in project["assets"]:
        assert re.fullmatch("[0-9a-f]{32}", asset["checksum"])
        assert asset["url"].endswith(asset["dest"].rsplit("/", 1)[1])


def test_scores_are_shown_in_percent() -> None:
    scores = {"ents_p": 0.5, "ents_r": 0.25, "ents_f": 1 / 3}
    per_type = {"PER": {"p": 1.0, "r": 0.5, "f": 2 / 3}}
    rows = score_rows(srsly.json_loads(srsly.json_dumps(scores | {"ents_per_type": per_type})))
    assert rows == [("all", "50.00", "25.00", "33.33"), ("PER", "100.00", "50.00", "66.67")]
