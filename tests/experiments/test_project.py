"""The project file: what it names is there."""

import re
from pathlib import Path
from typing import Any

import pytest
import typer
from weasel.util.config import load_project_config

from experiments.__main__ import app
from experiments.corpora.convert import DATASETS
from tests.helpers.paths import ROOT


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
