"""The project file: what it names is there, and its variables go together."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from spacy.util import load_config
from weasel.util.config import load_project_config

from experiments import collate
from experiments.__main__ import COMMANDS
from experiments.arms.configs import ARMS
from experiments.arms.tasks import TEXTCAT
from experiments.corpora.convert import DATASETS
from experiments.corpora.convert_textcat import CSV_FILES
from experiments.runs.files import RESULTS
from experiments.runs.pool import COMMAND
from experiments.runs.standings import HALVING
from tests.helpers.paths import ROOT


def load(dataset: str) -> Any:
    overrides = {"vars.lang": DATASETS[dataset].lang}
    if dataset not in ("conll-es", "conll-nl"):
        overrides["vars.dataset"] = dataset
    return load_project_config(ROOT, overrides=overrides)


@pytest.fixture
def project() -> Any:
    return load("conll-es")


def commands(project: Any) -> list[str]:
    return [line for command in project["commands"] for line in command["script"]]


def test_commands_and_configs_that_commands_run_are_there(project: Any) -> None:
    lines = " ".join(commands(project))
    configs = re.findall(r"configs/\S+\.cfg", lines)
    assert configs and [name for name in configs if not (ROOT / name).is_file()] == []
    experiments = re.findall(r"python -m experiments (\S+)", lines)
    assert len(set(experiments)) >= 6 and set(experiments) <= set(COMMANDS)


@pytest.mark.parametrize("dataset", DATASETS)
def test_training_takes_the_config_and_the_language_of_the_data(dataset: str) -> None:
    lines = commands(load(dataset))
    (train,) = [line for line in lines if f"configs/{dataset}.cfg" in line]
    assert f"--nlp.lang {DATASETS[dataset].lang} " in train
    assert f"--paths.train corpus/{dataset}/train.spacy" in train
    config = load_config(ROOT / "configs" / f"{dataset}.cfg")
    assert config["nlp"]["lang"] == DATASETS[dataset].lang
    assert f"python -m experiments convert {dataset} assets corpus/{dataset}" in lines


@pytest.mark.parametrize("dataset", TEXTCAT.langs)
def test_classifiers_are_trained_on_what_is_made_and_evaluated(dataset: str) -> None:
    overrides = {"vars.textcat_dataset": dataset, "vars.textcat": "bow", "vars.seed": 3}
    project = load_project_config(ROOT, overrides=overrides)
    by_name = {command["name"]: command for command in project["commands"]}
    made = by_name["make-topics" if dataset == "topics" else "convert-textcat"]["outputs"]
    train, evaluate = by_name["train-textcat"], by_name["evaluate-textcat"]
    assert set(train["deps"]) == {"configs/textcat/bow.cfg", *made[:2]}
    assert set(train["outputs"]) <= set(evaluate["deps"]) and made[2] in evaluate["deps"]
    (line,) = train["script"]
    assert "--system.seed 3 " in line and f"--paths.dev corpus/{dataset}/dev.spacy" in line


def test_choices_of_classifiers_are_all_there_are(project: Any) -> None:
    text = (ROOT / "project.yml").read_text("utf8")
    for dataset in TEXTCAT.langs:
        assert re.search(rf"textcat_dataset: .* # .*\b{dataset}\b", text), dataset
    assert project["vars"]["textcat_dataset"] == "topics"  # needs no data


def test_choices_of_config_are_all_there_are(project: Any) -> None:
    text = (ROOT / "project.yml").read_text("utf8")
    for path in (ROOT / "configs").glob("*/*.cfg"):
        assert re.search(rf"# .*\b{path.parent.name}/", text), path
    for dataset, spec in DATASETS.items():
        assert re.search(rf"dataset: .* # .*\b{dataset}\b", text), dataset
        assert re.search(rf"lang: .* # .*\b{spec.lang}\b", text), spec.lang


def test_all_free_corpora_are_converted_at_once(project: Any) -> None:
    (command,) = [c for c in project["commands"] if c["name"] == "convert-all"]
    assert [line.split()[4] for line in command["script"]] == list(DATASETS)
    splits = ("train", "dev", "test")
    files = [f"corpus/{name}/{split}.spacy" for name in DATASETS for split in splits]
    assert command["outputs"] == files


def test_steps_of_workflows_are_commands(project: Any) -> None:
    names = {command["name"] for command in project["commands"]}
    for steps in project["workflows"].values():
        assert set(steps) <= names
    assert project["workflows"]["quickstart"] == ["make-sample", "train-sample", "evaluate-sample"]


def test_commands_do_not_write_their_own_input(project: Any) -> None:
    for command in project["commands"]:
        assert not set(command["deps"]) & set(command.get("outputs", []))
        assert command["help"]


def imported_names(node: ast.AST) -> Iterator[str]:
    """Yield what a module imports, in functions too, but for what only type checkers see."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from (alias.name for alias in child.names)
        elif isinstance(child, ast.ImportFrom):
            yield from (f"{child.module}.{alias.name}" for alias in child.names)
        elif not (isinstance(child, ast.If) and ast.unparse(child.test) == "TYPE_CHECKING"):
            yield from imported_names(child)


def needed_files(path: Path) -> set[Path]:
    """Return a module of the experiments, and all those that it imports, step by step."""
    needed, waiting = set(), {path}
    while waiting:
        path = waiting.pop()
        needed.add(path)
        for name in imported_names(ast.parse(path.read_text("utf8"))):
            parts = name.split(".")
            # the last part is a module, or a name in one
            for module in (ROOT.joinpath(*parts), ROOT.joinpath(*parts[:-1])):
                file = module.with_suffix(".py")
                if parts[0] == "experiments" and file.is_file():
                    waiting |= {file} - needed
    return needed


def test_imports_are_found_in_functions_and_through_other_modules() -> None:
    found = needed_files(ROOT / "experiments" / "corpora" / "convert.py")
    assert {path.name for path in found} == {"convert.py", "ontonotes.py"}
    code = "def f():\n    from a import b\nif TYPE_CHECKING:\n    import c\nimport d.e"
    assert list(imported_names(ast.parse(code))) == ["a.b", "d.e"]


# "docs" copies files: tests/test_site.py holds that it depends on them.
MADE = [command["name"] for command in load("conll-es")["commands"] if command["name"] != "docs"]


@pytest.mark.parametrize("name", MADE)
def test_commands_depend_on_all_modules_and_configs_that_they_are_made_of(
    project: Any, name: str
) -> None:
    (command,) = [command for command in project["commands"] if command["name"] == name]
    called = re.findall(r"python -m experiments (\S+)", " ".join(command["script"]))
    if "run-grid" in called:
        called.append(COMMAND[-1])  # which it starts for each run
    modules = [ROOT.joinpath(*COMMANDS[c].module.split(".")) for c in called]
    needed = {path for module in modules for path in needed_files(module.with_suffix(".py"))}
    configs = ROOT / "experiments" / "arms" / "configs.py"
    needed |= {configs.parent / arm.base for arm in ARMS.values() if configs in needed}
    deps = [dep for dep in command["deps"] if dep.startswith("experiments/")]
    assert sorted(deps) == sorted(path.relative_to(ROOT).as_posix() for path in needed)


def test_results_depend_on_all_that_is_read() -> None:
    (command,) = [c for c in load("conll-es")["commands"] if c["name"] == "results"]
    read = {RESULTS, collate.CORPORA, collate.REPORT, collate.BENCHMARKS / "textcat.json", HALVING}
    assert {path.as_posix() for path in read} <= set(command["deps"])


def test_every_dependency_is_there_or_made_or_downloaded(project: Any) -> None:
    made = {path for command in project["commands"] for path in command.get("outputs", [])}
    for command in project["commands"]:
        for dep in set(command["deps"]) - made:
            assert dep.partition("/")[0] == "assets" or (ROOT / dep).exists(), dep


def test_assets_have_checksums_and_lie_where_conversion_looks(project: Any) -> None:
    dests = [asset["dest"] for asset in project["assets"]]
    wanted = {f"assets/{name}" for spec in DATASETS.values() for name in spec.files.values()}
    wanted |= {f"{project['vars']['textcat_assets']}/{name}" for name in CSV_FILES}
    assert sorted(dests) == sorted(wanted)
    for asset in project["assets"]:
        assert re.fullmatch("[0-9a-f]{32}", asset["checksum"])
        assert re.search("/[0-9a-f]{40}/", asset["url"])  # a commit: a branch may change
        # Corpora of texts are not what the report is about; other files may stand in for them.
        assert asset.get("extra", False) == asset["dest"].startswith("assets/textcat/")
        assert asset["url"].endswith(asset["dest"].rsplit("/", 1)[1])
