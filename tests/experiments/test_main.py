"""The command line of the experiments: every command is found, helps, and says what is missing."""

import re
import subprocess
import sys
from importlib import import_module
from pathlib import Path

import pytest
from typer.testing import CliRunner, Result

from experiments.__main__ import COMMANDS, app
from tests.helpers.cli import said
from tests.helpers.corpora import make_docs, write_corpus
from tests.helpers.paths import ROOT
from tests.helpers.results import REPORT

PACKAGES = {"crf": ["pycrfsuite"], "plots": ["matplotlib", "pandas", "scipy", "scipy.stats"]}


def invoke(*args: object) -> Result:
    return CliRunner().invoke(app, [str(arg) for arg in args])


def block(monkeypatch: pytest.MonkeyPatch, *packages: str) -> None:
    """Let some packages be not installed."""
    for package in packages:
        monkeypatch.setitem(sys.modules, package, None)


def check_advice(result: Result, advice: str) -> None:
    assert result.exit_code == 1
    assert isinstance(result.exception, SystemExit)  # no traceback
    assert f"python -m pip install -e '.[{advice}]'" in said(result)


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_is_a_function_with_help_that_needs_no_extra(
    monkeypatch: pytest.MonkeyPatch, name: str
) -> None:
    block(monkeypatch, "distributed", *PACKAGES["crf"], *PACKAGES["plots"])
    module = import_module(COMMANDS[name].module)
    command = getattr(module, f"{name.replace('-', '_')}_cli")
    assert COMMANDS[name].summary.endswith(".") and command.__doc__
    result = invoke(name, "--help")
    assert result.exit_code == 0
    shown = "".join(result.output.split())  # lines break at hyphens too
    assert f"{name}[OPTIONS]" in shown
    assert "".join(command.__doc__.partition("\n\n")[0].split()) in shown


def test_help_lists_all_commands_and_imports_none() -> None:
    code = (
        "import sys; from experiments.__main__ import app; app(['--help'], standalone_mode=False); "
        "top = {'experiments', 'spacy', 'thinc'}; "
        "print(sorted(name for name in sys.modules if name.split('.')[0] in top))"
    )
    command = [sys.executable, "-c", code]
    output = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True).stdout
    lines = [line.split() for line in output.splitlines()]
    for name, command_ in COMMANDS.items():
        assert [name, *command_.summary.split()[:3]] in [line[:4] for line in lines]
    assert lines[-1] == ["['experiments',", "'experiments.__main__']"]


def test_no_command_is_answered_with_the_help() -> None:
    result = invoke()
    assert all(name in result.output for name in COMMANDS)


def test_unknown_command_is_refused() -> None:
    result = invoke("make-smaple")
    assert result.exit_code == 2
    assert "No such command 'make-smaple'" in said(result)


@pytest.mark.parametrize("package", ["matplotlib", "pandas", "scipy"])
def test_collate_without_an_extra_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, package: str
) -> None:
    for name in ("matplotlib", "pandas", "scipy"):
        pytest.importorskip(name, reason=f"{name} is not installed: pip install -e '.[plots]'")
    (tmp_path / "runs").mkdir()
    before = {}
    docs = ROOT / "docs"
    for page in (*docs.glob("*results.md"), docs / "ner.md", docs / "smaller-pipelines.md"):
        # without the comments that put in the numbers of runs, of which there are none
        text = re.sub(r"<!-- (= [^>]*|/) -->", "", page.read_text("utf8"))
        before[tmp_path / page.name] = text.encode("utf8")
        (tmp_path / page.name).write_bytes(text.encode("utf8"))
    block(monkeypatch, *(name for name in PACKAGES["plots"] if name.startswith(package)))
    corpora = ROOT / "results" / "corpora"
    options = ("--corpora", corpora, "--report", REPORT, "--docs", tmp_path)
    result = invoke("collate", tmp_path / "runs", *options)
    check_advice(result, "plots")
    assert package in result.output
    assert {path: path.read_bytes() for path in tmp_path.glob("*.md")} == before


def test_crf_without_its_extra_names_it(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    corpus = write_corpus(tmp_path / "corpus.spacy", make_docs())
    block(monkeypatch, *PACKAGES["crf"])
    check_advice(invoke("crf", corpus, corpus, tmp_path / "model", "--lang", "en"), "crf")


def test_run_of_a_crf_without_its_extra_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("corpus/wnut17").mkdir(parents=True)
    for split in ("train", "dev", "test"):
        write_corpus(Path(f"corpus/wnut17/{split}.spacy"), make_docs())
    block(monkeypatch, *PACKAGES["crf"])
    check_advice(invoke("run-one", "wnut17/crf/no-vectors/seed0"), "crf")


def test_grid_on_a_cluster_without_its_extra_names_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    block(monkeypatch, "distributed")
    check_advice(invoke("run-grid", "wnut17/*", "--dask", "localhost:1"), "dask")
